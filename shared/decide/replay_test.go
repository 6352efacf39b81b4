package decide_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

var record = flag.Bool("record", false, "add the stories of the scripts to testdata/replay where they are not there yet")

// A recorded execution is a file of JSON lines: a recordedStart, then a recordedTurn per turn that has events. What is
// recorded once stays: a later version has to fold it and to decide it again with the same events (I11).
type recordedStart struct {
	Definition json.RawMessage `json:"definition"`
	At         history.Time    `json:"at"`
	Namespace  string          `json:"namespace"`
	Name       string          `json:"name"`
	Workflow   string          `json:"workflow"`
	Version    int             `json:"version"`
	Hash       string          `json:"hash"`
	Behaviour  int             `json:"behaviour"`
	Input      string          `json:"input"`
	Timeout    int64           `json:"timeout,omitempty"`
	Seed       uint64          `json:"seed"`
	Row        string          `json:"row"`
	// Workflows are those that were published, by name and version.
	Workflows map[string]json.RawMessage `json:"workflows,omitempty"`
}

// workflows makes what a node would know of them.
func (r *recordedStart) workflows() (map[history.WorkflowRef]*decide.Workflow, error) {
	known := map[history.WorkflowRef]*decide.Workflow{}
	for ref, text := range r.Workflows {
		doc, problems := definition.Parse(text, definition.Options{})
		if doc == nil {
			return nil, problems.Err()
		}
		publish(known, ref, doc.Machine)
	}
	return known, nil
}

// publish adds a workflow NAME@VERSION, which is also the newest of its name.
func publish(known map[history.WorkflowRef]*decide.Workflow, ref string, m *definition.Machine) {
	r, err := definition.ParseWorkflow(ref)
	if err != nil {
		panic(err)
	}
	w := &decide.Workflow{Name: r.Name, Version: r.Version, Hash: "h-" + ref, Definition: 9, Machine: m}
	known[r], known[history.WorkflowRef{Name: r.Name}] = w, w
}

type recordedTurn struct {
	At       history.Time      `json:"at"`
	Taken    []string          `json:"taken,omitempty"` // names of executions that exist
	Commands []recordedCommand `json:"commands"`
	HandOver *recordedHandOver `json:"handover,omitempty"`
	Row      string            `json:"row"`
}

type recordedHandOver struct {
	Offer int            `json:"offer"`
	Claim *recordedClaim `json:"claim"`
}

type recordedClaim struct {
	Worker  string       `json:"worker"`
	Session string       `json:"session"`
	At      history.Time `json:"at"`
}

type recordedCommand struct {
	Kind       history.Kind                     `json:"kind"`
	Unit       history.UnitKey                  `json:"unit,omitempty"`
	Attempt    int                              `json:"attempt,omitempty"`
	Offer      int                              `json:"offer,omitempty"`
	Claim      *recordedClaim                   `json:"claim,omitempty"`
	Output     string                           `json:"output,omitempty"`
	Failure    *history.Failure                 `json:"failure,omitempty"`
	Signal     string                           `json:"signal,omitempty"`
	Reason     string                           `json:"reason,omitempty"`
	Resolution string                           `json:"resolution,omitempty"`
	RequestID  string                           `json:"request,omitempty"`
	Status     history.Status                   `json:"status,omitempty"`
	At         history.Time                     `json:"at,omitempty"`
	Heard      map[history.UnitKey]history.Time `json:"heard,omitempty"`
	Seed       uint64                           `json:"seed,omitempty"`
}

func (c *recordedClaim) claim() history.Claim {
	if c == nil {
		return history.Claim{}
	}
	return history.Claim{Worker: c.Worker, Session: c.Session, At: c.At}
}

func claimRecord(c history.Claim) *recordedClaim {
	if c.At == 0 {
		return nil
	}
	return &recordedClaim{Worker: c.Worker, Session: c.Session, At: c.At}
}

func (c recordedCommand) command() history.Command {
	return history.Command{
		Kind: c.Kind, Row: history.RowRef{Unit: c.Unit, Attempt: c.Attempt, Offer: c.Offer}, Claim: c.Claim.claim(),
		Output: []byte(c.Output), Failure: c.Failure, Signal: c.Signal, Reason: c.Reason, Resolution: c.Resolution,
		RequestID: c.RequestID, Heard: c.Heard, Seed: c.Seed, Status: c.Status, At: c.At,
	}
}

func commandRecord(c history.Command) recordedCommand {
	return recordedCommand{
		Kind: c.Kind, Unit: c.Row.Unit, Attempt: c.Row.Attempt, Offer: c.Row.Offer, Claim: claimRecord(c.Claim),
		Output: string(c.Output), Failure: c.Failure, Signal: c.Signal, Reason: c.Reason, Resolution: c.Resolution,
		RequestID: c.RequestID, Heard: c.Heard, Seed: c.Seed, Status: c.Status, At: c.At,
	}
}

