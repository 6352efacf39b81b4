//go:build linux

package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// installed gives the emulator and the probe's binary. Both are made once for all tests.
var installed = sync.OnceValues(func() (*Emulator, error) { return InstallEmulator(context.Background(), "") })

var probeDir string // where TestMain has room for the probe

var probe = sync.OnceValues(func() (string, error) {
	built, err := build(context.Background(), probeDir, module+"/local/gateway/testdata/probe")
	return built["probe"], err
})

const childVariable = "GATEWAY_TEST_CHILD"

func TestMain(m *testing.M) {
	if bootstrap := os.Getenv(childVariable); bootstrap != "" {
		child(bootstrap)
	}
	var err error
	if probeDir, err = os.MkdirTemp("", "gateway-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(probeDir)
	os.Exit(code)
}

func emulatedProbe(t *testing.T, change func(*Function), limits Limits, log *slog.Logger) *Pool {
	t.Helper()
	emulator, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := probe()
	if err != nil {
		t.Fatal(err)
	}
	f := probeFunction(t)
	if change != nil {
		change(&f)
	}
	p, err := emulator.Pool(f, binary, map[string]string{"GIVEN": "1"}, limits, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

var quiet = slog.New(slog.DiscardHandler)

// pids gives the processes of a pool: the emulators, and their children.
func pids(t *testing.T, p *Pool) (emulators, functions []int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.live {
		pid := i.(*emulated).process.cmd.Process.Pid
		emulators = append(emulators, pid)
		functions = append(functions, childrenOf(pid)...)
	}
	return emulators, functions
}

func childrenOf(pid int) (children []int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, field := range strings.Fields(string(list)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				panic(err)
			}
			children = append(children, child)
		}
	}
	return children
}

// runs tells whether a process exists and has not ended; who has ended may still wait for its parent to ask.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])[0]
	return state != 'Z' && state != 'X'
}

