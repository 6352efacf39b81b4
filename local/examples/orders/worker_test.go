// Package orders_test runs the workers of the example against a server that behaves as each test needs.
package orders_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server speaks the worker protocol: it has one task to give, and it does not take its report before it has had beats
// heartbeats with the task's token since the report was first tried.
type server struct {
	reported chan struct{} // closed at the first report
	beats    int

	mu           sync.Mutex
	given        bool
	completions  int // tries to report
	taken        int // reports taken
	heartbeats   int // with the token, since the first try
	deregistered int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var answer any
	switch r.URL.Path {
	case "/v1/workers/register":
		answer = map[string]any{"session_id": "s1", "heartbeat_interval_ms": 20}
	case "/v1/workers/heartbeat":
		var beat struct{ Tokens []struct{ Token string } }
		if err := json.NewDecoder(r.Body).Decode(&beat); err == nil && len(beat.Tokens) == 1 && s.completions > 0 {
			s.heartbeats++
		}
		answer = map[string]any{}
	case "/v1/workers/poll":
		answer = map[string]any{"assignments": s.assignments()}
	case "/v1/tasks/complete":
		if s.completions++; s.completions == 1 {
			close(s.reported)
		}
		if s.heartbeats < s.beats {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		s.taken++
		answer = map[string]any{"results": []map[string]string{{"outcome": "applied"}}}
	case "/v1/workers/deregister":
		s.deregistered++
		answer = map[string]any{}
	}
	json.NewEncoder(w).Encode(answer)
}

func (s *server) assignments() []map[string]any {
	if s.given {
		time.Sleep(5 * time.Millisecond) // a short wait, so that an idle worker does not spin
		return []map[string]any{}
	}
	s.given = true
	return []map[string]any{{
		"token": "t1", "task": "stock.release", "contract_version": 1, "unit": "ReleaseStock", "attempt": 1,
		"idempotency_key": "k1", "input": map[string]string{"order": "o1", "reservation": "r1"},
	}}
}

// workers are the programs that speak the protocol by themselves, in each language.
var workers = map[string][]string{
	"Python":     {"python3", "python/worker.py"},
	"JavaScript": {"node", "javascript/worker.mjs"},
}

func start(t *testing.T, program []string, url, grace string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program[0], append(program[1:], "--url", url, "--grace", grace)...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

// TestWorkersDrain: a worker that is told to stop keeps its session until its report is taken, then gives it back.
func TestWorkersDrain(t *testing.T) {
	for language, program := range workers {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			s := &server{reported: make(chan struct{}), beats: 5}
			h := httptest.NewServer(s)
			defer h.Close()
			cmd := start(t, program, h.URL, "60")
			<-s.reported
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			got := fmt.Sprintf("taken %d, deregistered %d", s.taken, s.deregistered)
			if want := "taken 1, deregistered 1"; got != want {
				t.Errorf("%s, want %s; %d tries, %d heartbeats", got, want, s.completions, s.heartbeats)
			}
		})
	}
}

// TestWorkersStopWithoutTheirServer: a worker whose server is gone ends all the same.
func TestWorkersStopWithoutTheirServer(t *testing.T) {
	for language, program := range workers {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			s := &server{reported: make(chan struct{}), beats: 1 << 30}
			h := httptest.NewServer(s)
			cmd := start(t, program, h.URL, "0.5")
			<-s.reported
			h.CloseClientConnections()
			h.Close()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.taken != 0 || s.deregistered != 0 {
				t.Errorf("taken %d, deregistered %d by a server that was gone", s.taken, s.deregistered)
			}
		})
	}
}

// TestIdleWorkersStop: a worker that is told to stop does not wait for the answer to its poll, and gives its session back.
func TestIdleWorkersStop(t *testing.T) {
	for language, program := range workers {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			polling, release, returned := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
			var first sync.Once
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/v1/workers/register":
					fmt.Fprint(w, `{"session_id": "s1", "heartbeat_interval_ms": 20}`)
				case "/v1/workers/poll":
					first.Do(func() { close(polling) })
					<-release
					fmt.Fprint(w, `{"assignments": []}`)
				case "/v1/workers/deregister":
					returned <- struct{}{}
					fallthrough
				default:
					fmt.Fprint(w, `{}`)
				}
			}))
			defer h.Close()
			defer close(release)
			cmd := start(t, program, h.URL, "60")
			<-polling
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil { // the poll has no answer yet
				t.Error(err)
			}
			select {
			case <-returned:
			default:
				t.Error("the session was not given back")
			}
		})
	}
}
