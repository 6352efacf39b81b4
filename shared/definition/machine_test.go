package definition

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// parseFile parses a document of testdata that has no errors.
func parseFile(t *testing.T, name string) *Document {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	doc, problems := Parse(text, Options{})
	if doc == nil {
		t.Fatalf("%s: %v", name, problems)
	}
	return doc
}

// constant is the constant of a field, "none" where it is absent and
// "expression" where it is one.
func constant[T any](f expr.Field[T]) any {
	if f == nil {
		return "none"
	}
	if v, ok := f.Constant(); ok {
		return v
	}
	return "expression"
}

func TestMachine(t *testing.T) {
	m := parseFile(t, "order.yaml").Machine
	if m.Comment != "Takes an order to its customer." || m.Version != "1.0" || m.TimeoutSeconds != 86400 || m.StartAt != "Validate" || m.Parent != nil {
		t.Errorf("machine: %+v", m)
	}
	want := []string{"Validate", "Large", "Charge", "Approval", "Ship", "Pause", "Until", "Both", "Done", "Refused"}
	if !slices.Equal(m.Order, want) || len(m.States) != len(want) {
		t.Errorf("order: %v", m.Order)
	}
	for name, s := range m.States {
		if s.Name != name || s.Machine != m || s.Pointer != "/States/"+name || s.Flow == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestTaskState(t *testing.T) {
	m := parseFile(t, "order.yaml").Machine
	s := m.Find("Charge")
	if want := (history.Contract{Task: "payments.charge", Version: 2}); s.Type != Task || s.Resource.Contract != want || s.Resource.Language != "python" {
		t.Errorf("resource: %+v", s.Resource)
	}
	if constant(s.TimeoutSeconds) != int64(30) || constant(s.HeartbeatSeconds) != "expression" || constant(s.IdempotencyKey) != "expression" {
		t.Errorf("time-outs: %v, %v", s.TimeoutSeconds, s.HeartbeatSeconds)
	}
	if s.QueueTimeoutSeconds != 600 || s.Priority != 5 || s.MaxRedeliveries != 3 || s.WhenUncertain != UncertainFails || s.Next != "Approval" || s.End {
		t.Errorf("state: %+v", s)
	}
	retry := []Retrier{
		{ErrorEquals: []string{"Payments.Busy"}, IntervalSeconds: 2, MaxAttempts: 5, BackoffRate: 1.5, MaxDelaySeconds: 60, FullJitter: true},
		{ErrorEquals: []string{"States.ALL"}, IntervalSeconds: 1, MaxAttempts: 3, BackoffRate: 2},
	}
	if !reflect.DeepEqual(s.Retry, retry) {
		t.Errorf("retry: %+v", s.Retry)
	}
	if len(s.Catch) != 1 || s.Catch[0].Next != "Refused" || !slices.Equal(s.Catch[0].ErrorEquals, []string{"States.ALL"}) || s.Catch[0].Catcher == nil {
		t.Errorf("catch: %+v", s.Catch)
	}

	plain := m.Find("Validate")
	if plain.TimeoutSeconds != nil || plain.HeartbeatSeconds != nil || plain.IdempotencyKey != nil || plain.Priority != 0 ||
		plain.QueueTimeoutSeconds != 0 || plain.MaxRedeliveries != DefaultMaxRedeliveries || plain.WhenUncertain != UncertainWaits || plain.Retry != nil {
		t.Errorf("defaults: %+v", plain)
	}
	if signal := m.Find("Approval").Resource; signal.Kind != ResourceSignal || signal.Signal != "approved" {
		t.Errorf("signal: %+v", signal)
	}
}

func TestOtherStates(t *testing.T) {
	m := parseFile(t, "order.yaml").Machine
	choice := m.Find("Large")
	if len(choice.Choices) != 2 || choice.Choices[0].Next != "Charge" || choice.Choices[1].Next != "Refused" || choice.Default != "Charge" {
		t.Errorf("choice: %+v", choice)
	}
	input := expr.NewObject(expr.Member{Name: "total", Value: expr.Number("-1")})
	if holds, err := choice.Choices[1].Holds(&expr.Scope{Input: input}); err != nil || !holds {
		t.Errorf("a negative total: %v, %v", holds, err)
	}
	if pause := m.Find("Pause"); constant(pause.Seconds) != int64(5) || pause.Timestamp != nil {
		t.Errorf("pause: %+v", pause)
	}
	until := m.Find("Until")
	if at := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC); until.Seconds != nil || !constant(until.Timestamp).(time.Time).Equal(at) {
		t.Errorf("until: %v", constant(until.Timestamp))
	}
	ship := m.Find("Ship")
	if constant(ship.MaxConcurrency) != int64(4) || constant(ship.ToleratedFailureCount) != "none" || constant(ship.ToleratedFailurePercentage) != 12.5 || ship.Items == nil {
		t.Errorf("map: %+v", ship)
	}
	if fail := m.Find("Refused"); constant(fail.Error) != "Order.Refused" || constant(fail.Cause) != "expression" {
		t.Errorf("fail: %v, %v", constant(fail.Error), constant(fail.Cause))
	}
}

func TestNesting(t *testing.T) {
	m := parseFile(t, "order.yaml").Machine
	var walked []string
	m.Walk(func(s *State) {
		walked = append(walked, strings.Join(s.Path(), "/"))
		if m.Find(s.Name) != s || m.ByPath(s.Path()...) != s || s.Machine.Find(s.Name) != s {
			t.Errorf("%s is not found", s.Name)
		}
	})
	want := []string{
		"Validate", "Large", "Charge", "Approval", "Ship", "Ship/Pack", "Ship/Send", "Pause", "Until",
		"Both", "Both/Mail", "Both/Score", "Both/Score/Rate", "Done", "Refused",
	}
	if !slices.Equal(walked, want) {
		t.Errorf("walked %v", walked)
	}
	both := m.Find("Both")
	if score := m.Find("Score"); score.Machine != both.Branches[1] || score.Machine.Parent != both || score.Machine.Branch != 1 || score.Parent() != both {
		t.Errorf("branch: %+v", score.Machine)
	}
	if rate := both.Branches[1].Find("Rate"); rate == nil || rate.Machine.Branch != 0 || rate.Pointer != "/States/Both/Branches/1/States/Score/Iterator/States/Rate" {
		t.Errorf("rate: %+v", rate)
	}
	if rate := both.Branches[1].ByPath("Score", "Rate"); rate != m.Find("Rate") {
		t.Errorf("rate by path in its branch: %+v", rate)
	}
	for _, path := range [][]string{nil, {"None"}, {"Rate"}, {"Both", "Rate"}, {"Score"}, {"Validate", "Large"}} {
		if s := m.ByPath(path...); s != nil {
			t.Errorf("%v leads to %s", path, s.Name)
		}
	}
	if s := both.Branches[0].Find("Score"); s != nil {
		t.Errorf("a branch finds a state of its sibling: %+v", s)
	}
}

func TestContracts(t *testing.T) {
	want := []history.Contract{
		{Task: "mail.send", Version: 1}, {Task: "orders.rate", Version: 1}, {Task: "orders.validate", Version: 1}, {Task: "payments.charge", Version: 2},
		{Task: "shipping.pack", Version: 1}, {Task: "shipping.pack", Version: 10},
	}
	if got := parseFile(t, "order.yaml").Contracts(); !slices.Equal(got, want) {
		t.Errorf("contracts: %v", got)
	}
}
