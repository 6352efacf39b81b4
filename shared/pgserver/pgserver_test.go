package pgserver

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// start starts a server for one test.
func start(t *testing.T, options Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func query[T any](t *testing.T, conn *pgx.Conn, sql string) T {
	t.Helper()
	var value T
	if err := conn.QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// awaitGone waits until no process has the id.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d (%s) is still there", pid, commandLine(pid))
		}
	}
}

func TestServerKeepsDataAndAddressUntilClosed(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	conn := connect(t, s.URL("postgres"))
	execute(t, conn, "create table numbers as select generate_series(1, 10) as n")

	before := s.Pid()
	address := s.URL("postgres")
	for _, mode := range []Mode{Fast, Immediate, Smart} {
		conn.Close(t.Context())
		if err := s.Restart(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
		if s.Pid() == before {
			t.Errorf("mode %d: restart left the process %d running", mode, before)
		}
		if s.URL("postgres") != address {
			t.Errorf("mode %d: address changed from %s to %s", mode, address, s.URL("postgres"))
		}
		conn = connect(t, address)
		if sum := query[int](t, conn, "select sum(n) from numbers"); sum != 55 {
			t.Errorf("mode %d: sum = %d, want 55", mode, sum)
		}
	}

	pid := s.Pid()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Errorf("process %d is alive after Close", pid)
	}
	if _, err := os.Stat(s.folder.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder after Close: %v, want it gone", err)
	}
}

func TestStoppedServer(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	if err := s.Run(t.Context()); !errors.Is(err, ErrRunning) {
		t.Errorf("Run of a running server: %v, want ErrRunning", err)
	}
	if err := s.Stop(t.Context(), Fast); err != nil {
		t.Fatal(err)
	}
	if _, err := pgx.Connect(t.Context(), s.URL("postgres")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connecting to a stopped server: %v, want refused", err)
	}
	if pid := s.Pid(); pid != 0 {
		t.Errorf("Pid of a stopped server = %d, want 0", pid)
	}
	for name, err := range map[string]error{
		"Stop": s.Stop(t.Context(), Fast), "Freeze": s.Freeze(), "Thaw": s.Thaw(),
	} {
		if !errors.Is(err, ErrNotRunning) {
			t.Errorf("%s of a stopped server: %v, want ErrNotRunning", name, err)
		}
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	connect(t, s.URL("postgres"))
}

func TestSmartStopWaitsForSessions(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	conn := connect(t, s.URL("postgres"))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx, Smart); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Stop with a session open: %v, want the deadline", err)
	}
	if n := query[int](t, conn, "select 42"); n != 42 {
		t.Errorf("the open session answers %d, want 42", n)
	}
	conn.Close(t.Context())
	if err := s.Stop(t.Context(), Smart); err != nil && !errors.Is(err, ErrNotRunning) {
		t.Fatal(err)
	}
}

func TestKilledServerRunsAgain(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	conn := connect(t, s.URL("postgres"))
	execute(t, conn, "create table kept as select 1 as n")
	p := s.running()
	if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	conn.Close(t.Context())
	// The children of a killed server end by themselves; until they have,
	// PostgreSQL refuses to run on their data.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := s.Run(t.Context())
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if n := query[int](t, connect(t, s.URL("postgres")), "select n from kept"); n != 1 {
		t.Errorf("n = %d, want 1", n)
	}
}

func TestSettings(t *testing.T) {
	defaults := map[string]string{"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on",
		"listen_addresses": "127.0.0.1", "max_connections": "200", "TimeZone": "UTC"}
	tests := []struct {
		name    string
		options Options
		want    map[string]string // over the defaults
	}{
		{"durable unless asked otherwise", Options{}, nil},
		{"Volatile", Options{Volatile: true}, map[string]string{"fsync": "off", "full_page_writes": "off"}},
		{"the caller's word is the last", Options{Volatile: true, Settings: map[string]string{
			"fsync": "on", "max_connections": "30", "cluster_name": "it's ours",
		}}, map[string]string{"full_page_writes": "off", "max_connections": "30", "cluster_name": "it's ours"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, start(t, test.options).URL("postgres"))
			for name, want := range defaults {
				if over, ok := test.want[name]; ok {
					want = over
				}
				if got := query[string](t, conn, "show "+name); got != want {
					t.Errorf("%s = %s, want %s", name, got, want)
				}
			}
			for name, want := range test.want {
				if got := query[string](t, conn, "show "+name); got != want {
					t.Errorf("%s = %s, want %s", name, got, want)
				}
			}
		})
	}
}

func TestServerAsksForThePassword(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	address, err := url.Parse(s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword(superuser, "guess")
	_, err = pgx.Connect(t.Context(), address.String())
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "28P01" {
		t.Errorf("connecting with a wrong password: %v, want 28P01", err)
	}
}

func TestServerDoesNotRunAsRoot(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	info, err := os.Stat(filepath.Join(s.folder.data(), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	uid := info.Sys().(*syscall.Stat_t).Uid
	if uid == 0 || int(uid) != s.account.uid {
		t.Errorf("the server's files belong to user %d, want %d", uid, s.account.uid)
	}
}

func TestFrozenServerAnswersAfterThaw(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	conn := connect(t, s.URL("postgres"))
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() { answer <- conn.Ping(t.Context()) }()
	select {
	case err := <-answer:
		t.Errorf("a frozen server answered: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := s.Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Errorf("after Thaw: %v", err)
	}
}

func TestCloseEndsFrozenServer(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	conn := connect(t, s.URL("postgres"))
	pid, backend := s.Pid(), query[int](t, conn, "select pg_backend_pid()")
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, pid)
	awaitGone(t, backend)
}

func TestStartFailsWithTheServersWords(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Settings: map[string]string{"work_mem": "plenty"}})
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "work_mem"`) {
		t.Errorf("error = %v, want it to name work_mem", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

func TestTakenPortIsNotUsed(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	if err := s.Stop(t.Context(), Fast); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(s.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := s.Run(t.Context()); !errors.Is(err, errPortTaken) {
		t.Errorf("Run with the port taken: %v, want errPortTaken", err)
	}
	if err := s.firstRun(t.Context()); err != nil {
		t.Fatal(err)
	}
	connect(t, s.URL("postgres"))
}
