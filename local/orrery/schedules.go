package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/schedule"
)

const (
	// maxQuestion bounds a line of the input, in bytes.
	maxQuestion = 1 << 20
	// maxInstants bounds the instants of one answer, maxYears the time that one
	// question is about.
	maxInstants = 1_000_000
	maxYears    = 400
)

func (c *cli) schedules() *cobra.Command {
	cmd := &cobra.Command{
		Use: "schedules", Short: "Work with schedules", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		c.scheduleCreate(), c.scheduleReplace(), c.scheduleList(), c.scheduleShow(), c.schedulePreview(), c.scheduleEvents(),
		c.schedulePause(), c.scheduleResume(), c.scheduleArchive(), c.scheduleTrigger(), c.scheduleBackfill(),
		c.scheduleOccurrences(), c.scheduleWord("cancel", "End an occurrence"),
		c.scheduleWord("retry", "Give an occurrence that has ended without success another try"), c.schedulesNext(),
	)
	return cmd
}

func (c *cli) schedulesNext() *cobra.Command {
	return &cobra.Command{
		Use:   "next",
		Short: "List the instants of specs; needs no server",
		Long: "List the instants of specs between two times. It reads a question per line from the standard input and answers\n" +
			"each in order, without a server or a database:\n\n" +
			`  {"specs":["30 2 * * *"],"dialect":"unix","zone":"America/New_York","from":"2026-03-07T00:00:00Z","to":"2026-03-10T00:00:00Z"}` + "\n\n" +
			"from is included, to is not. gap (shift, skip), repeat (first, both), day_match (or, and) and exclude may be given.\n" +
			`With --json an answer is {"instants":["2026-03-07T07:30:00Z"]}, or {"error":{"field":...,"code":...,"message":...}}.` + "\n" +
			"A question that cannot be answered is no failure of the command.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			in := bufio.NewReader(c.in)
			for number := 1; ; number++ {
				line, err := readQuestion(in)
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil && !errors.Is(err, errLongLine) {
					return fmt.Errorf("read line %d: %w", number, err)
				}
				if err := c.answer(number, line, err); err != nil {
					return err
				}
			}
		},
	}
}

// errLongLine is a line that was skipped to its end.
var errLongLine = fmt.Errorf("the line has more than %d bytes", maxQuestion)

// readQuestion reads a line. At the end of the input it gives io.EOF and nothing.
func readQuestion(in *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxQuestion; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (long || len(line) > 0):
			err = nil
		}
		if err == nil && long {
			return nil, errLongLine
		}
		return line, err
	}
}

// question is a line of the input.
type question struct {
	Specs, Exclude []string
	Dialect        schedule.Dialect
	Zone           string
	DayMatch       schedule.DayMatch
	Gap            schedule.Gap
	Repeat         schedule.Repeat
	From, To       string
}

// refusal says why a question has no answer.
type refusal struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// answer prints the answer to one line, or why it cannot be read.
func (c *cli) answer(number int, line []byte, unread error) error {
	var (
		s        *schedule.Schedule
		from, to time.Time
		no       *refusal
	)
	if unread != nil {
		no = &refusal{"", schedule.CodeTooLong, unread.Error()}
	} else {
		s, from, to, no = ask(line)
	}
	if no != nil {
		return c.print(map[string]*refusal{"error": no}, func(t *table) {
			t.row(number, "error", no.Field, no.Code, no.Message)
		})
	}
	if !c.json {
		return c.print(nil, func(t *table) { people(t, number, s, from, to) })
	}
	instants := []string{}
	for at := range s.Instants(from, to) {
		instants = append(instants, at.Format(time.RFC3339))
	}
	return c.print(map[string][]string{"instants": instants}, nil)
}

// people shows the first instants with what the clocks show.
func people(t *table, number int, s *schedule.Schedule, from, to time.Time) {
	for _, p := range s.Preview(from.Add(-time.Nanosecond), schedule.MaxPreview) {
		if !p.Instant.Before(to) {
			return
		}
		t.row(number, p.Instant.Format(time.RFC3339), p.Local.Format("Mon 2006-01-02 15:04:05 -07:00"), p.Note)
	}
}

