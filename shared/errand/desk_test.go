package errand_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/errand"
	"github.com/orrery-dev/orrery/shared/wire"
)

// desk stands in for a server: it hands out tasks and takes what becomes of them.
type desk struct {
	tasks   chan wire.Assignment
	reports chan report

	mu        sync.Mutex
	held      map[string]bool
	cancelled map[string]bool
	sessions  []wire.RegisterRequest
	closed    int
}

type report struct {
	token  string
	output string // JSON, where it succeeded
	code   string // where it failed
	cause  string
	final  bool
}

func (d *desk) Register(_ context.Context, _ auth.Call, q wire.RegisterRequest) (wire.RegisterResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions = append(d.sessions, q)
	return wire.RegisterResponse{SessionID: "s", HeartbeatIntervalMS: 100}, nil
}

func (d *desk) Heartbeat(_ context.Context, _ auth.Call, q wire.HeartbeatRequest) (wire.HeartbeatResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var a wire.HeartbeatResponse
	for _, h := range q.Tokens {
		d.held[h.Token] = true
		if d.cancelled[h.Token] {
			a.Cancelled = append(a.Cancelled, h.Token)
		}
	}
	return a, nil
}

func (d *desk) Poll(ctx context.Context, _ auth.Call, q wire.PollRequest) (wire.PollResponse, error) {
	select {
	case a := <-d.tasks:
		return wire.PollResponse{Assignments: []wire.Assignment{a}}, nil
	case <-time.After(time.Duration(q.WaitMS) * time.Millisecond):
		return wire.PollResponse{}, nil
	case <-ctx.Done():
		return wire.PollResponse{}, ctx.Err()
	}
}

func (d *desk) Deregister(context.Context, auth.Call, wire.DeregisterRequest) (wire.DeregisterResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed++
	return wire.DeregisterResponse{}, nil
}

func accepted(token string) wire.ReportResponse {
	return wire.ReportResponse{Results: []wire.ReportResult{{Token: token, Outcome: wire.ReportAccepted}}}
}

func (d *desk) Complete(_ context.Context, _ auth.Call, q wire.CompleteRequest) (wire.ReportResponse, error) {
	output := strings.ReplaceAll(string(q.Reports[0].Output), `\u0026`, "&") // as the library encodes
	d.reports <- report{token: q.Reports[0].Token, output: output}
	return accepted(q.Reports[0].Token), nil
}

func (d *desk) Fail(_ context.Context, _ auth.Call, q wire.FailRequest) (wire.ReportResponse, error) {
	e := q.Reports[0].Error
	d.reports <- report{token: q.Reports[0].Token, code: e.Code, cause: e.Message, final: e.Retryable != nil && !*e.Retryable}
	return accepted(q.Reports[0].Token), nil
}

func (d *desk) Uncertain(_ context.Context, _ auth.Call, q wire.UncertainRequest) (wire.ReportResponse, error) {
	return accepted(q.Reports[0].Token), nil
}

// open runs a server for the time of a test.
func open(t *testing.T, c errand.Config) *desk {
	t.Helper()
	d := &desk{tasks: make(chan wire.Assignment), reports: make(chan report, 10), held: map[string]bool{}, cancelled: map[string]bool{}}
	c.ID, c.Log = "n1", slog.New(slog.NewTextHandler(t.Output(), nil))
	c.Namespaces = func(context.Context) ([]string, error) { return []string{"default"}, nil }
	s, err := errand.New(t.Context(), c, d)
	if err != nil || s == nil {
		t.Fatalf("no server: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Beside(func(ctx context.Context) error { <-ctx.Done(); return nil })(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
		if d.closed != len(d.sessions) {
			t.Errorf("%d sessions were opened and %d closed", len(d.sessions), d.closed)
		}
	})
	return d
}

// do hands a task out and gives what becomes of it.
func (d *desk) do(t *testing.T, task, input string) report {
	t.Helper()
	d.hand(t, wire.Assignment{Task: task, Input: json.RawMessage(input)})
	return d.report(t)
}

func (d *desk) hand(t *testing.T, a wire.Assignment) {
	t.Helper()
	a.ContractVersion, a.IdempotencyKey, a.TraceParent = 1, "key-1", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if a.Token == "" {
		a.Token = "t"
	}
	select {
	case d.tasks <- a:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody polls")
	}
}

func (d *desk) report(t *testing.T) report {
	t.Helper()
	select {
	case r := <-d.reports:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("no report came")
	}
	return report{}
}
