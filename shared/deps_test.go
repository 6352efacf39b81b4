// Package shared_test holds the rules between the packages as tests: who may import whom, and what the pure core may not do.
package shared_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/orrery-dev/orrery/"

// A rule lists what a package's code (tests apart) may import besides the standard library: packages of ours by their
// path below the module, others by the start of their path.
type rule struct {
	reason string
	may    []string
}

const (
	pgx    = "github.com/jackc/pgx/v5"
	uuid   = "github.com/google/uuid"
	yaml   = "github.com/goccy/go-yaml"
	schema = "github.com/santhosh-tekuri/jsonschema/v6"
	lambda = "github.com/aws/aws-lambda-go"
	sync   = "golang.org/x/sync"
	aws    = "github.com/aws/aws-sdk-go-v2"
	smithy = "github.com/aws/smithy-go"
	prom   = "github.com/prometheus/client_golang"
	otel   = "go.opentelemetry.io/otel"
)

// rules is the import table. A package that is missing here fails the test: say first what it may lean on.
var rules = map[string]rule{
	"shared/expr":       {"pure, and the innermost", nil},
	"shared/history":    {"pure: the words that everybody else speaks", nil},
	"shared/schedule":   {"pure: the calendar", nil},
	"shared/definition": {"pure: documents to machines", []string{"shared/expr", "shared/history", yaml, schema}},
	"shared/decide":     {"pure: a decision depends on its arguments only (I4)", []string{"shared/definition", "shared/expr", "shared/history"}},
	"shared/trial":      {"pure: documents tried without a database", []string{"shared/decide", "shared/definition", "shared/expr", "shared/history"}},
	"shared/wire":       {"what clients import: nothing but the standard library", nil},
	"shared/worker":     {"a library for users: the wire types and nothing else of ours", []string{"shared/wire", uuid}},
	"migrations":        {"the schema", []string{pgx}},
	"shared/store":      {"SQL only; it decides nothing", []string{"migrations", "shared/history", "shared/schedule", "shared/telemetry", pgx, uuid, sync}},
	"shared/cron": {"schedules, one tick; what they start is made by others",
		[]string{"shared/auth", "shared/definition", "shared/history", "shared/schedule", "shared/store", "shared/telemetry", "shared/wire"}},
	"shared/frontend": {"a process that owns nothing; it knows no HTTP",
		[]string{"shared/auth", "shared/cron", "shared/decide", "shared/definition", "shared/expr", "shared/history", "shared/schedule", "shared/store", "shared/telemetry", "shared/wire", uuid, sync}},
	"shared/node": {"a process that owns partitions; it knows no HTTP",
		[]string{"shared/auth", "shared/decide", "shared/definition", "shared/expr", "shared/history", "shared/store", "shared/frontend", "shared/telemetry", "shared/wire", uuid, sync}},
	"shared/api": {"routes over interfaces that it declares",
		[]string{"shared/definition", "shared/expr", "shared/history", "shared/auth", "shared/telemetry", "shared/wire", uuid, sync}},
	"shared/builtin":    {"calls to the outside; it knows nothing of ours", []string{aws, smithy}},
	"shared/errand":     {"the worker inside of the server", []string{aws, "shared/auth", "shared/builtin", "shared/expr", "shared/telemetry", "shared/wire", "shared/worker"}},
	"shared/auth":       {"who may do what", []string{"shared/wire"}},
	"shared/config":     {"settings, read once at the edge", nil},
	"shared/telemetry":  {"logs, metrics, spans and profiles", []string{prom, otel}},
	"shared/lambdahttp": {"http.Handler to Lambda and back", []string{lambda}},
	"shared/pgserver":   {"tests and local tools only", []string{pgx}},
	"shared/storetest":  {"tests only", []string{"migrations", "shared/pgserver", pgx}},
	"shared/sim/memory": {"tests only: the store's rules, without PostgreSQL", []string{"shared/frontend", "shared/history", "shared/store"}},
	"shared/sim": {"tests only: nodes and functions over the store in memory, in a bubble of time",
		[]string{"shared/auth", "shared/definition", "shared/frontend", "shared/history", "shared/node", "shared/sim/memory", "shared/store", "shared/telemetry", "shared/trial", "shared/wire", "github.com/anishathalye/porcupine"}},
}

// forbiddenCalls are what the pure packages may not reach: clocks and random sources are handed in.
var forbiddenCalls = map[string][]string{
	"time":         {"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Sleep", "Tick"},
	"math/rand":    {"*"},
	"math/rand/v2": {"Int", "IntN", "Int64", "Int64N", "Uint64", "Float64", "Perm", "Shuffle", "N", "Uint32"},
	"os":           {"*"},
	"net":          {"*"},
	"net/http":     {"*"},
	"crypto/rand":  {"*"},
}