func TestFormsEmulated(t *testing.T) {
	var log syncBuffer
	p := emulatedProbe(t, nil, Limits{Instances: 1}, log.logger())
	url := server(t, p, Options{}).URL
	testForms(t, url)
	if emulators, functions := pids(t, p); len(emulators) != 1 || len(functions) != 1 {
		t.Errorf("one call at a time ran in the emulators %v with %v", emulators, functions)
	}
	t.Run("environment", func(t *testing.T) {
		got := send(t, "GET", url+"/v1/x", "", nil).seen(t).Env
		got = slices.DeleteFunc(got, func(v string) bool { return strings.HasPrefix(v, "AWS_") || strings.HasPrefix(v, "_") })
		slices.Sort(got)
		want := []string{"BARE=yes", "DATABASE_URL=postgres://local", "GIVEN=1", "JOINED=a-dev-dev${X}", "LIMIT=010", "LOG_LEVEL=debug", "STAGE=dev-us-east-1"}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
	t.Run("log", func(t *testing.T) {
		await(t, "the function's line", func() bool {
			return strings.Contains(log.String(), `level=DEBUG msg="function log" function=probe line="the function saw /v1/executions"`)
		})
	})
}

// syncBuffer is a buffer that several goroutines write.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestEvents invokes the function with events as Lambda delivers them, and with direct ones.
func TestEvents(t *testing.T) {
	p := emulatedProbe(t, nil, Limits{Instances: 1}, quiet)
	for name, status := range map[string]int{
		"json_body": 202, "base64_body": 202, "missing_body": 202, "wrong_route": 202, "cookies": 202, "function_url": 202, "stage": 202,
		"format_1": 400, "scheduled": 400,
	} {
		event, err := os.ReadFile("../../shared/lambdahttp/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		result, err := p.Invoke(t.Context(), event)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := responseOf(result)
		if err != nil || resp.StatusCode != status {
			t.Errorf("%s: got %d, %v in %s", name, resp.StatusCode, err, result)
		}
	}
	if result, err := p.Invoke(t.Context(), []byte(`{"text":"hello"}`)); err != nil || string(result) != `"hello"` {
		t.Errorf("got %s, %v", result, err)
	}
	var failed *FunctionError
	if _, err := p.Invoke(t.Context(), []byte(`{"fail":"no luck"}`)); !errors.As(err, &failed) || failed.Message != "no luck" || failed.Type != "errorString" {
		t.Errorf("got %v", err)
	}
	if result, err := p.Invoke(t.Context(), []byte(`{"text":"again"}`)); err != nil || string(result) != `"again"` {
		t.Errorf("got %s, %v", result, err)
	}
	if emulators, _ := pids(t, p); len(emulators) != 1 {
		t.Errorf("there are emulators %v", emulators)
	}
}

// TestQueueEmulated runs two requests, has two wait, and refuses one. The emulators get one request at a time.
func TestQueueEmulated(t *testing.T) {
	p := emulatedProbe(t, nil, Limits{Instances: 2, Queue: 2, Wait: time.Minute}, quiet)
	url := server(t, p, Options{}).URL
	answers := make(chan answer, 4)
	for range 4 {
		go func() { answers <- send(t, "GET", url+"/v1/sleep?for=1s", "", nil) }()
	}
	await(t, "a full queue", func() bool { return len(p.slots) == 2 && p.queued.Load() == 2 })
	if a := send(t, "GET", url+"/v1/x", "", nil); a.status != 503 || a.header.Get("Retry-After") != "1" || a.body != `{"message":"Service Unavailable"}` {
		t.Errorf("got %d %v %s", a.status, a.header, a.body)
	}
	served := map[string]int{} // by process
	for range 4 {
		a := <-answers
		if a.status != 200 {
			t.Errorf("got %d %s", a.status, a.body)
		}
		served[a.body]++
	}
	if len(served) != 2 {
		t.Errorf("the requests were served by %v", served)
	}
}

// TestReplacement ends processes in every way and sends a request after each.
func TestReplacement(t *testing.T) {
	p := emulatedProbe(t, func(f *Function) { f.Timeout = time.Second }, Limits{Instances: 1}, quiet)
	url := server(t, p, Options{Log: quiet}).URL
	kill := func(pid int) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	tests := []struct {
		name   string
		do     func(emulator, function int)
		failed string // a request that fails by it, none for ""
	}{
		{"the function exits", func(int, int) {}, "/v1/exit"},
		{"the function takes too long", func(int, int) {}, "/v1/sleep?for=1h"},
		{"the function is killed", func(_, function int) { kill(function) }, "/v1/x"}, // the emulator finds out at the next request
		{"the emulator is killed", func(emulator, _ int) { kill(emulator) }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := send(t, "GET", url+"/v1/x", "", nil).seen(t).Pid
			emulators, functions := pids(t, p)
			if len(emulators) != 1 || len(functions) != 1 || functions[0] != before {
				t.Fatalf("the processes are %v and %v, %d served", emulators, functions, before)
			}
			test.do(emulators[0], functions[0])
			if test.failed != "" {
				if a := send(t, "GET", url+test.failed, "", nil); a.status != 500 || a.body != `{"message":"Internal Server Error"}` {
					t.Errorf("got %d %s", a.status, a.body)
				}
			}
			if after := send(t, "GET", url+"/v1/x", "", nil).seen(t).Pid; after == before {
				t.Errorf("process %d serves on", before)
			}
			await(t, "the end of the processes", func() bool { return !runs(emulators[0]) && !runs(before) })
		})
	}
}

// longSleep is an event whose call does not end by itself.
var longSleep = []byte(`{"version":"2.0","rawPath":"/v1/sleep","rawQueryString":"for=1h","requestContext":{"http":{"method":"GET"}}}`)

// TestCloseEmulated ends processes that serve and that are idle; none is left.
func TestCloseEmulated(t *testing.T) {
	var log syncBuffer
	p := emulatedProbe(t, nil, Limits{Instances: 3}, log.logger())
	idle := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := p.Invoke(context.Background(), []byte(`{"text":"x"}`))
			idle <- err
		}()
	}
	for range 3 {
		if err := <-idle; err != nil {
			t.Fatal(err)
		}
	}
	asleep := make(chan error)
	go func() {
		_, err := p.Invoke(context.Background(), longSleep)
		asleep <- err
	}()
	await(t, "the call", func() bool { return strings.Contains(log.String(), "the function sleeps") })
	emulators, functions := pids(t, p)
	if len(emulators) == 0 || len(emulators) != len(functions) {
		t.Fatalf("the processes are %v and %v", emulators, functions)
	}
	p.Close()
	if err := <-asleep; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	for _, pid := range slices.Concat(emulators, functions) {
		if runs(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

// TestParentKilled kills a process that has a pool with a call in it. Nothing can clean up after it but the kernel.
func TestParentKilled(t *testing.T) {
	if _, err := installed(); err != nil {
		t.Fatal(err)
	}
	bootstrap, err := probe()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), childVariable+"="+bootstrap)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pids [2]int
	_, err = fmt.Fscan(out, &pids[0], &pids[1])
	before := runs(pids[0]) && runs(pids[1])
	if err := errors.Join(err, parent.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	defer func() {
		for _, pid := range pids {
			if t.Failed() && pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}()
	if !before {
		t.Fatalf("the processes %v do not run", pids)
	}
	await(t, "the end of the processes", func() bool { return !runs(pids[0]) && !runs(pids[1]) })
}

// child is the process of TestParentKilled: it has a pool with a call, tells its processes, and waits to be killed.
func child(bootstrap string) {
	emulator, err := installed()
	if err != nil {
		panic(err)
	}
	var log syncBuffer
	f := Function{Name: "probe", Timeout: time.Hour, Memory: 128}
	p, err := emulator.Pool(f, bootstrap, nil, Limits{Instances: 1}, log.logger())
	if err != nil {
		panic(err)
	}
	go func() {
		_, err := p.Invoke(context.Background(), longSleep)
		panic(err)
	}()
	for !strings.Contains(log.String(), "the function sleeps") {
		time.Sleep(time.Millisecond)
	}
	p.mu.Lock()
	for i := range p.live {
		pid := i.(*emulated).process.cmd.Process.Pid
		fmt.Println(pid, childrenOf(pid)[0])
	}
	select {}
}

// TestPortTaken passes over ports that are taken.
func TestPortTaken(t *testing.T) {
	p := emulatedProbe(t, nil, Limits{Instances: 1}, quiet)
	address, err := nextAddress()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	before := lastPort.Add(^uint32(0))
	if result, err := p.Invoke(t.Context(), []byte(`{"text":"x"}`)); err != nil || string(result) != `"x"` {
		t.Errorf("got %s, %v", result, err)
	}
	if used := lastPort.Load() - before; used != 3 {
		t.Errorf("%d ports were tried, want the one that is taken and two", used)
	}
}

// TestBadPools refuses what cannot work before a call finds out.
func TestBadPools(t *testing.T) {
	f := Function{Name: "f", Unknown: []string{"A"}}
	if _, err := (&Emulator{}).Pool(f, "x", nil, Limits{Instances: 1}, quiet); err == nil || !strings.Contains(err.Error(), "no value is given for A") {
		t.Errorf("got %v", err)
	}
	if _, err := (&Emulator{}).Pool(f, "x", nil, Limits{}, quiet); err == nil || !strings.Contains(err.Error(), "not bounded") {
		t.Errorf("got %v", err)
	}
	p := emulatedProbe(t, nil, Limits{Instances: 1}, quiet)
	p.start = func() (instance, error) {
		emulator, _ := installed()
		return emulator.start(f, "/does/not/exist", nil, quiet)
	}
	if _, err := p.Invoke(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), "starting an instance") {
		t.Errorf("got %v", err)
	}
}

// TestBuild builds a function of the repository by its name, again over one that runs.
func TestBuild(t *testing.T) {
	if _, err := Build(t.Context(), t.TempDir(), "no-such-function"); err == nil || !strings.Contains(err.Error(), "functions/no-such-function") {
		t.Errorf("got %v", err)
	}
	p := emulatedProbe(t, nil, Limits{Instances: 1}, quiet)
	if _, err := p.Invoke(t.Context(), []byte(`{"text":"x"}`)); err != nil {
		t.Fatal(err)
	}
	built, err := build(t.Context(), probeDir, module+"/local/gateway/testdata/probe")
	if err != nil {
		t.Fatal(err)
	}
	if before, _ := probe(); built["probe"] != before {
		t.Errorf("built %v, not %s", built, before)
	}
}

// TestLineWriter cuts what is written into lines, however it comes.
func TestLineWriter(t *testing.T) {
	var log syncBuffer
	w := &lineWriter{log: log.logger(), function: "f"}
	for _, part := range []string{"one", " two\nthree\r\n\n", "four\nfi", strings.Repeat("x", maxLine)} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	}
	text := log.String()
	for _, want := range []string{`line="one two"`, "line=three\n", "line=four\n", "line=fixxx"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("the log has no %q: %.300s", want, text)
		}
	}
	if len(w.rest) != 2 || strings.Count(text, "line=") != 4 {
		t.Errorf("%d bytes are kept after %d lines", len(w.rest), strings.Count(text, "line="))
	}
}
