package shared_test

import (
	"context"
	"testing"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// TestMetricsPage: docs/metrics.md has what a node declares, and nothing else. go test ./shared -run Page -update
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
	if _, err := cron.New(db, front, cron.Options{Metrics: m}); err != nil {
		t.Fatal(err)
	}
	api.New(api.Services{Workers: front, Tasks: front, Executions: front, Workflows: front, Schedules: front, Cluster: front, Readiness: n}, api.Options{Metrics: m})

	generated(t, "../docs/metrics.md", m.Page())
}
