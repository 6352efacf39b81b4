package telemetry_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/telemetry"
)

func TestLabelsAreBounded(t *testing.T) {
	m := telemetry.NewMetrics()
	c := m.Counters("x_total", "things", telemetry.Label{Name: "a", Values: []string{"one", "two"}}, telemetry.Label{Name: "b", Values: []string{"yes"}})
	c.Of("one", "yes").Add(2)
	for _, name := range []string{"anything", "something else", "one of a million"} {
		c.Of(name, "yes").Inc()
		c.Of("two", name).Inc()
	}
	values, err := m.Values()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"x_total{one,yes}": 2, "x_total{other,yes}": 3, "x_total{two,other}": 3,
		"x_total{one,other}": 0, "x_total{two,yes}": 0, "x_total{other,other}": 0,
	}
	if len(values) != len(want) {
		t.Errorf("%d series, want %d: %v", len(values), len(want), values)
	}
	for name, n := range want {
		if got, there := values[name]; !there || got != n {
			t.Errorf("%s is %v (%v), want %v", name, got, there, n)
		}
	}
}

func TestMetricsAreServed(t *testing.T) {
	m := telemetry.NewMetrics()
	m.Process()
	m.Counter("x_total", "things").Inc()
	m.GaugeFunc("x_now", "things now", func() float64 { return 3 })
	m.Histogram("x_seconds", "spans", telemetry.Seconds).Observe(0.02)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{"# HELP x_total things", "x_total 1", "x_now 3", `x_seconds_bucket{le="0.025"} 1`, `x_seconds_bucket{le="0.01"} 0`, "go_goroutines "} {
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("no %q in %s", line, w.Body)
		}
	}
	if page := m.Page(); !strings.Contains(page, "| `x_now` | gauge |  | things now |") {
		t.Errorf("the page is %s", page)
	}
}
