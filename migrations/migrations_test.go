package migrations_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/migrations"
	"github.com/orrery-dev/orrery/shared/storetest"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func TestApplyTwiceAndAtOnce(t *testing.T) {
	url := storetest.EmptyURL(t)
	var wait sync.WaitGroup
	for range 4 {
		conn := connect(t, url)
		wait.Go(func() {
			if err := migrations.ApplyWithPartitions(t.Context(), conn, 7); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	conn := connect(t, url)
	if err := migrations.Apply(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{
		"select count(*) from orrery.partition":                                                                                  7,
		"select count(*) from orrery.cluster":                                                                                    1,
		"select count(*) from orrery.namespace":                                                                                  1,
		"select count(*) from pg_inherits where inhparent = 'orrery.history'::regclass":                                          6, // today, four days ahead, infinity
		"select count(*) from pg_inherits where inhparent = 'orrery.snapshot'::regclass":                                         6,
		"select count(*) from pg_db_role_setting s join pg_database d on d.oid = setdatabase where datname = current_database()": 1,
	} {
		var got int
		if err := conn.QueryRow(t.Context(), query).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: got %d, want %d", query, got, want)
		}
	}
}

func TestApplyRefusesChangedFile(t *testing.T) {
	conn := connect(t, storetest.URL(t))
	if _, err := conn.Exec(t.Context(), "update orrery.migration set checksum = 'other' where number = 2"); err != nil {
		t.Fatal(err)
	}
	err := migrations.Apply(t.Context(), conn)
	if err == nil || !strings.Contains(err.Error(), "0002_workflow.sql") || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("got %v, want an error that names the changed file", err)
	}
}

func TestApplyRefusesPartitions(t *testing.T) {
	for _, n := range []int{0, -1, 4097} {
		if err := migrations.ApplyWithPartitions(t.Context(), nil, n); err == nil {
			t.Errorf("%d partitions are accepted", n)
		}
	}
}

// TestSchemaFile compares the page to read with what the migrations make, as pg_dump shows both.
func TestSchemaFile(t *testing.T) {
	page, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	url := storetest.EmptyURL(t)
	if err := connect(t, url).PgConn().Exec(t.Context(), string(page)).Close(); err != nil {
		t.Fatalf("schema.sql: %v", err)
	}
	want, got := dump(t, storetest.URL(t)), dump(t, url)
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			t.Fatalf("schema.sql ends before %q", want[i])
		case i >= len(want) || got[i] != want[i]:
			t.Fatalf("schema.sql makes %q where the migrations make %q", got[i], append(want, "nothing")[i])
		}
	}
}

// dump lists the statements that make a schema, without what grows day by day and the record of migrations.
func dump(t *testing.T, url string) []string {
	t.Helper()
	program, err := exec.LookPath("pg_dump")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
		if len(found) == 0 {
			t.Fatal("pg_dump is not installed; it is part of PostgreSQL's client package")
		}
		program = found[len(found)-1]
	}
	out, err := exec.Command(program, "--schema-only", "--no-owner", "--no-privileges", "--schema=orrery",
		"--exclude-table=orrery.migration", "--exclude-table=orrery.*_[0-9]*", "--dbname="+url).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	var statements []string
	for _, s := range strings.Split(string(out), "\n\n") {
		lines := strings.Split(s, "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "--") || strings.HasPrefix(l, "\\") })
		if s = strings.TrimSpace(strings.Join(lines, "\n")); s != "" {
			statements = append(statements, s)
		}
	}
	return statements
}
