package trial

import (
	"fmt"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// Recording is a history as it was written, turn by turn from the first.
type Recording struct {
	Start history.Start
	Turns []Recorded
	// Was is the document that the execution ran; nil where it is not known.
	Was *definition.Machine
}

// Recorded is one turn of a recording.
type Recorded struct {
	Seq   history.Seq
	At    history.Time
	Views []history.View
	// Events are the turn as it was written; nil where only what the API shows is known.
	Events []history.Event
}

// Row is a row of the table of histories.
type Row struct {
	Seq    history.Seq
	At     history.Time
	First  history.EventID
	Events []byte // as EncodeEvents writes them
}

// FromRows reads a recording from the rows of one execution, in order. Was is the document that it ran; nil where that is
// not known, and what events tell of resources is then left out.
func FromRows(rows []Row, was *definition.Machine) (*Recording, error) {
	rec := &Recording{Was: was}
	var resource func(string) string
	if was != nil {
		resource = func(state string) string { return resourceOf(was, state) }
	}
	s := history.New()
	for _, row := range rows {
		events, err := history.DecodeEvents(row.Events)
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", row.Seq, err)
		}
		views, err := history.Describe(s, row.Seq, row.At, row.First, events, resource)
		if err != nil {
			return nil, err
		}
		rec.Turns = append(rec.Turns, Recorded{row.Seq, row.At, views, events})
	}
	if s.Status() == 0 {
		return nil, fmt.Errorf("the rows do not begin with the start of an execution")
	}
	rec.Start = s.Start()
	return rec, nil
}

// FromViews makes a recording of what the API shows of a history. What the API does not show of the start is taken from
// start; was is as for FromRows.
func FromViews(turns []Recorded, start history.Start, was *definition.Machine) (*Recording, error) {
	if len(turns) == 0 || len(turns[0].Views) == 0 || turns[0].Views[0].Type != "ExecutionStarted" {
		return nil, fmt.Errorf("the events do not begin with the start of an execution")
	}
	for i := range turns {
		if turns[i].Seq != history.Seq(i+1) {
			return nil, fmt.Errorf("turn %d is missing", i+1)
		}
	}
	first := turns[0].Views[0]
	start.Input = detail(first, "input")
	start.Workflow = textDetail(first, "workflow")
	start.Version = int(numberDetail(first, "version"))
	start.RequestID = textDetail(first, "requestId")
	return &Recording{Start: start, Turns: turns, Was: was}, nil
}
