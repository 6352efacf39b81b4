package shared_test

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

var update = flag.Bool("update", false, "write the generated pages instead of comparing them")

// TestMetricsPage: docs/metrics.md has what a node declares, and nothing else. go test ./shared -run TestMetricsPage -update
// writes it.
func TestMetricsPage(t *testing.T) {
	m := telemetry.NewMetrics()
	db, err := store.Open(context.Background(), "postgres://nowhere/x", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.Show(m)
	n, err := node.New(node.Config{ID: "n", Metrics: m}, db, db)
	if err != nil {
		t.Fatal(err)
	}
	front := n.Frontend(frontend.Options{})
	api.New(api.Services{Workers: front, Tasks: front, Executions: front, Workflows: front, Schedules: front, Cluster: front, Readiness: n}, api.Options{Metrics: m})

	const file, begin, end = "../docs/metrics.md", "<!-- generated -->\n", "<!-- end -->\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no part between %s and %s", file, begin, end)
	}
	want := before + begin + m.Page() + end + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("%s is not what the code declares; go test ./shared -run TestMetricsPage -update writes it", file)
	}
}