// replay decides a recorded execution again, and folds its rows. The error says where the two part.
func replay(file []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(file))
	lines.Buffer(nil, 1<<20)
	var start recordedStart
	if !lines.Scan() {
		return fmt.Errorf("no start")
	}
	if err := json.Unmarshal(lines.Bytes(), &start); err != nil {
		return err
	}
	doc, problems := definition.Parse(start.Definition, definition.Options{})
	if doc == nil {
		return problems.Err()
	}
	workflows, err := start.workflows()
	if err != nil {
		return err
	}
	s, t, err := decide.Start(doc.Machine, 1, history.Start{
		Namespace: start.Namespace, Name: start.Name, Workflow: start.Workflow, Version: start.Version,
		Hash: start.Hash, Behaviour: start.Behaviour, Input: []byte(start.Input), Timeout: start.Timeout, Seed: start.Seed,
	}, start.At)
	if err != nil {
		return err
	}
	folded := history.New()
	if err := alike(t, start.Row, s, folded); err != nil {
		return err
	}
	for lines.Scan() {
		var turn recordedTurn
		if err := json.Unmarshal(lines.Bytes(), &turn); err != nil {
			return err
		}
		world := knows(workflows, func(name string) bool { return slices.Contains(turn.Taken, name) })
		if t, err = again(world, doc.Machine, s, turn); err != nil {
			return err
		}
		if err := alike(t, turn.Row, s, folded); err != nil {
			return err
		}
	}
	return lines.Err()
}

func again(w decide.World, m *definition.Machine, s *history.State, turn recordedTurn) (history.Turn, error) {
	var cmds []history.Command
	for _, c := range turn.Commands {
		cmds = append(cmds, c.command())
	}
	t, err := w.Handle(m, s, cmds, turn.At)
	if err == nil && turn.HandOver != nil {
		err = decide.HandOver(m, s, &t, turn.HandOver.Offer, turn.HandOver.Claim.claim())
	}
	return t, err
}

// alike compares a turn with its recorded row, and the fold of the rows with the state that decided it.
func alike(t history.Turn, row string, s, folded *history.State) error {
	events, err := history.DecodeEvents([]byte(row))
	if err != nil {
		return err
	}
	if got := history.EncodeEvents(t.Events); string(got) != row {
		return fmt.Errorf("turn %d is decided otherwise:\ngot      %s\nrecorded %s", t.Seq, got, row)
	}
	if len(events) == 0 {
		return nil
	}
	if err := folded.Apply(t.Seq, t.At, t.FirstEvent, events); err != nil {
		return err
	}
	if !bytes.Equal(s.Snapshot(), folded.Snapshot()) {
		return fmt.Errorf("turn %d folds otherwise", t.Seq)
	}
	return nil
}

func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/replay/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded executions: %v", err)
	}
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := replay(file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReplayRefusesBadHistories replays files that were spoiled on purpose, each in a way that its name tells.
func TestReplayRefusesBadHistories(t *testing.T) {
	for name, want := range map[string]string{
		"changed-output.jsonl":   "is decided otherwise",
		"changed-document.jsonl": "is decided otherwise",
		"missing-turn.jsonl":     "is decided otherwise",
		"unknown-event.jsonl":    "unknown event",
		"later.jsonl":            "is decided otherwise",
		"cut-off.jsonl":          "unexpected end of JSON input",
	} {
		file, err := os.ReadFile(filepath.Join("testdata/replay/bad", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := replay(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// recording collects what a script does, for -record.
type recording struct {
	lines []any
}

func (r *recording) start(m *definition.Document, workflows map[string]json.RawMessage, start history.Start, t history.Turn) {
	r.lines = append(r.lines, recordedStart{
		Workflows:  workflows,
		Definition: m.Normalised, At: t.At, Namespace: start.Namespace, Name: start.Name, Workflow: start.Workflow,
		Version: start.Version, Hash: start.Hash, Behaviour: history.BehaviourLevel, Input: string(start.Input), Timeout: start.Timeout, Seed: start.Seed,
		Row: string(history.EncodeEvents(t.Events)),
	})
}

func (r *recording) turn(cmds []history.Command, taken []string, handOver *recordedHandOver, t history.Turn) {
	line := recordedTurn{At: t.At, Taken: taken, HandOver: handOver, Row: string(history.EncodeEvents(t.Events))}
	for _, c := range cmds {
		line.Commands = append(line.Commands, commandRecord(c))
	}
	r.lines = append(r.lines, line)
}

// write makes a file that is not there yet.
func (r *recording) write(t *testing.T, name string) {
	if _, err := os.Stat(name); err == nil {
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, line := range r.lines {
		if err := enc.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
