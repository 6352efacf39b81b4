package stack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/shared/pgserver"
	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// newServer starts a PostgreSQL of the test's own, to do harm to.
func newServer(t *testing.T) *pgserver.Server {
	t.Helper()
	server, err := pgserver.Start(t.Context(), pgserver.Options{Volatile: true, Settings: map[string]string{"max_connections": "300"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// troubled is a system whose first node reaches the database through a proxy.
type troubled struct {
	*system
	server *pgserver.Server
	proxy  *pgserver.Proxy
	full   []string // files that lead to a full device
	owner  *syscall.Stat_t
}

// troubles are what happens to databases, one after the other while executions come in.
var troubles = []struct {
	name string
	do   func(s *troubled)
}{
	{"the disk is full", (*troubled).emptyDisk}, // it is filled before anything is written
	{"the database is restarted", func(s *troubled) { s.restart(pgserver.Fast) }},
	{"the database crashes", func(s *troubled) { s.restart(pgserver.Immediate) }},
	{"connections are cut", func(s *troubled) {
		for range 3 {
			s.admin(endConnections)
			time.Sleep(200 * time.Millisecond)
		}
	}},
	{"the answers of a node's commits are lost", func(s *troubled) {
		for range 2 {
			s.proxy.Mute()
			time.Sleep(200 * time.Millisecond)
			s.proxy.Reset()
			s.proxy.Heal()
			time.Sleep(200 * time.Millisecond)
		}
	}},
	{"statements hang", func(s *troubled) {
		s.holding("lock table orrery.task, orrery.history in access exclusive mode", func() { time.Sleep(time.Second) })
	}},
	{"rows are locked by somebody else, in an order of his own", (*troubled).crossingLocks},
}

const endConnections = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'orrery-%'"

// TestDatabaseTrouble: whatever happens to the database, in the end all executions have succeeded, each with a whole history,
// and every task was done once, or again only where that is recorded; nobody had to do anything about it.
func TestDatabaseTrouble(t *testing.T) {
	t.Parallel()
	const each = 24
	x := &troubled{server: newServer(t)}
	var err error
	if x.proxy, err = pgserver.NewProxy(x.server.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.proxy.Close() })
	x.system = newSystem(t, Options{
		DatabaseURL: x.server.URL("postgres"), SessionTimeout: 5 * time.Second, Instances: 32,
		NodeDatabaseURL: func(node string) string {
			if node == "node-1" {
				return x.proxy.URL()
			}
			return ""
		},
	})
	x.publish("mix", MixDocument)
	l := newLedger()
	for id, url := range map[string]string{"of-node-1": x.Nodes[0].URL, "of-node-2": x.Nodes[1].URL, "of-functions": x.URL} {
		w := worker.New(x.workerConfig(id, url))
		l.handle(w, MixWork)
		x.work(w)
	}
	mix := x.mix(each * len(troubles))
	x.fillDisk()
	var signals sync.WaitGroup
	for i, trouble := range troubles {
		t.Log(trouble.name)
		batch := mix[i*each : (i+1)*each]
		var starts sync.WaitGroup
		starts.Go(func() { x.start(batch) })
		trouble.do(x)
		starts.Wait()
		for j := 1; j < each; j += 4 {
			signals.Go(func() { x.insist(batch[j], i*each+j) })
		}
	}
	signals.Wait()
	x.awaitEnd(time.Minute)
	l.check(x.system, x.checkMix(mix))
	if n := x.admin("select count(*) from orrery.blocked"); n != 0 {
		t.Errorf("%d executions are blocked", n)
	}
}

// insist sends a signal under a key until it is durable. That the execution has ended is what a repeat may find.
func (s *system) insist(x starting, payload int) {
	header := http.Header{wire.HeaderIdempotencyKey: {"go " + x.Name}}
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for {
		_, err := x.at.Call(ctx, "POST", wire.Path("executions", x.Name, "signals", "go"), header, wire.SignalRequest{Payload: fmt.Append(nil, payload)}, nil)
		if err == nil || errors.Is(err, &wire.Error{Code: wire.ExecutionFinished}) {
			return
		}
		if !wire.Temporary(err) || ctx.Err() != nil {
			s.t.Errorf("signal to %s: %v", x.Name, err)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// admin runs a statement on a connection of its own, and gives the number that it returns, if any.
func (s *troubled) admin(sql string) (n int64) {
	s.t.Helper()
	s.connected(func(conn *pgx.Conn) error {
		rows, err := conn.Query(s.t.Context(), sql)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if values, err := rows.Values(); err == nil && len(values) == 1 {
				n, _ = values[0].(int64)
			}
		}
		return rows.Err()
	})
	return n
}

func (s *troubled) connected(do func(*pgx.Conn) error) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.server.URL("postgres"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := do(conn); err != nil {
		s.t.Fatal(err)
	}
}

func (s *troubled) restart(mode pgserver.Mode) {
	s.t.Helper()
	time.Sleep(200 * time.Millisecond) // executions are on their way
	if err := s.server.Restart(s.t.Context(), mode); err != nil {
		s.t.Fatal(err)
	}
}

// holding does something while a transaction holds what the statement locks.
func (s *troubled) holding(sql string, do func()) {
	s.t.Helper()
	s.connected(func(conn *pgx.Conn) error {
		// The database ends sessions that idle in a transaction, this one too.
		if _, err := conn.Exec(s.t.Context(), "set idle_in_transaction_session_timeout = 0"); err != nil {
			return err
		}
		tx, err := conn.Begin(s.t.Context())
		if err != nil {
			return err
		}
		defer tx.Rollback(context.Background())
		if _, err := tx.Exec(s.t.Context(), sql); err != nil {
			return err
		}
		do()
		return nil
	})
}

// crossingLocks locks executions one by one from the newest to the oldest, against the order in which everybody else does,
// and is never the one that notices a deadlock.
func (s *troubled) crossingLocks() {
	s.t.Helper()
	s.connected(func(conn *pgx.Conn) error {
		if _, err := conn.Exec(s.t.Context(), "set deadlock_timeout = '1min'"); err != nil {
			return err
		}
		for range 5 {
			_, err := conn.Exec(s.t.Context(), `
				do $$
				declare
					x bigint;
				begin
					for x in select id from orrery.execution where status = 1 order by id desc limit 20 loop
						perform from orrery.execution where id = x for update;
						perform from orrery.task where execution = x for update;
						perform pg_sleep(0.01);
					end loop;
				end $$`)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// fillDisk has the files of tables that are still empty lead to a device that is always full. The server's account can do
// that, and root: one of them runs this.
func (s *troubled) fillDisk() {
	s.t.Helper()
	s.connected(func(conn *pgx.Conn) error {
		return conn.QueryRow(s.t.Context(), `
			select array(select current_setting('data_directory') || '/' || pg_relation_filepath(c.oid)
			             from pg_class c
			             where c.relnamespace = 'orrery'::regnamespace and c.relkind = 'r'
			               and (c.relname = 'inbox' or c.relname = to_char(now() at time zone 'utc', '"history_"YYYYMMDD')))`).Scan(&s.full)
	})
	if len(s.full) != 2 {
		s.t.Fatalf("the files are %v", s.full)
	}
	for _, file := range s.full {
		info, err := os.Stat(file)
		if err != nil || info.Size() != 0 {
			s.t.Fatalf("%s must be empty: %v, %v", file, info, err)
		}
		s.owner = info.Sys().(*syscall.Stat_t)
		s.replace(file, func() error { return os.Symlink("/dev/full", file) })
	}
	s.admin(endConnections) // they have the files open
}

// emptyDisk makes room again, once somebody has met the full disk.
func (s *troubled) emptyDisk() {
	s.t.Helper()
	s.awaitFull()
	for _, file := range s.full {
		s.replace(file, func() error {
			return errors.Join(os.WriteFile(file, nil, 0o600), os.Chown(file, int(s.owner.Uid), int(s.owner.Gid)))
		})
	}
	s.admin(endConnections)
}

func (s *troubled) replace(file string, with func() error) {
	s.t.Helper()
	if err := errors.Join(os.Remove(file), with()); err != nil {
		s.t.Fatal(err)
	}
}

// awaitFull waits until the server has told somebody that the disk is full. Nothing was written then.
func (s *troubled) awaitFull() {
	s.t.Helper()
	refused := func() bool {
		var e *wire.Error
		_, err := s.functions.Call(s.t.Context(), "POST", wire.Path("executions"), nil, wire.StartRequest{Workflow: "mix", Name: "too-much", Input: []byte("{}")}, nil)
		return errors.As(err, &e) && e.Code == wire.Unavailable && e.RetryAfter > 0
	}
	for late := time.Now().Add(20 * time.Second); !refused(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(late) {
			s.t.Fatal("no start is refused with a time to come again")
		}
	}
	if n := s.admin("select count(*) from orrery.execution"); n != 0 {
		s.t.Errorf("%d executions were started on a full disk", n)
	}
}

// TestPausedDatabase: after a pause of the database for twice the node timeout nobody is dead. Every partition has the owner
// and the epoch that it had.
func TestPausedDatabase(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	s := newSystem(t, Options{Nodes: 3, DatabaseURL: server.URL("postgres")})
	s.settled()
	s.publish("mix", MixDocument)
	before := s.held()
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * nodeTimeout)
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
	thawed := time.Now()
	for _, n := range s.Nodes {
		if err := n.WaitReady(t.Context()); err != nil {
			t.Error(err)
		}
	}
	w := worker.New(s.workerConfig("worker", s.URL))
	l := newLedger()
	l.handle(w, MixWork)
	s.work(w)
	mix := s.mix(8)
	s.start(mix)
	s.insist(mix[1], 1)
	s.insist(mix[5], 5)
	s.awaitEnd(time.Minute)
	time.Sleep(time.Until(thawed.Add(nodeTimeout + time.Second))) // by now somebody could be called dead
	if after := s.held(); !maps.Equal(before, after) {
		t.Errorf("partitions have moved: from %v to %v", before, after)
	}
	l.check(s, s.checkMix(mix))
}

// holder is who owns a partition, and since which change.
type holder struct{ fence, epoch int64 }

func (s *system) held() map[int64]holder {
	s.t.Helper()
	rows, err := s.db.Query(s.t.Context(), "select id, coalesce(fence, 0), epoch from orrery.partition")
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[int64]holder{}
	var id int64
	var h holder
	if _, err := pgx.ForEachRow(rows, []any{&id, &h.fence, &h.epoch}, func() error { out[id] = h; return nil }); err != nil {
		s.t.Fatal(err)
	}
	return out
}