var pure = []string{"shared/expr", "shared/history", "shared/schedule", "shared/definition", "shared/decide", "shared/trial"}

type source struct {
	pkg  string // path below the module
	name string
	file *ast.File
	set  *token.FileSet
}

// sources parses every non-test Go file of the module, mains of functions/ and local/ included.
func sources(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var out []source
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") && path != root {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		out = append(out, source{filepath.ToSlash(rel), filepath.Base(path), file, set})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("no sources found")
	}
	return out
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		main := strings.HasPrefix(s.pkg, "functions/") || strings.HasPrefix(s.pkg, "local/")
		r, known := rules[s.pkg]
		if !known && !main {
			t.Errorf("%s/%s: the package has no rule in the import table", s.pkg, s.name)
			continue
		}
		for _, spec := range s.file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
				continue // standard library
			}
			ours, isOurs := strings.CutPrefix(path, module)
			if isOurs && strings.HasPrefix(ours, "functions/") {
				t.Errorf("%s/%s imports %s: nobody imports a main", s.pkg, s.name, ours)
			}
			if main {
				continue
			}
			name := path
			if isOurs {
				name = ours
			}
			if !slices.ContainsFunc(r.may, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") }) {
				t.Errorf("%s/%s imports %s; the package is %s", s.pkg, s.name, name, r.reason)
			}
		}
	}
}

// TestPurity keeps clocks, chance, goroutines and the machine out of the pure core (I4).
func TestPurity(t *testing.T) {
	for _, s := range sources(t) {
		if !slices.Contains(pure, s.pkg) {
			continue
		}
		names := map[string]string{} // name in the file -> import path
		for _, spec := range s.file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			name := path[strings.LastIndex(path, "/")+1:]
			if name == "v2" {
				name = "rand"
			}
			if spec.Name != nil {
				name = spec.Name.Name
			}
			names[name] = path
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a goroutine in a pure package", s.set.Position(n.Pos()))
			case *ast.SelectorExpr:
				id, ok := n.X.(*ast.Ident)
				if !ok {
					break
				}
				for _, f := range forbiddenCalls[names[id.Name]] {
					if f == "*" || f == n.Sel.Name {
						t.Errorf("%s: %s.%s in a pure package", s.set.Position(n.Pos()), id.Name, n.Sel.Name)
					}
				}
			}
			return true
		})
	}
}

// TestDatabaseClock keeps the process's wall clock out of the store (I9): times that are compared come from the database.
func TestDatabaseClock(t *testing.T) {
	for _, s := range sources(t) {
		if s.pkg != "shared/store" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if id, ok := sel.X.(*ast.Ident); ok && id.Name == "time" && sel.Sel.Name == "Now" {
					t.Errorf("%s: time.Now in the store", s.set.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// TestLayout keeps the top level to the folders that the README explains.
func TestLayout(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"functions", "shared", "infra", "migrations", "local", "docs"}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(known, e.Name()) {
			t.Errorf("unknown folder %s at the top level", e.Name())
		}
	}
}

// TestDependenciesAreExplained: docs/dependencies.md names every module of go.mod with its version, or the version's date
// where the module has no releases, and no module that is gone.
func TestDependenciesAreExplained(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{}
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(strings.TrimPrefix(line, "\t"))
		if !strings.HasPrefix(line, "\t") || len(fields) < 2 {
			continue
		}
		module, version := fields[0], fields[1]
		if parts := strings.Split(version, "-"); len(parts) == 3 { // v0.0.0-20240606120523-5a60cdf6a761
			version = parts[1][:4] + "-" + parts[1][4:6] + "-" + parts[1][6:8]
		}
		required[module] = true
		row := tableRow(string(page), module)
		if row == "" {
			t.Errorf("docs/dependencies.md has no line for %s", module)
		} else if !strings.Contains(row, version) {
			t.Errorf("docs/dependencies.md does not name %s of %s: %s", version, module, row)
		}
	}
	if len(required) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 2 || !strings.Contains(cells[1], "`") {
			continue
		}
		for i, word := range strings.Split(cells[1], "`") {
			if i%2 == 1 && !required[word] {
				t.Errorf("docs/dependencies.md explains %s, which go.mod does not require", word)
			}
		}
	}
}

// tableRow is the line of a table that has name as code in its first cell.
func tableRow(page, name string) string {
	for line := range strings.Lines(page) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.Contains(cells[1], "`"+name+"`") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
