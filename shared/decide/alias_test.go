package decide_test

import (
	"fmt"
	"testing"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/history"
)

// TestChildrenByAlias: a decision asks for the alias, then for the version that the child's name has, and no more.
func TestChildrenByAlias(t *testing.T) {
	for _, resource := range []string{`"workflow:ship:live"`, `"arn:aws:states:::states:startExecution","Parameters":{"StateMachineArn":"arn:aws:states:eu-west-1:123456789012:stateMachine:ship:live"}`} {
		m := parse(t, `{"StartAt":"Ship","States":{"Ship":{"Type":"Task","Resource":`+resource+`,"End":true}}}`)
		s, _, err := decide.Start(m, 1, history.Start{Name: "x", Input: []byte("{}")}, begin)
		if err != nil {
			t.Fatal(err)
		}
		routes := history.Routes{{Version: 1, Weight: 50}, {Version: 2, Weight: 50}}
		known := map[history.WorkflowRef]decide.Answer{}
		world := decide.World{Execution: 1, Workflow: func(ref history.WorkflowRef) decide.Answer { return known[ref] }}
		handle := func(seed uint64) history.Turn {
			turn, err := world.Handle(m, s, []history.Command{{Kind: history.KindTimer, Seed: seed}}, begin)
			if err != nil {
				t.Fatal(err)
			}
			return turn
		}
		alias := history.WorkflowRef{Name: "ship", Alias: "live"}
		if turn := handle(1); fmt.Sprint(turn.Wants) != fmt.Sprint([]history.WorkflowRef{alias}) || len(turn.Children) != 0 {
			t.Fatalf("wants %v, starts %v", turn.Wants, turn.Children)
		}
		known[alias] = decide.Answer{Known: true, Routes: routes}
		turn := handle(2)
		if len(turn.Wants) != 1 || turn.Wants[0].Version == 0 || turn.Wants[0].Alias != "" {
			t.Fatalf("wants %v", turn.Wants)
		}
		for _, r := range routes {
			known[history.WorkflowRef{Name: "ship", Version: r.Version}] = decide.Answer{
				Known: true, Workflow: &decide.Workflow{Name: "ship", Version: r.Version, Machine: parse(t, sequence(1))},
			}
		}
		turn = handle(3)
		if len(turn.Children) != 1 || turn.Children[0].Start.Version != routes.Version(turn.Children[0].Start.Name) {
			t.Fatalf("starts %+v", turn.Children)
		}
	}
}

// TestMissingAlias: an alias that is not there fails the Task as a missing workflow does.
func TestMissingAlias(t *testing.T) {
	m := parse(t, `{"StartAt":"Ship","States":{"Ship":{"Type":"Task","Resource":"workflow:ship:live","End":true}}}`)
	s, _, err := decide.Start(m, 1, history.Start{Name: "x", Input: []byte("{}")}, begin)
	if err != nil {
		t.Fatal(err)
	}
	world := decide.World{Execution: 1, Workflow: func(history.WorkflowRef) decide.Answer { return decide.Answer{Known: true} }}
	if _, err := world.Handle(m, s, []history.Command{{Kind: history.KindTimer}}, begin); err != nil {
		t.Fatal(err)
	}
	if end := s.End(); end == nil || end.Cause != "State Machine Does Not Exist: 'ship:live'" {
		t.Errorf("ended %+v", end)
	}
}