// ask reads a question and makes the schedule that it is about.
func ask(line []byte) (s *schedule.Schedule, from, to time.Time, no *refusal) {
	q, no := parseQuestion(line)
	if no != nil {
		return nil, from, to, no
	}
	if from, no = instant("from", q.From); no != nil {
		return nil, from, to, no
	}
	if to, no = instant("to", q.To); no != nil {
		return nil, from, to, no
	}
	if to.Before(from) || to.After(from.AddDate(maxYears, 0, 0)) {
		return nil, from, to, &refusal{"to", schedule.CodeOutOfRange, fmt.Sprintf("it is not in the %d years after from", maxYears)}
	}
	d := schedule.Definition{Timing: schedule.Timing{
		Specs: q.Specs, Exclude: q.Exclude, Dialect: q.Dialect, Zone: q.Zone, DayMatch: q.DayMatch, Gap: q.Gap, Repeat: q.Repeat,
	}}
	s, _, err := schedule.Check("", d, from.Add(-time.Nanosecond))
	if problems, ok := errors.AsType[schedule.Problems](err); ok {
		first := problems[0]
		return nil, from, to, &refusal{first.Field, first.Code, first.Message}
	}
	if n := s.Count(from, to); n > maxInstants {
		return nil, from, to, &refusal{"to", schedule.CodeTooMany, fmt.Sprintf("there are %d instants, more than %d", n, maxInstants)}
	}
	return s, from, to, nil
}

// parseQuestion reads a line. Names are taken as they are written, and of two members with one name the last counts.
func parseQuestion(line []byte) (q question, no *refusal) {
	v, err := expr.Parse(line)
	if err != nil {
		return q, &refusal{"", schedule.CodeSyntax, "the line is no JSON object: " + err.Error()}
	}
	o, ok := v.(*expr.Object)
	if !ok {
		return q, &refusal{"", schedule.CodeSyntax, "the line is no JSON object"}
	}
	texts := map[string]*string{
		"dialect": (*string)(&q.Dialect), "zone": &q.Zone, "day_match": (*string)(&q.DayMatch), "gap": (*string)(&q.Gap),
		"repeat": (*string)(&q.Repeat), "from": &q.From, "to": &q.To,
	}
	lists := map[string]*[]string{"specs": &q.Specs, "exclude": &q.Exclude}
	for name, v := range o.All() {
		text, list := texts[name], lists[name]
		switch {
		case text == nil && list == nil:
			return q, &refusal{fmt.Sprintf("%.40s", name), schedule.CodeUnknown, "there is no such field"}
		case v == nil: // as if it were left out
		case list != nil:
			if *list, no = stringsOf(name, v); no != nil {
				return q, no
			}
		default:
			if *text, ok = v.(string); !ok {
				return q, &refusal{name, schedule.CodeSyntax, "it should be a string"}
			}
		}
	}
	return q, nil
}

// stringsOf reads a list of strings.
func stringsOf(field string, v expr.Value) ([]string, *refusal) {
	list, ok := v.([]expr.Value)
	if !ok {
		return nil, &refusal{field, schedule.CodeSyntax, "it should be a list of strings"}
	}
	out := make([]string, len(list))
	for i, x := range list {
		if out[i], ok = x.(string); !ok {
			return nil, &refusal{fmt.Sprintf("%s[%d]", field, i), schedule.CodeSyntax, "it should be a string"}
		}
	}
	return out, nil
}

// instant reads a time of the question.
func instant(field, text string) (time.Time, *refusal) {
	if text == "" {
		return time.Time{}, &refusal{field, schedule.CodeRequired, "it is left out"}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, &refusal{field, schedule.CodeSyntax, fmt.Sprintf("%.40q is not like 2026-11-01T05:30:00Z", text)}
	}
	return at, nil
}
