package telemetry

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"time"
)

// embeddedNamespace is where CloudWatch shows the metrics of functions.
const embeddedNamespace = "Orrery"

// Embedded writes counts of a function as one line of its log in CloudWatch's embedded metric format, from which metrics are
// made without a call: each count under its name, with the function as dimension.
func Embedded(w io.Writer, function string, at time.Time, counts map[string]int64) error {
	type metric struct {
		Name string
		Unit string
	}
	type directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []metric
	}
	d := directive{Namespace: embeddedNamespace, Dimensions: [][]string{{KeyFunction}}}
	line := map[string]any{KeyFunction: function}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		d.Metrics = append(d.Metrics, metric{name, "Count"})
		line[name] = counts[name]
	}
	line["_aws"] = map[string]any{"Timestamp": at.UnixMilli(), "CloudWatchMetrics": []directive{d}}
	return json.NewEncoder(w).Encode(line)
}
