package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/trial"
	"github.com/orrery-dev/orrery/shared/wire"
)

// maxRecordings bounds what is read of one file of recordings, in bytes.
const maxRecordings = 512 << 20

// recording is an execution of a file, with its name for people.
type recording struct {
	name string
	rec  *trial.Recording
}

// stored is a JSON object of a file: a page of the API's history, or a row of the table.
type stored struct {
	Events json.RawMessage `json:"events"`
	Next   string          `json:"next"`

	Execution *int64          `json:"execution"`
	Seq       history.Seq     `json:"seq"`
	At        time.Time       `json:"at"`
	First     history.EventID `json:"first_event"`
}

// recordings reads the executions of a file.
func (c *cli) recordings(file, name string, was *definition.Machine) ([]recording, error) {
	in, closeFile, err := c.open(file)
	if err != nil {
		return nil, err
	}
	defer closeFile()
	if name == "" {
		name = workflowName(file)
	}
	bounded := &io.LimitedReader{R: in, N: maxRecordings}
	values := json.NewDecoder(bounded)
	rows := map[int64][]trial.Row{}
	var list []recording
	for {
		var s stored
		err := values.Decode(&s)
		switch {
		case errors.Is(err, io.EOF):
			fromRows, err := recordingsOf(rows, was)
			return append(list, fromRows...), err
		case bounded.N <= 0:
			return nil, fmt.Errorf("it is larger than %d bytes", maxRecordings)
		case err != nil:
			return nil, err
		case s.Execution != nil:
			row, err := s.row()
			if err != nil {
				return nil, err
			}
			rows[*s.Execution] = append(rows[*s.Execution], row)
		default:
			rec, err := s.page(history.Start{Namespace: c.namespace(), Name: name}, was)
			if err != nil {
				return nil, err
			}
			list = append(list, recording{name, rec})
		}
	}
}

func (c *cli) open(file string) (io.Reader, func() error, error) {
	if file == "-" {
		return c.in, func() error { return nil }, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}

// row reads a row of the table, whose events are a text with JSON, or JSON itself.
func (s *stored) row() (trial.Row, error) {
	events := []byte(s.Events)
	if bytes.HasPrefix(events, []byte(`"`)) {
		var text string
		if err := json.Unmarshal(events, &text); err != nil {
			return trial.Row{}, err
		}
		events = []byte(text)
	}
	if s.Seq < 1 || s.First < 1 {
		return trial.Row{}, errors.New("a row needs execution, seq, at, first_event and events")
	}
	return trial.Row{Seq: s.Seq, At: history.TimeOf(s.At), First: s.First, Events: events}, nil
}

// recordingsOf makes recordings of rows, by execution.
func recordingsOf(rows map[int64][]trial.Row, was *definition.Machine) ([]recording, error) {
	var ids []int64
	for id, list := range rows {
		ids = append(ids, id)
		slices.SortFunc(list, func(a, b trial.Row) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	slices.Sort(ids)
	var list []recording
	for _, id := range ids {
		rec, err := trial.FromRows(rows[id], was)
		if err != nil {
			return nil, fmt.Errorf("execution %d: %w", id, err)
		}
		list = append(list, recording{fmt.Sprintf("%s (%d)", rec.Start.Name, id), rec})
	}
	return list, nil
}

// page makes a recording of what the API shows.
func (s *stored) page(start history.Start, was *definition.Machine) (*trial.Recording, error) {
	var events []wire.Event
	if err := json.Unmarshal(s.Events, &events); err != nil {
		return nil, fmt.Errorf("it holds neither a history nor rows: %w", err)
	}
	if s.Next != "" {
		return nil, errors.New("the history is a page of several: the others are missing")
	}
	slices.SortFunc(events, func(a, b wire.Event) int { return cmp.Compare(a.ID, b.ID) })
	var turns []trial.Recorded
	for _, e := range events {
		if n := len(turns); n == 0 || turns[n-1].Seq != history.Seq(e.Turn) {
			turns = append(turns, trial.Recorded{Seq: history.Seq(e.Turn), At: history.TimeOf(e.At)})
		}
		view, err := viewOf(e)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", e.ID, err)
		}
		last := &turns[len(turns)-1]
		last.Views = append(last.Views, view)
	}
	return trial.FromViews(turns, start, was)
}

func viewOf(e wire.Event) (history.View, error) {
	v := history.View{
		ID: history.EventID(e.ID), Previous: history.EventID(e.Previous), At: history.TimeOf(e.At), Type: e.Type, Unit: history.UnitKey(e.Unit),
	}
	if len(e.Data) == 0 {
		return v, nil
	}
	data, err := expr.Parse(e.Data)
	if err != nil {
		return v, err
	}
	o, ok := data.(*expr.Object)
	if !ok {
		return v, errors.New("its data is no object")
	}
	for name, member := range o.All() {
		v.Details = append(v.Details, history.Detail{Name: name, Value: expr.Marshal(member)})
	}
	return v, nil
}

// workflowName is the name of a file up to the first dot.
func workflowName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return name
}
