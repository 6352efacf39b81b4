package cron_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// told is a span as the test compares it: what it says of its attempt, and its fault behind.
func told(x tracetest.SpanStub) string {
	var out []string
	for _, a := range x.Attributes {
		out = append(out, strings.TrimPrefix(string(a.Key), "orrery.")+"="+a.Value.String())
	}
	slices.Sort(out)
	if x.Status.Code == codes.Error {
		out = append(out, x.Status.Description)
	}
	return strings.Join(out, " ")
}

// TestSpans: each attempt that has started has one span, with the identity that the ledger and the work have. What was not
// started has none.
func TestSpans(t *testing.T) {
	r := newRig(t)
	e := tracetest.NewInMemoryExporter()
	r.create("call", direct("0 1 10 * * *", "0 2 10 * * *", "0 3 10 * * *"))
	r.create("flow", workflow("0 1 10 * * *", "0 2 10 * * *"))
	p := r.process(nil, cron.Options{Claimant: "p", Traces: telemetry.TracesTo(e)})
	var parents []string
	for i, fault := range []error{nil, errors.New("no luck")} {
		r.ringAt(fmt.Sprintf("10:%02d:00", i+1), p)
		c := p.outside.next(t)
		parents = append(parents, c.header.Get("Traceparent"))
		c.answer <- fault
		r.until("it ends", func() bool { return p.Health().Completed+p.Health().Failed == int64(i+1) })
	}
	r.until("the second flow is skipped", func() bool { return r.ledger("flow") == "10:01:00 running\n10:02:00 skipped_overlap" })
	// The third one loses its lease, and the process claims it once more.
	r.ringAt("10:03:00", p)
	first := p.outside.next(t)
	r.ringAt("10:04:01", p)
	second := p.outside.next(t)
	first.answer <- nil
	r.until("the first end is lost", func() bool { return p.Health().Lost == 1 })
	second.answer <- nil
	r.until("the second counts", func() bool { return p.Health().Completed == 2 })
	parents = append(parents, first.header.Get("Traceparent"), second.header.Get("Traceparent"))

	calls, flows := r.occurrences("call"), r.occurrences("flow")
	var got []string
	ids := map[string]bool{}
	for _, x := range e.GetSpans() {
		if x.Name != "schedule.attempt" || x.Parent.IsValid() || x.EndTime.Before(x.StartTime) {
			t.Errorf("a span is %+v", x)
		}
		got = append(got, told(x))
		ids["00-"+x.SpanContext.TraceID().String()+"-"+x.SpanContext.SpanID().String()+"-01"] = true
	}
	of := func(o store.Occurrence, attempt int, execution string, token int64, schedule, status string) string {
		if execution != "" {
			execution = "execution=" + execution + " "
		}
		return fmt.Sprintf("attempt=%d claimant=p %sfencing_token=%d instant=%s namespace=default occurrence=%d retry=0 schedule=%s status=%s",
			attempt, execution, token, o.Instant.UTC().Format("2006-01-02T15:04:05Z"), o.ID, schedule, status)
	}
	lost := r.traces(calls[2].ID)
	want := []string{
		of(calls[0], 1, "", calls[0].Token, "call", "completed"), of(calls[1], 1, "", calls[1].Token, "call", "failed") + " no luck",
		of(calls[2], 1, "", lost[0].Token, "call", "lost") + " its end does not count",
		of(calls[2], 2, "", lost[1].Token, "call", "completed"),
		of(flows[0], 1, r.execution("flow", "10:01:00"), flows[0].Token, "flow", "started"),
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the spans are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, o := range []history.OccurrenceID{calls[0].ID, calls[1].ID, calls[2].ID, flows[0].ID} {
		for _, x := range r.traces(o) {
			if !ids[x.Context] {
				t.Errorf("the start %s of occurrence %d has no span", x.Context, o)
			}
		}
	}
	for _, x := range parents {
		if !ids[x] {
			t.Errorf("a call got %s, which is no span", x)
		}
	}
}

// TestGauges: what waits in the database is told to whoever reads the metrics, and -1 where it cannot be read.
func TestGauges(t *testing.T) {
	r := newRig(t)
	r.create("minutes", overlapping(workflow("0 * 10 * * *"), "buffer_one"))
	m := telemetry.NewMetrics()
	x := r.runnerOver(r.db, r.front, cron.Options{Metrics: m})
	r.tickAt(x, "10:05:00")
	r.tickAt(x, "10:06:00")
	r.trigger(store.Trigger{Schedule: "minutes", Overlap: store.OverlapAllow})
	r.pass(3 * time.Second)
	for name, want := range map[string]float64{"pending": 1, "waiting": 1, "due": 1, "due_age_seconds": 3, "dead_letters": 0, "misfired_total": 4} {
		r.wantMetric(m, "orrery_schedules_"+name, want)
	}
	gone := telemetry.NewMetrics()
	r.runnerOver(&deaf{Store: r.db}, r.front, cron.Options{Metrics: gone})
	r.wantMetric(gone, "orrery_schedules_pending", -1)
}

// deaf is a database that does not say what waits.
type deaf struct{ *store.Store }

func (deaf) CronDepths(context.Context) (store.CronDepths, error) {
	return store.CronDepths{}, store.ErrUnavailable
}

func (r *rig) wantMetric(m *telemetry.Metrics, name string, want float64) {
	r.t.Helper()
	values, err := m.Values()
	if err != nil {
		r.t.Fatal(err)
	}
	if got, there := values[name]; !there || got != want {
		r.t.Errorf("%s is %v (%v), want %v", name, got, there, want)
	}
}
