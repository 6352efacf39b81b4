package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/trial"
)

// replayed is what replay says of one execution.
type replayed struct {
	Execution string          `json:"execution"`
	Judgement trial.Judgement `json:"judgement"`
	Turns     int             `json:"turns"`
	// Where the first difference is; absent where there is none.
	Turn     int64           `json:"turn,omitempty"`
	Event    int64           `json:"event,omitempty"`
	At       time.Time       `json:"at,omitzero"`
	Type     string          `json:"type,omitempty"`
	Unit     string          `json:"unit,omitempty"`
	Field    string          `json:"field,omitempty"`
	Recorded json.RawMessage `json:"recorded,omitempty"`
	Now      json.RawMessage `json:"now,omitempty"`
	Message  string          `json:"message,omitempty"`
}

type replayFlags struct {
	against, was, name string
	limit              time.Duration
}

func (c *cli) replay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE... --against DOCUMENT",
		Short: "Tell which recorded executions another version of their document would decide otherwise",
		Long: "Let a version of a document decide recorded executions again, turn by turn, without a server, and show where each would\n" +
			"first go another way. A FILE (- for the standard input) holds what 'orrery history --json' printed, or rows of the table of\n" +
			"histories, each as one JSON object, of any number of executions:\n\n" +
			"  psql -Atc 'select row_to_json(h) from orrery.history h order by execution, seq' > rows.jsonl\n\n" +
			"Rows tell more: what was drawn by chance is followed as recorded. --was names the document that the executions ran: with it,\n" +
			"resources are compared, and failures that their workers forbade another try of are told apart. The status is 0 if no\n" +
			"execution would differ, 1 if one would or if that is unclear, and 2 if something cannot be read.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.replayFiles(cmd, args, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.against, "against", "", "document to decide by")
	fl.StringVar(&f.was, "was", "", "document that the executions ran")
	fl.StringVarP(&f.name, "name", "n", "", "name of an execution whose file does not say it; the file's up to the first dot when left out")
	maxTime(cmd, &f.limit)
	return cmd
}

func (c *cli) replayFiles(cmd *cobra.Command, files []string, f replayFlags) error {
	if f.against == "" {
		return usageError{errors.New("--against is needed")}
	}
	doc, err := c.document(f.against, false)
	if err != nil {
		return err
	}
	var was *definition.Machine
	if f.was != "" {
		ran, err := c.document(f.was, false)
		if err != nil {
			return err
		}
		was = ran.Machine
	}
	all := []replayed{}
	for _, file := range files {
		list, err := c.recordings(file, f.name, was)
		if err != nil {
			return givenError{fmt.Errorf("%s: %w", file, err)}
		}
		err = within(cmd, f.limit, func() error {
			for _, r := range list {
				a, err := replayOne(doc.Machine, r, cmd.Context().Err)
				if err != nil {
					return givenError{fmt.Errorf("%s: %s: %w", file, r.name, err)}
				}
				all = append(all, a)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := c.print(map[string]any{"executions": all}, func(t *table) { showReplayed(t, all) }); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(a replayed) bool { return a.Judgement != trial.Same }) {
		return errNo
	}
	return nil
}

func replayOne(m *definition.Machine, r recording, check func() error) (replayed, error) {
	v, err := trial.Replay(m, r.rec, check)
	if err != nil {
		return replayed{}, err
	}
	a := replayed{
		Execution: r.name, Judgement: v.Judgement, Turns: len(r.rec.Turns), Turn: int64(v.Turn), Event: int64(v.Event), At: v.At.Time(),
		Type: v.Type, Unit: string(v.Unit), Field: v.Field, Message: v.Message,
	}
	a.Recorded, a.Now = asJSON(v.Recorded), asJSON(v.Now)
	return a, nil
}

// asJSON is a text as JSON: itself where it is, else a string; nil for an empty one.
func asJSON(text string) json.RawMessage {
	if text == "" || json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string always encodes
	return quoted
}

func showReplayed(t *table, all []replayed) {
	t.row("EXECUTION", "JUDGEMENT", "TURNS", "TURN", "EVENT", "WHAT")
	count := map[trial.Judgement]int{}
	for _, a := range all {
		count[a.Judgement]++
		if a.Judgement == trial.Same {
			t.row(a.Execution, a.Judgement, a.Turns, "-", "-", "-")
			continue
		}
		t.row(a.Execution, a.Judgement, a.Turns, a.Turn, a.Event, a.Message)
	}
	t.row()
	t.row(fmt.Sprintf("%d same, %d different, %d unclear", count[trial.Same], count[trial.Differs], count[trial.Unclear]))
}
