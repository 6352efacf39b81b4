package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/orrery-dev/orrery/shared/telemetry"
)

// metricsPath is beside the routes: it is no part of the API, and answers in the format of Prometheus.
const metricsPath = "/metrics"

// metrics are what a handler counts.
type metrics struct {
	requests telemetry.Counters
	seconds  telemetry.Histograms
	underWay telemetry.Gauge
}

func newMetrics(m *telemetry.Metrics, table []Route) metrics {
	route := telemetry.Label{Name: "route", Means: "method and pattern of the route"}
	for _, r := range table {
		route.Values = append(route.Values, r.Method+" "+r.Pattern)
	}
	status := telemetry.Label{Name: "status", Values: []string{"2xx", "4xx", "429", "499", "500", "503", "5xx"}}
	return metrics{
		requests: m.Counters("orrery_http_requests_total", "requests answered; 499 is a caller that had gone", route, status),
		seconds: m.Histograms("orrery_http_request_seconds", "from a request's arrival to its answer, waits that it asked for included",
			telemetry.Seconds, route),
		underWay: m.Gauge("orrery_http_requests_under_way", "requests that have no answer yet"),
	}
}

// answered counts a request.
func (m *metrics) answered(r Route, status int, took time.Duration) {
	route := r.Method + " " + r.Pattern
	m.requests.Of(route, statusClass(status)).Inc()
	m.seconds.Of(route).Observe(took.Seconds())
}

// statusClass keeps apart what an operator looks at.
func statusClass(status int) string {
	switch status {
	case http.StatusTooManyRequests, statusGone, http.StatusInternalServerError, http.StatusServiceUnavailable:
		return strconv.Itoa(status)
	}
	return strconv.Itoa(status/100) + "xx"
}
