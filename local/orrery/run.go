package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/trial"
	"github.com/orrery-dev/orrery/shared/wire"
)

// documentRun is what run says. Its events have the form of the API's, so that they can be replayed.
type documentRun struct {
	Status    wire.Status          `json:"status"`
	Output    json.RawMessage      `json:"output,omitempty"`
	Error     *wire.ExecutionError `json:"error,omitempty"`
	StartedAt time.Time            `json:"started_at"`
	// EndedAt is what the clock shows at the end of the run, also where the execution has not ended.
	EndedAt time.Time    `json:"ended_at"`
	Events  []wire.Event `json:"events"`
	Notes   []string     `json:"notes"`
}

// runFlags are the flags of run, as given.
type runFlags struct {
	input, script, at, name string
	turns                   int
	seed                    uint64
	limit                   time.Duration
	strict                  bool
}

func (c *cli) run() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a document against scripted results, without a server",
		Long: "Run a whole document in this process: without a server, a database or workers, and with a clock that jumps to the next\n" +
			"time at which something happens. What the tasks give and what comes from outside is in a script, in YAML or JSON:\n\n" +
			"  tasks:                        # by contract; of other resources, by the resource as the document has it\n" +
			"    payments.charge@2:          # answers in the order of the offers\n" +
			"      - {error: CardDeclined, cause: no money, after: 2s}\n" +
			"      - output: {receipt: r-1}\n" +
			"        times: always           # or how often; once where it is left out\n" +
			"  units:                        # by unit key, before the tasks\n" +
			"    Ship[0]/Pack: [{silent: true}]\n" +
			"  signals: [{name: approved, after: 1h, payload: {by: ann}}]\n" +
			"  resolve: [{unit: Charge, after: 2h, as: completed, output: {receipt: r-2}}]\n" +
			"  cancel: {after: 3h, reason: too late}\n\n" +
			"An answer is one of output, error (with cause, details, final), uncertain: REASON, lost: REASON, silent: true (the worker\n" +
			"claims and is not heard of again) and absent: true (nobody claims). Its after counts from the claim, all others from the\n" +
			"start. The status is 0 if the execution succeeds, 1 if it ends otherwise, and 2 if it cannot be run to its end.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.runDocument(cmd, args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.input, "input", "i", "", "input: JSON, @FILE or -; {} when left out")
	fl.StringVar(&f.script, "script", "", "file with the script (- for the standard input)")
	fl.StringVarP(&f.name, "name", "n", "run", "name of the execution")
	fl.StringVar(&f.at, "at", "", "time at the start, such as 2026-11-30T03:29:21Z; now when left out")
	fl.Uint64Var(&f.seed, "seed", 1, "what chance is drawn from")
	fl.IntVar(&f.turns, "max-turns", trial.DefaultTurns, "give up after so many turns")
	fl.BoolVar(&f.strict, "strict", false, "keep to Amazon States Language")
	maxTime(cmd, &f.limit)
	return cmd
}

func (c *cli) runDocument(cmd *cobra.Command, file string, f runFlags) error {
	doc, err := c.document(file, f.strict)
	if err != nil {
		return err
	}
	script, o, err := c.runOptions(f)
	if err != nil {
		return err
	}
	o.Check = cmd.Context().Err
	o.Start.Workflow, o.Start.Hash = workflowName(file), doc.Hash
	var r *trial.Run
	var stopped error // why the execution did not come to its end
	err = within(cmd, f.limit, func() error {
		r, stopped = trial.Execute(doc.Machine, script, o)
		return nil
	})
	if err != nil {
		return err
	}
	if r == nil {
		return givenError{stopped}
	}
	a := runAnswer(r, script.Unused())
	if err := c.print(a, func(t *table) { showRun(t, a) }); err != nil {
		return err
	}
	switch {
	case stopped != nil:
		return givenError{stopped}
	case a.Status != wire.Succeeded:
		return errNo
	}
	return nil
}

func (c *cli) runOptions(f runFlags) (*trial.Script, trial.Options, error) {
	o := trial.Options{Worker: "script", Limits: trial.Limits{Turns: f.turns}}
	script, err := c.readScript(f.script)
	if err != nil {
		return nil, o, err
	}
	o.Comings = script.Comings
	if o.At, err = clockAt(f.at); err != nil {
		return nil, o, err
	}
	input, err := c.payload(f.input)
	if err != nil {
		return nil, o, err
	}
	if input == nil {
		input = json.RawMessage("{}")
	}
	if f.turns < 1 {
		return nil, o, usageError{errors.New("--max-turns must be at least 1")}
	}
	o.Start = history.Start{Namespace: c.namespace(), Name: f.name, Version: 1, Input: input, Seed: f.seed}
	return script, o, nil
}

// namespace is that of executions that have no server to ask.
func (c *cli) namespace() string {
	if c.client.Namespace == "" {
		return "default"
	}
	return c.client.Namespace
}

// readScript reads a script; without a name it is an empty one.
func (c *cli) readScript(name string) (*trial.Script, error) {
	text := []byte("{}")
	if name != "" {
		var err error
		if text, err = c.readFile(name); err != nil {
			return nil, err
		}
	}
	script, problems := trial.ParseScript(text)
	if script == nil {
		return nil, refused(name, problems)
	}
	return script, nil
}

func runAnswer(r *trial.Run, unused []string) documentRun {
	a := documentRun{
		Status: wire.Status(r.State.Status().String()), StartedAt: r.Start.Time(), EndedAt: r.Now.Time(),
		Events: []wire.Event{}, Notes: append(append([]string{}, r.Notes...), unused...),
	}
	if end := r.State.End(); end != nil {
		a.Output = end.Output
		if end.Status != history.Succeeded {
			a.Error = &wire.ExecutionError{Code: end.Error, Message: end.Cause}
		}
	}
	for _, t := range r.Turns {
		for i := range t.Views {
			a.Events = append(a.Events, eventOf(t.Seq, &t.Views[i]))
		}
	}
	return a
}

func eventOf(seq history.Seq, v *history.View) wire.Event {
	return wire.Event{
		ID: int64(v.ID), Turn: int64(seq), Previous: int64(v.Previous), At: v.At.Time(), Type: v.Type, Unit: string(v.Unit), Data: v.Data(),
	}
}

func showRun(t *table, a documentRun) {
	t.row("EVENT", "TURN", "CLOCK", "TYPE", "UNIT", "DATA")
	for _, e := range a.Events {
		t.row(e.ID, e.Turn, "+"+days(e.At.Sub(a.StartedAt)), e.Type, orDash(e.Unit), compact(e.Data))
	}
	t.row()
	t.row("status", fmt.Sprintf("%s after %s", a.Status, days(a.EndedAt.Sub(a.StartedAt))))
	if a.Output != nil {
		t.row("output", string(a.Output))
	}
	if a.Error != nil {
		t.row("error", orDash(a.Error.Code), a.Error.Message)
	}
	for _, note := range a.Notes {
		t.row("note", note)
	}
}

// days is a span of which whole days are shown as such.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 2*day {
		return d.String()
	}
	return fmt.Sprintf("%dd%s", d/day, d%day)
}
