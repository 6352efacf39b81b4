//go:build linux

package functions_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/local/gateway"
	"github.com/orrery-dev/orrery/shared/storetest"
	"github.com/orrery-dev/orrery/shared/wire"
)

var buildDir string // where TestMain has room for the node's binary

func TestMain(m *testing.M) {
	var err error
	if buildDir, err = os.MkdirTemp("", "orrery-node-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

var nodeBinary = sync.OnceValues(func() (string, error) {
	built, err := gateway.Build(context.Background(), buildDir, "node")
	return built["node"], err
})

// node is a process of the node's binary.
type node struct {
	t      *testing.T
	cmd    *exec.Cmd
	client wire.Client
	log    *bytes.Buffer
}

func nodeCommand(t *testing.T, args []string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	binary, err := nodeBinary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

func startNode(t *testing.T, url string) *node {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cmd, out := nodeCommand(t, []string{"--listen", address, "--node-id", "n1"}, "DATABASE_URL="+url)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := &node{t, cmd, wire.Client{Base: "http://" + address}, out}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
		if t.Failed() {
			t.Log(out.String())
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := n.client.Call(t.Context(), "GET", "/v1/ready", nil, nil, nil); err == nil {
			return n
		} else if time.Now().After(deadline) {
			t.Fatalf("the node is not ready: %v\n%s", err, out)
		}
	}
}

func (n *node) call(method, path string, body, answer any) int {
	n.t.Helper()
	status, err := n.client.Call(n.t.Context(), method, path, nil, body, answer)
	if err != nil {
		n.t.Fatalf("%s %s: %v", method, path, err)
	}
	return status
}

// TestNodeServesAndLeaves runs a workflow with a task and a signal through the binary, and stops it.
func TestNodeServesAndLeaves(t *testing.T) {
	n := startNode(t, storetest.URL(t))
	document := json.RawMessage(`{"StartAt":"Charge","States":{
		"Charge":{"Type":"Task","Resource":"task:charge","Next":"Packed"},
		"Packed":{"Type":"Task","Resource":"signal:packed","End":true}}}`)
	n.call("POST", "/v1/workflows", wire.PublishRequest{Name: "orders", Document: document}, nil)
	var session wire.RegisterResponse
	n.call("POST", "/v1/workers/register", wire.RegisterRequest{WorkerID: "w", Contracts: []wire.Contract{{Task: "charge", Version: 1}}}, &session)

	polled := make(chan wire.PollResponse)
	go func() {
		var p wire.PollResponse
		n.client.Call(t.Context(), "POST", "/v1/workers/poll", nil, wire.PollRequest{SessionID: session.SessionID, PollID: "p1", WaitMS: 20_000}, &p)
		polled <- p
	}()
	n.call("POST", "/v1/executions", wire.StartRequest{Workflow: "orders", Name: "o1"}, nil)
	p := <-polled
	if len(p.Assignments) != 1 || p.Assignments[0].Execution != "o1" {
		t.Fatalf("the waiting poll got %+v", p)
	}
	var r wire.ReportResponse
	n.call("POST", "/v1/tasks/complete", wire.CompleteRequest{Reports: []wire.Completion{{Token: p.Assignments[0].Token, Output: json.RawMessage(`{"paid":true}`)}}}, &r)
	if r.Results[0].Outcome != wire.ReportAccepted {
		t.Errorf("report %+v", r.Results)
	}
	var d wire.ExecutionDetail
	n.call("GET", "/v1/executions/o1", nil, &d)
	if d.Owner == nil || d.Owner.Node != "n1" || d.Epoch == 0 || len(d.Units) != 1 || d.Units[0].Kind != "signal" {
		t.Errorf("detail %+v", d)
	}
	var s wire.SignalResponse
	if status := n.call("POST", "/v1/executions/o1/signals/packed", wire.SignalRequest{Payload: json.RawMessage(`{"parcels":2}`)}, &s); status != 200 || !s.Confirmed || s.Event == 0 {
		t.Errorf("signal: %d %+v", status, s)
	}
	var result wire.Result
	if status := n.call("GET", "/v1/executions/o1/result?wait_ms=20000", nil, &result); status != 200 || string(result.Output) != `{"parcels":2}` {
		t.Errorf("result: %d %+v", status, result)
	}
	var h wire.Health
	n.call("GET", "/v1/health", nil, &h)
	if h.Role != wire.RoleNode || !h.Ready || h.Node == nil || h.Node.ID != "n1" || h.Node.Partitions != 256 || len(h.Nodes) != 1 {
		t.Errorf("health %+v", h)
	}
	address := strings.TrimPrefix(n.client.Base, "http://")
	check := func() error {
		cmd, _ := nodeCommand(t, []string{"check", "--listen", address}, "DATABASE_URL=unused")
		return cmd.Run()
	}
	if err := check(); err != nil {
		t.Errorf("the check of a node that is ready: %v", err)
	}
	n.checkMetrics(map[string]string{
		"orrery_node_ready": "1", "orrery_node_partitions": "256", "orrery_node_executions_started_total": "1",
		`orrery_node_executions_ended_total{status="SUCCEEDED"}`: "1",
		`orrery_node_partitions_moved_total{how="taken"}`:        "256", "orrery_net_units_without_row_total": "0",
		`orrery_http_requests_total{route="POST /v1/executions",status="2xx"}`: "1", "orrery_pool_connections_most": "8",
	})
	n.cmd.Process.Signal(syscall.SIGTERM)
	if err := n.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	var exit *exec.ExitError
	if err := check(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the check of a node that has left: %v", err)
	}
}

// TestMigrateAsJob: outside of Lambda the binary brings an empty database up to date once, and again to no effect.
func TestMigrateAsJob(t *testing.T) {
	built, err := gateway.Build(t.Context(), t.TempDir(), "migrate")
	if err != nil {
		t.Fatal(err)
	}
	url := storetest.EmptyURL(t)
	for range 2 {
		cmd := exec.Command(built["migrate"])
		cmd.Env = []string{"DATABASE_URL=" + url}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	startNode(t, url)
	cmd := exec.Command(built["migrate"])
	cmd.Env = []string{"DATABASE_URL=postgres://127.0.0.1:1/nothing"}
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("without a database: %v", err)
	}
}

// checkMetrics reads what a scraper gets.
func (n *node) checkMetrics(want map[string]string) {
	n.t.Helper()
	resp, err := http.Get(n.client.Base + "/metrics")
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	got := map[string]string{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if at := strings.LastIndex(lines.Text(), " "); at > 0 {
			got[lines.Text()[:at]] = lines.Text()[at+1:]
		}
	}
	for name, value := range want {
		if got[name] != value {
			n.t.Errorf("metric %s is %q, want %s", name, got[name], value)
		}
	}
}

// TestNodeRefusesToStart: what is wrong is told at once, and by the exit status.
func TestNodeRefusesToStart(t *testing.T) {
	tests := map[string]struct {
		args []string
		env  []string
		says string
		code int
	}{
		"beyond the loopback address": {[]string{"--listen", ":0"}, []string{"DATABASE_URL=postgres://nowhere/x"}, "without authentication", 1},
		"settings":                    {[]string{"--pool-size", "none"}, nil, "DATABASE_URL: must be set", 1},
		"help":                        {[]string{"--help"}, nil, "--session-timeout", 0},
	}
	for name, tt := range tests {
		cmd, out := nodeCommand(t, tt.args, tt.env...)
		err := cmd.Run()
		var exit *exec.ExitError
		code := 0
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != tt.code || !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s: exit %d, %s; want %d and %q", name, code, out, tt.code, tt.says)
		}
	}
}
