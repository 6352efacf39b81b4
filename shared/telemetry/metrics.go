package telemetry

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is the registry of a process. Each component declares its own in one struct, made once; a name that is
// declared twice panics, because it is a fault of the program.
//
// What holds:
//
//   - Every value of every label is declared with the metric, so the number of series is fixed when the process starts.
//     What is counted under another value is counted as "other". Names of people's things are never labels.
//   - Every series is there from the start, at zero, so that a rate over it misses nothing.
type Metrics struct {
	registry *prometheus.Registry

	mu   sync.Mutex
	list []Metric
}

// Metric is what a component has declared, for the documentation.
type Metric struct {
	Name, Kind, Help string
	Labels           []Label
}

// Label has the values that it may take, and says in words what they are where there are many.
type Label struct {
	Name   string
	Values []string
	Means  string
}

// The kinds of metric, so that only this package imports the library.
type (
	Counter   = prometheus.Counter
	Gauge     = prometheus.Gauge
	Histogram = prometheus.Observer
)

// otherValue is counted under where a value was not declared.
const otherValue = "other"

// Seconds are the buckets of spans that a request or a commit takes.
var Seconds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// Sizes are the buckets of counts.
var Sizes = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}

// NewMetrics makes a registry without metrics.
func NewMetrics() *Metrics { return &Metrics{registry: prometheus.NewRegistry()} }

// Process adds what the Go runtime and the operating system tell about the process.
func (m *Metrics) Process() {
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// Handler serves the metrics in the text format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Values reads all series but distributions, each by its name and, in braces, the values of its labels by the labels' names:
// orrery_x_total{failed,poll}.
func (m *Metrics) Values() (map[string]float64, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("telemetry: read the metrics: %w", err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			var labels []string
			for _, l := range s.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			name := f.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			switch {
			case s.Counter != nil:
				out[name] = s.Counter.GetValue()
			case s.Gauge != nil:
				out[name] = s.Gauge.GetValue()
			}
		}
	}
	return out, nil
}

// List gives what was declared, by name.
func (m *Metrics) List() []Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(slices.Values(m.list), func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
}

func (m *Metrics) declare(name, kind, help string, c prometheus.Collector, labels ...Label) {
	m.registry.MustRegister(c)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, Metric{name, kind, help, labels})
}

// Counter declares what only grows.
func (m *Metrics) Counter(name, help string) Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.declare(name, "counter", help, c)
	return c
}

// CounterFunc declares what only grows and is known elsewhere; read is called at every scrape.
func (m *Metrics) CounterFunc(name, help string, read func() float64) {
	m.declare(name, "counter", help, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

// Gauge declares what goes up and down.
func (m *Metrics) Gauge(name, help string) Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	m.declare(name, "gauge", help, g)
	return g
}

// GaugeFunc declares what goes up and down and is known elsewhere; read is called at every scrape.
func (m *Metrics) GaugeFunc(name, help string, read func() float64) {
	m.declare(name, "gauge", help, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Histogram declares a distribution over buckets.
func (m *Metrics) Histogram(name, help string, buckets []float64) Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.declare(name, "histogram", help, h)
	return h
}

// Counters is a counter for each combination of the values of its labels.
type Counters struct{ family[Counter] }

// Histograms is a distribution for each combination of the values of its labels.
type Histograms struct{ family[Histogram] }

// Counters declares a counter with labels.
func (m *Metrics) Counters(name, help string, labels ...Label) Counters {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, names(labels))
	m.declare(name, "counter", help, vec, labels...)
	return Counters{newFamily(labels, func(vs []string) Counter { return vec.WithLabelValues(vs...) })}
}

// Histograms declares a distribution with labels.
func (m *Metrics) Histograms(name, help string, buckets []float64, labels ...Label) Histograms {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, names(labels))
	m.declare(name, "histogram", help, vec, labels...)
	return Histograms{newFamily(labels, func(vs []string) Histogram { return vec.WithLabelValues(vs...) })}
}

func names(labels []Label) []string {
	out := make([]string, len(labels))
	for i, l := range labels {
		out[i] = l.Name
	}
	return out
}

// family is the members of a metric with labels, all made when it is declared. It does not change afterwards, so that any
// number of goroutines may use it.
type family[M any] struct {
	labels  []Label
	members map[string]M
}

func newFamily[M any](labels []Label, member func([]string) M) family[M] {
	f := family[M]{labels, map[string]M{}}
	f.add(nil, member)
	return f
}

// add makes the members whose first values are given.
func (f *family[M]) add(values []string, member func([]string) M) {
	if len(values) == len(f.labels) {
		f.members[strings.Join(values, "\x00")] = member(values)
		return
	}
	for _, v := range f.labels[len(values)].Values {
		f.add(append(slices.Clip(values), v), member)
	}
	f.add(append(slices.Clip(values), otherValue), member)
}

// Of gives the member with these values, in the order of the labels.
func (f *family[M]) Of(values ...string) M {
	if m, ok := f.members[strings.Join(values, "\x00")]; ok {
		return m
	}
	known := slices.Clone(values)
	for i, v := range values {
		if !slices.Contains(f.labels[i].Values, v) {
			known[i] = otherValue
		}
	}
	return f.members[strings.Join(known, "\x00")]
}

// Page writes the declared metrics as the documentation has them.
func (m *Metrics) Page() string {
	var b strings.Builder
	b.WriteString("| metric | kind | labels | what it tells |\n|---|---|---|---|\n")
	for _, x := range m.List() {
		labels := make([]string, len(x.Labels))
		for i, l := range x.Labels {
			labels[i] = "`" + l.Name + "`: " + cmp.Or(l.Means, strings.Join(l.Values, ", "))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", x.Name, x.Kind, strings.Join(labels, "; "), x.Help)
	}
	return b.String()
}
