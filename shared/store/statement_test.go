package store_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// statementFiles reads every statement, without comments, by name.
func statementFiles(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("query/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no statements: %v", err)
	}
	out := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(f), ".sql")] = comment.ReplaceAllString(string(b), "")
	}
	return out
}

var (
	comment  = regexp.MustCompile(`(?m)--.*$`)
	argument = regexp.MustCompile(`@([a-z_]+)`)
	use      = regexp.MustCompile(`\bquery\("([a-z_]+)"\)`)
)

// arguments are the names of a statement's arguments, in the order in which they are numbered.
func arguments(sql string) []string {
	var out []string
	for _, m := range argument.FindAllStringSubmatch(sql, -1) {
		if !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	return out
}

// numbered is the statement as the driver sends it.
func numbered(t testing.TB, sql string) string {
	t.Helper()
	args := pgx.NamedArgs{}
	for _, a := range arguments(sql) {
		args[a] = nil
	}
	out, _, err := args.RewriteQuery(context.Background(), nil, sql, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn, err := w.pool.Acquire(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for name, sql := range statementFiles(t) {
		if _, err := conn.Conn().Prepare(ctx(t), name, numbered(t, sql)); err != nil {
			t.Errorf("%s.sql: %v", name, err)
		}
	}
}

// TestStatementsAreUsed: each file belongs to one variable of the package, and there is no SQL elsewhere.
func TestStatementsAreUsed(t *testing.T) {
	sources, _ := filepath.Glob("*.go")
	uses := map[string]int{}
	for _, f := range sources {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range use.FindAllStringSubmatch(string(b), -1) {
			uses[m[1]]++
		}
		if m := regexp.MustCompile("(?i)[\"`](select|insert|update|delete|with) ").FindString(string(b)); m != "" {
			t.Errorf("%s has SQL of its own: %s", f, m)
		}
	}
	for name := range statementFiles(t) {
		if uses[name] != 1 {
			t.Errorf("%s.sql is used %d times, want once", name, uses[name])
		}
	}
}

// TestStatementsAreCleanForAPooler: no statement depends on its session, or leaves something in it.
func TestStatementsAreCleanForAPooler(t *testing.T) {
	session := regexp.MustCompile(`(?i)\b(listen|unlisten|prepare|deallocate|declare|discard|temp|temporary|pg_(try_)?advisory_lock(_shared)?|currval|lastval)\b|\bset_config\([^)]*false|^\s*set\b`)
	for name, sql := range statementFiles(t) {
		if m := session.FindString(sql); m != "" {
			t.Errorf("%s.sql uses %q", name, m)
		}
		if len(sql) > 16_000 {
			t.Errorf("%s.sql has %d bytes: RDS Proxy pins statements above 16 KB", name, len(sql))
		}
		if strings.ToLower(sql) != sql && !regexp.MustCompile(`'[^']*[A-Z]+[^']*'`).MatchString(sql) {
			t.Errorf("%s.sql is not in lower case", name)
		}
	}
}

// preparing sees prepared statements.
type preparing struct {
	statements
	prepared []string
}

func (p *preparing) TracePrepareStart(ctx context.Context, _ *pgx.Conn, d pgx.TracePrepareStartData) context.Context {
	p.prepared = append(p.prepared, d.SQL)
	return ctx
}

func (p *preparing) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

// TestFunctionsPrepareNothing drives what functions do and sees no named statement.
func TestFunctionsPrepareNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := &preparing{}
	w.fn = w.open(store.Options{MaxConns: 1, Tracer: seen})
	s := w.session("w1")
	e := w.start("e", 0, offer("A", 1, 0))
	w.claim(s, "p", 1)
	w.report(complete(e, history.RowRef{Unit: "A", Attempt: 1}, s))
	if _, err := w.fn.Execution(ctx(t), namespace, "e"); err != nil {
		t.Fatal(err)
	}
	if len(seen.prepared) > 0 || len(seen.single) == 0 {
		t.Errorf("prepared %q, sent %d statements", seen.prepared, len(seen.single))
	}
	if err := w.fn.Listen(ctx(t), 1, func(store.Bell) {}); err == nil {
		t.Error("a function listens")
	}
}

// TestWritesAreChecked: a statement of a commit that changes rows raises unless it changed what was meant. COMMIT travels
// with it, so that nobody could look at a count in between.
func TestWritesAreChecked(t *testing.T) {
	unchecked := map[string]string{
		"debt":      "inserts only",
		"owed":      "what is there already was written by a report, which settle finds",
		"start":     "a start that loses its name is no failure; what follows joins the rows that were inserted",
		"offers":    "inserts only: the primary key refuses what is there already (I7)",
		"unblock":   "one that is blocked no more is what is wanted",
		"leftovers": "answers whatever is left; the rows' executions are locked",
	}
	inCommit := regexp.MustCompile(`\b([a-zA-Z]+)SQL\b`)
	source, err := os.ReadFile("commit.go")
	if err != nil {
		t.Fatal(err)
	}
	files := statementFiles(t)
	names := map[string]string{} // variable -> file
	for _, f := range []string{"commit.go", "debt.go", "start.go", "ownership.go", "runs.go", "settle.go"} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(\w+)SQL\s+= query\("([a-z_]+)"\)`).FindAllStringSubmatch(string(b), -1) {
			names[m[1]] = m[2]
		}
	}
	checked := 0
	for _, m := range inCommit.FindAllStringSubmatch(string(source), -1) {
		name, ok := names[m[1]]
		if !ok {
			t.Fatalf("commit.go sends %sSQL, which is of no file", m[1])
		}
		sql := files[name]
		if !regexp.MustCompile(`(?i)\b(insert into|update|delete from) orrery\.`).MatchString(sql) || unchecked[name] != "" {
			continue
		}
		checked++
		if !regexp.MustCompile(`orrery\.(expect|forbid|forbid_open_reports)\(`).MatchString(sql) {
			t.Errorf("%s.sql changes rows and raises nothing", name)
		}
	}
	if checked < 6 {
		t.Errorf("only %d statements were looked at", checked)
	}
}
