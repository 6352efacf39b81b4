package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// querier is a connection or a pool.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func query[T any](t *testing.T, db querier, sql string, args ...any) T {
	t.Helper()
	var value T
	if err := db.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

const countTables = "select count(*) from pg_tables where schemaname = 'orrery'"

func TestDatabasesAreIsolated(t *testing.T) {
	a, b := Database(t), Database(t)
	if _, err := a.Exec(t.Context(), "create table only_here as select 1 as n"); err != nil {
		t.Fatal(err)
	}
	const count = "select count(*) from pg_tables where tablename = 'only_here'"
	if n := query[int](t, a, count); n != 1 {
		t.Errorf("the table's own database has it %d times, want 1", n)
	}
	if n := query[int](t, b, count); n != 0 {
		t.Errorf("the other database has it %d times, want 0", n)
	}
}

func TestDatabaseHasTheSchema(t *testing.T) {
	if n := query[int](t, Database(t), countTables); n == 0 {
		t.Error("a migrated database has no tables")
	}
	if n := query[int](t, connect(t, EmptyURL(t)), countTables); n != 0 {
		t.Errorf("an empty database has %d tables, want 0", n)
	}
}

func TestDatabaseHasTheSettingsOfItsRole(t *testing.T) {
	const timeout = "select current_setting('idle_in_transaction_session_timeout')"
	if got := query[string](t, Database(t), timeout); got == "0" {
		t.Error("a copy lacks the time limits that the migrations set")
	}
}

func TestDatabasesAreMadeConcurrently(t *testing.T) {
	const tests = 16
	var (
		mu    sync.Mutex
		names = map[string]bool{}
	)
	t.Run("each", func(t *testing.T) {
		for i := range tests {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				pool := Database(t)
				name := query[string](t, pool, "select current_database()")
				tables := query[int](t, pool, countTables)
				mu.Lock()
				defer mu.Unlock()
				names[name] = true
				if tables == 0 {
					t.Errorf("%s has no tables", name)
				}
			})
		}
	})
	if len(names) != tests {
		t.Errorf("%d tests had %d databases", tests, len(names))
	}
}

func TestDatabaseGoesWithItsTest(t *testing.T) {
	var name string
	t.Run("inner", func(t *testing.T) {
		// A connection that the test forgets must not keep the database.
		conn, err := pgx.Connect(t.Context(), URL(t))
		if err != nil {
			t.Fatal(err)
		}
		name = query[string](t, conn, "select current_database()")
	})
	admin, err := connectAdmin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	if n := query[int](t, admin, "select count(*) from pg_database where datname = $1", name); n != 0 {
		t.Errorf("%s is still there after its test", name)
	}
}

func TestPoolsLetTransactionsWaitForEachOther(t *testing.T) {
	pool := Database(t)
	conns := make([]*pgxpool.Conn, maxConns)
	for i := range conns {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = conn
	}
	for _, conn := range conns {
		conn.Release()
	}
	if n := pool.Stat().TotalConns(); n != maxConns {
		t.Errorf("the pool opened %d connections, want %d", n, maxConns)
	}
}

func TestTemplateNameChangesWithTheMigrations(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	schemas := []fstest.MapFS{
		{},
		{"1.sql": file("ab")},
		{"2.sql": file("ab")},
		{"1.sql": file("abc")},
		{"1.sql": file("a"), "2.sql": file("b")},
		{"1.sql": file("a2.sql 1\nb")},
	}
	names := map[string]int{}
	for i, schema := range schemas {
		name, err := templateName(schema)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := names[name]; taken {
			t.Errorf("schemas %d and %d have the same template %s", i, other, name)
		}
		names[name] = i
	}
}

func TestHalfMadeTemplateIsMadeAnew(t *testing.T) {
	const name = "orrery_template_half_made"
	admin, err := connectAdmin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	if err := administer("create database " + name + "_draft"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := administer("drop database " + name); err != nil {
			t.Error(err)
		}
	})
	for range 2 { // the second time there is nothing to do
		if err := ensureTemplate(t.Context(), admin, name); err != nil {
			t.Fatal(err)
		}
	}
	if n := query[int](t, connect(t, newDatabase(t, name)), countTables); n == 0 {
		t.Error("the template has no tables")
	}
}
