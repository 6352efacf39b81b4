package decide_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts of testdata print as what they expect")

// TestScripts runs the stories of testdata. A script is a list of steps:
//
//	# a comment
//	command arguments
//	another command of the same turn
//	----
//	what came of it
//
// with an empty line after each step. "define" is followed by a document in YAML, "workflow NAME@VERSION" by that of another
// workflow; the other commands are in lineCommand.
// A JSON argument comes last on its line. Times are shown as the span since the start.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScript(t, file) })
	}
}

func runScript(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sc := &script{t: t, name: strings.TrimSuffix(filepath.Base(file), ".txt")}
	var out bytes.Buffer
	for _, st := range steps(string(text)) {
		got := sc.run(st)
		if !*rewrite && got != st.want {
			t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", file, st.line, strings.Join(st.input, "\n"), got, st.want)
		}
		fmt.Fprintf(&out, "%s%s\n----\n%s\n", st.comment, strings.Join(st.input, "\n"), got)
	}
	sc.save()
	if *rewrite {
		if err := os.WriteFile(file, bytes.TrimSuffix(out.Bytes(), []byte("\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type step struct {
	line    int
	comment string
	input   []string
	want    string
}

func steps(text string) []step {
	var list []step
	var st step
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case line == "----":
			for i++; i < len(lines) && lines[i] != ""; i++ {
				st.want += lines[i] + "\n"
			}
			list = append(list, st)
			st = step{}
		case len(st.input) == 0 && (line == "" || strings.HasPrefix(line, "#")):
			st.comment += line + "\n"
		default:
			if len(st.input) == 0 {
				st.line = i + 1
			}
			st.input = append(st.input, line)
		}
	}
	return list
}

// script is one story as it goes on.
type script struct {
	t     *testing.T
	name  string
	doc   *definition.Document
	rec   *recording
	parts int // documents defined so far
	w     *world
	shown *history.State // folded along to describe the events

	workflows map[string]json.RawMessage // published for the next definition
}

func (sc *script) run(st step) string {
	switch first, _, _ := strings.Cut(st.input[0], " "); first {
	case "define":
		sc.define(strings.Join(st.input[1:], "\n"))
		return ""
	case "workflow":
		sc.publish(strings.TrimPrefix(st.input[0], "workflow "), strings.Join(st.input[1:], "\n"))
		return ""
	case "start":
		start := sc.startOf(st.input[0])
		t := sc.w.start(start)
		sc.rec.start(sc.doc, sc.workflows, start, t)
		return sc.show(t)
	case "units":
		return sc.units()
	case "handover":
		return sc.handOver(st.input)
	}
	var cmds []history.Command
	for i, line := range st.input {
		cmd := sc.command(line)
		cmd.Ref = uint64(i + 1)
		cmds = append(cmds, cmd)
	}
	taken := slices.Sorted(maps.Keys(sc.w.children))
	t := sc.w.handle(cmds...)
	sc.rec.turn(cmds, taken, nil, t)
	return sc.show(t)
}

// publish makes another workflow known to the executions that follow.
func (sc *script) publish(ref, text string) {
	doc := parseDocument(sc.t, text)
	if sc.workflows == nil {
		sc.workflows = map[string]json.RawMessage{}
	}
	sc.workflows[ref] = doc.Normalised
	if sc.w != nil {
		publish(sc.w.workflows, ref, doc.Machine)
	}
}

// define begins an execution of another document.
func (sc *script) define(text string) {
	sc.save()
	sc.doc, sc.rec = parseDocument(sc.t, text), &recording{}
	sc.w, sc.shown = newWorld(sc.t, sc.doc.Machine), history.New()
	for ref, text := range sc.workflows {
		publish(sc.w.workflows, ref, parse(sc.t, string(text)))
	}
	sc.parts++
}

// save adds the execution so far to those that are replayed for ever.
func (sc *script) save() {
	if *record && sc.rec != nil {
		sc.rec.write(sc.t, fmt.Sprintf("testdata/replay/%s-%d.jsonl", sc.name, sc.parts))
	}
}

// arguments splits a line into words, options such as key=value, and the JSON at its end.
func arguments(line string) (words []string, options map[string]string, text []byte) {
	options = map[string]string{}
	for line != "" {
		word, rest, _ := strings.Cut(line, " ")
		if word != "" && strings.ContainsAny(word[:1], `{["0123456789-`) || word == "null" || word == "true" || word == "false" {
			if json.Valid([]byte(line)) {
				return words, options, []byte(line)
			}
		}
		line = rest
		if key, value, ok := strings.Cut(word, "="); ok {
			options[key] = value
		} else if word != "" {
			words = append(words, word)
		}
	}
	return words, options, nil
}

func (sc *script) startOf(line string) history.Start {
	_, options, input := arguments(line)
	if input == nil {
		input = []byte("{}")
	}
	return history.Start{
		Namespace: "ns", Name: "run", Workflow: "wf", Version: 1, Hash: "h", Input: input, Seed: 7,
		Timeout: sc.span(options["timeout"]).Milliseconds(),
	}
}

func (sc *script) span(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		sc.t.Fatal(err)
	}
	return d
}

// command reads one line:
//
//	claim UNIT [worker=W]                      the current offer is claimed; unseen: and nobody is told
//	complete|fail|heartbeat|lost|uncertain UNIT [attempt=N] [offer=N] [code=C] [message=M] [final] [JSON]
//	ended UNIT|CHILD STATUS [code=C] [message=M] [JSON]
//	signal NAME [JSON], cancel [REASON], resolve UNIT WORD [code=C] [JSON], redrive [REASON]
//	timer [after=SPAN] [heard=UNIT,UNIT]       the clock moves, at least to what is due
func (sc *script) command(line string) history.Command {
	words, options, text := arguments(line)
	cmd := history.Command{Kind: history.Kind(words[0]), Output: text, Seed: 7, RequestID: options["request"]}
	words = words[1:]
	word := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch cmd.Kind {
	case "claim":
		cmd = sc.w.claim(sc.w.row(history.UnitKey(word(0))), orElse(options["worker"], "w1"))
		cmd.Claim.Task = 1
	case history.KindTimer:
		sc.advance(options["after"])
		for _, unit := range strings.FieldsFunc(options["heard"], func(r rune) bool { return r == ',' }) {
			if cmd.Heard == nil {
				cmd.Heard = map[history.UnitKey]history.Time{}
			}
			cmd.Heard[history.UnitKey(unit)] = sc.w.now
		}
	case history.KindSignal:
		cmd.Signal = word(0)
	case history.KindCancel, history.KindRedrive:
		cmd.Reason = strings.Join(words, " ")
	case history.KindResolve:
		cmd.Row.Unit, cmd.Resolution = history.UnitKey(word(0)), word(1)
		cmd.Failure = &history.Failure{Code: options["code"]}
	case "ended":
		return sc.ended(word(0), word(1), options, text)
	default:
		sc.report(&cmd, history.UnitKey(word(0)), words, options)
	}
	return cmd
}

// ended tells the end of the child of a unit, or of the child with a name.
func (sc *script) ended(child, status string, options map[string]string, output []byte) history.Command {
	if sc.w.children[child] == nil {
		child = sc.w.childOf(history.UnitKey(child))
	}
	cmd := history.Command{Output: output, Seed: 7}
	cmd.Status, _ = history.ParseStatus(status)
	if cmd.Status != history.Succeeded {
		cmd.Failure = &history.Failure{Code: options["code"], Message: options["message"]}
	}
	return sc.w.ended(child, cmd)
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (sc *script) advance(after string) {
	if after != "" {
		sc.w.now = sc.w.now.Add(sc.span(after))
	} else if wake := sc.w.s.WakeAt(); wake > sc.w.now {
		sc.w.now = wake
	}
}

// report fills in what names the row; where the unit is not open any more, the options have to.
func (sc *script) report(cmd *history.Command, unit history.UnitKey, words []string, options map[string]string) {
	cmd.Row = history.RowRef{Unit: unit, Attempt: 1, Offer: 1}
	if row, ok := sc.w.reported(unit); ok {
		cmd.Row = row
	}
	if n, err := strconv.Atoi(options["attempt"]); err == nil {
		cmd.Row.Attempt = n
	}
	if n, err := strconv.Atoi(options["offer"]); err == nil {
		cmd.Row.Offer = n
	}
	if worker := options["worker"]; worker != "" {
		cmd.Claim = history.Claim{Task: 1, Worker: worker, Session: "s-" + worker, At: sc.w.now}
		sc.w.queue[cmd.Row] = "claimed"
	}
	cmd.Reason = options["reason"]
	switch cmd.Kind {
	case history.KindComplete, history.KindFail:
		if row, ok := sc.w.reported(unit); ok && row.Attempt == cmd.Row.Attempt && cmd.Row.Offer <= row.Offer {
			sc.w.report(*cmd)
		}
	}
	if cmd.Kind == history.KindFail {
		cmd.Failure = &history.Failure{Code: options["code"], Message: options["message"], Details: cmd.Output}
		cmd.Output = nil
		for _, w := range words[1:] {
			cmd.Failure.NonRetryable = cmd.Failure.NonRetryable || w == "final"
		}
	}
}

// handOver decides the commands that follow the first line, and gives an offer of the turn to a waiting poll before it is
// committed: handover INDEX worker=W.
func (sc *script) handOver(lines []string) string {
	words, options, _ := arguments(lines[0])
	i, _ := strconv.Atoi(string(words[1]))
	var cmds []history.Command
	for _, line := range lines[1:] {
		cmds = append(cmds, sc.command(line))
	}
	w := sc.w
	t, err := w.knows().Handle(w.m, w.s, cmds, w.now)
	if err != nil {
		sc.t.Fatal(err)
	}
	claim := history.Claim{Worker: options["worker"], Session: "s-" + options["worker"], At: w.now}
	if err := decide.HandOver(w.m, w.s, &t, i, claim); err != nil {
		return err.Error() + "\n"
	}
	w.commit(t)
	sc.rec.turn(cmds, nil, &recordedHandOver{Offer: i, Claim: claimRecord(claim)}, t)
	return sc.show(t)
}

func (sc *script) units() string {
	var b strings.Builder
	for _, u := range sc.w.s.OpenUnits() {
		fmt.Fprintf(&b, "%s %s %s %d.%d", u.Key, u.Kind, u.Status, u.Attempt, u.Offer)
		sc.option(&b, u.Redelivery > 0, "redelivery=%d", u.Redelivery)
		sc.option(&b, u.Signal != "", "signal=%s", u.Signal)
		sc.option(&b, u.Child != "", "child=%s", u.Child)
		sc.option(&b, u.Worker != "", "worker=%s session=%s", u.Worker, u.Session)
		sc.option(&b, u.Progress != nil, "progress=%s", u.Progress)
		sc.option(&b, u.DispatchedAt != 0, "dispatched=%s", sc.since(u.DispatchedAt))
		sc.option(&b, u.Deadline != 0, "deadline=%s", sc.since(u.Deadline))
		b.WriteByte('\n')
	}
	return b.String()
}

func (sc *script) since(t history.Time) string { return "+" + t.Sub(begin).String() }

func (sc *script) option(b *strings.Builder, there bool, format string, args ...any) {
	if there {
		fmt.Fprintf(b, " "+format, args...)
	}
}

// show prints a turn: its events as the API shows them, and everything else in the order in which the store does it.
func (sc *script) show(t history.Turn) string {
	var b strings.Builder
	if len(t.Events) > 0 {
		fmt.Fprintf(&b, "turn %d at %s\n", t.Seq, sc.since(t.At))
	}
	views, err := history.Describe(sc.shown, t.Seq, t.At, t.FirstEvent, t.Events, sc.resource)
	if err != nil {
		sc.t.Fatal(err)
	}
	for i := range views {
		sc.event(&b, &views[i])
	}
	for _, r := range t.Lost {
		fmt.Fprintf(&b, "  lost %s\n", sc.ref(r))
	}
	for _, r := range t.Resolved {
		fmt.Fprintf(&b, "  resolved %s %d", r.Unit, r.Attempt)
		sc.option(&b, r.Reported, "reported")
		sc.option(&b, r.OnlyQueued, "only-queued")
		sc.option(&b, r.CancelNotice, "cancel-notice")
		b.WriteByte('\n')
	}
	for i := range t.Offers {
		sc.offer(&b, &t.Offers[i])
	}
	for i := range t.Children {
		sc.child(&b, &t.Children[i])
	}
	for _, s := range t.Stops {
		fmt.Fprintf(&b, "  stop %s\n", s.Name)
	}
	for _, n := range t.Noticed {
		fmt.Fprintf(&b, "  noticed %d\n", n.Task)
	}
	for _, r := range t.Replies {
		fmt.Fprintf(&b, "  reply %s", r.Outcome)
		sc.option(&b, r.Event != 0, "#%d", r.Event)
		sc.option(&b, r.Message != "", "%s", r.Message)
		b.WriteByte('\n')
	}
	sc.option(&b, t.Stalled, "stalled, wants %v\n", t.Wants)
	if t.WakeAt != 0 {
		fmt.Fprintf(&b, "  wake %s\n", sc.since(t.WakeAt))
	}
	if e := t.End; e != nil {
		fmt.Fprintf(&b, "  end %s", e.Status)
		sc.option(&b, e.Output != nil, "%s", e.Output)
		sc.option(&b, e.Error != "", "%s", e.Error)
		sc.option(&b, e.Cause != "", "%q", e.Cause)
		b.WriteByte('\n')
	}
	return b.String()
}

func (sc *script) resource(state string) string {
	if st := sc.w.m.Find(state); st != nil && st.Resource != nil {
		return st.Resource.Text
	}
	return ""
}

func (sc *script) ref(r history.RowRef) string {
	return fmt.Sprintf("%s %d.%d", r.Unit, r.Attempt, r.Offer)
}

func (sc *script) event(b *strings.Builder, v *history.View) {
	fmt.Fprintf(b, "  #%d<%d %s", v.ID, v.Previous, v.Type)
	sc.option(b, v.Unit != "", "%s", v.Unit)
	for _, d := range v.Details {
		if d.Name != "name" || v.Unit == "" {
			sc.option(b, true, "%s=%s", d.Name, d.Value)
		}
	}
	b.WriteByte('\n')
}

func (sc *script) child(b *strings.Builder, c *history.Child) {
	p := c.Start.Parent
	fmt.Fprintf(b, "  child %s %s@%d for %s %d", c.Start.Name, c.Start.Workflow, c.Start.Version, p.Unit, p.Attempt)
	sc.option(b, p.Waits, "waits")
	sc.option(b, c.Anywhere, "anywhere")
	sc.option(b, p.Depth > 1, "depth=%d root=%s", p.Depth, p.Root)
	fmt.Fprintf(b, " input=%s\n", c.First.Events[0].Text.Literal)
}

func (sc *script) offer(b *strings.Builder, o *history.Offer) {
	fmt.Fprintf(b, "  offer %s %s@%d input=%s key=%s", sc.ref(o.RowRef), o.Contract.Task, o.Contract.Version, o.Task.Input, o.Task.IdempotencyKey)
	sc.option(b, o.Language != "", "language=%s", o.Language)
	sc.option(b, o.Priority != 0, "priority=%d", o.Priority)
	sc.option(b, o.Task.Redelivery != 0, "redelivery=%d", o.Task.Redelivery)
	sc.option(b, o.Task.Timeout != 0, "timeout=%dms", o.Task.Timeout)
	sc.option(b, o.Task.HeartbeatTimeout != 0, "heartbeat=%dms", o.Task.HeartbeatTimeout)
	sc.option(b, o.Claim != nil, "handed-over")
	sc.option(b, o.TokenTask, "token-task")
	b.WriteByte('\n')
}
