package decide_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

const orderInput = `{"order":"o-1044","customer":{"name":"Ada","city":"Bern"},"items":[{"sku":"a-1","n":2},{"sku":"b-7","n":1}],"total":129.5}`

// complete answers the first open unit, with its claim, as a node does that hands over.
func complete(tb testing.TB, m *definition.Machine, s *history.State, output []byte) history.Turn {
	tb.Helper()
	row, ok := s.Row(s.OpenUnits()[0].Key)
	if !ok {
		tb.Fatal("no open unit")
	}
	cmd := history.Command{Kind: history.KindComplete, Row: row, Output: output, Claim: history.Claim{Worker: "w1", Session: "6f1c", At: begin}}
	t, err := decide.Handle(m, s, []history.Command{cmd}, begin)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// BenchmarkHandleStep is one step of ten tasks in a circle: a report, the next task, its hand-over.
func BenchmarkHandleStep(b *testing.B) {
	m := parse(b, strings.Replace(sequence(10), "End: true", "Next: S1", 1))
	claim := history.Claim{Worker: "worker-1", Session: "6f1c1f5e", At: begin}
	output := []byte(orderInput)
	s, _, err := decide.Start(m, 1, history.Start{Namespace: "ns", Name: "run", Workflow: "wf", Input: output}, begin)
	if err != nil {
		b.Fatal(err)
	}
	size, steps := 0, 0
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		key := fmt.Sprintf("S%d", n%10+1)
		if round := n / 10; round > 0 {
			key += fmt.Sprintf("#%d", round+1)
		}
		cmd := history.Command{Kind: history.KindComplete, Row: history.RowRef{Unit: history.UnitKey(key), Attempt: 1, Offer: 1}, Output: output}
		t, err := decide.Handle(m, s, []history.Command{cmd}, begin)
		if err != nil {
			b.Fatal(err)
		}
		if err := decide.HandOver(m, s, &t, 0, claim); err != nil {
			b.Fatal(err)
		}
		size += len(history.EncodeEvents(t.Events))
		steps++
	}
	b.ReportMetric(float64(size)/float64(steps), "row-B/op")
}

// BenchmarkHandleWide is a report for one of many open units.
func BenchmarkHandleWide(b *testing.B) {
	for _, width := range []int{10, 200, 2000} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			m := parse(b, `{"StartAt":"M","States":{"M":{"Type":"Map","End":true,
				"ItemProcessor":{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"task:t","TimeoutSeconds":60,"Next":"T"}}}}}}`)
			input, _ := json.Marshal(make([]int, width))
			s, _, _ := decide.Start(m, 1, history.Start{Namespace: "ns", Name: "run", Workflow: "wf", Input: input}, begin)
			for !s.Idle() {
				if _, err := decide.Handle(m, s, []history.Command{{Kind: history.KindTimer}}, begin); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				key := fmt.Sprintf("M[%d]/T", n%width)
				if round := n / width; round > 0 {
					key += fmt.Sprintf("#%d", round+1)
				}
				row := history.RowRef{Unit: history.UnitKey(key), Attempt: 1, Offer: 1}
				cmd := history.Command{Kind: history.KindComplete, Row: row, Output: []byte("0"), Claim: history.Claim{At: begin}}
				t, err := decide.Handle(m, s, []history.Command{cmd}, begin)
				if err != nil || len(t.Offers) != 1 {
					b.Fatal(err, t)
				}
			}
		})
	}
}

// BenchmarkApply folds the rows of an execution of ten tasks.
func BenchmarkApply(b *testing.B) {
	m := parse(b, sequence(10))
	s, t, _ := decide.Start(m, 1, history.Start{Namespace: "ns", Name: "run", Workflow: "wf", Input: []byte(orderInput)}, begin)
	turns := []history.Turn{t}
	for !s.Status().Ended() {
		turns = append(turns, complete(b, m, s, []byte(orderInput)))
	}
	var rows [][]byte
	for _, t := range turns {
		rows = append(rows, history.EncodeEvents(t.Events))
	}
	b.Run("decoded", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s := history.New()
			for _, t := range turns {
				if err := s.Apply(t.Seq, t.At, t.FirstEvent, t.Events); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(s.Events()), "events/op")
	})
	b.Run("rows", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s := history.New()
			for i, t := range turns {
				events, err := history.DecodeEvents(rows[i])
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Apply(t.Seq, t.At, t.FirstEvent, events); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(s.Events()), "events/op")
	})
}

// BenchmarkSnapshot writes and reads a state with one and with 200 open units.
func BenchmarkSnapshot(b *testing.B) {
	for _, width := range []int{1, 200} {
		m := parse(b, `{"StartAt":"M","States":{"M":{"Type":"Map","End":true,
			"ItemProcessor":{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"task:t","End":true}}}}}}`)
		items := make([]json.RawMessage, width)
		for i := range items {
			items[i] = json.RawMessage(orderInput)
		}
		input, _ := json.Marshal(items)
		s, _, _ := decide.Start(m, 1, history.Start{Namespace: "ns", Name: "run", Workflow: "wf", Input: input}, begin)
		data := s.Snapshot()
		b.Run(fmt.Sprintf("write/%d", width), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Snapshot()
			}
			b.ReportMetric(float64(len(data)), "B/snapshot")
		})
		b.Run(fmt.Sprintf("read/%d", width), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := history.Restore(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
