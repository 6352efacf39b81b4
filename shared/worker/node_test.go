package worker_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/storetest"
	"github.com/orrery-dev/orrery/shared/wire"
)

const (
	// maxPayload is the server's limit, in bytes.
	maxPayload = 4096
	// nodeTimeout and sessionTimeout are short, for a quick test, and long enough for a busy machine.
	nodeTimeout       = time.Second
	sessionTimeout    = 2 * time.Second
	heartbeatInterval = 200 * time.Millisecond
)

// newNode runs a node over a database of its own until the test ends, and gives its handler once it is ready.
func newNode(t *testing.T) http.Handler {
	t.Helper()
	url := storetest.URL(t)
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	open := func(conns int) *store.Store {
		db, err := store.Open(t.Context(), url, store.Options{MaxConns: conns, Direct: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		return db
	}
	n, err := node.New(node.Config{ID: "n1", NodeTimeout: nodeTimeout, SessionTimeout: sessionTimeout, Log: log}, open(4), open(1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the node ended with %v", err)
		}
	})
	front := n.Frontend(frontend.Options{SessionTimeout: sessionTimeout, HeartbeatInterval: heartbeatInterval, NodeTimeout: nodeTimeout})
	handler := api.New(
		api.Services{Workers: front, Tasks: front, Executions: front, Workflows: front, Cluster: front},
		api.Options{Authenticator: auth.Open{}, Log: log, MaxBody: wire.MaxBody, MaxPayload: maxPayload, Deadline: 25 * time.Second})
	await(t, "the node to own partitions", func() bool {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/health", nil))
		var h wire.Health
		return json.Unmarshal(answer.Body.Bytes(), &h) == nil && h.Ready && h.Node.Partitions > 0
	})
	return handler
}
