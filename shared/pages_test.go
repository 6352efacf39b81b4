package shared_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/config"
	"github.com/orrery-dev/orrery/shared/wire"
)

var update = flag.Bool("update", false, "write the generated pages instead of comparing them")

// generated compares the generated part of a page of docs with what the code says, or writes it.
func generated(t *testing.T, file, part string) {
	t.Helper()
	const begin, end = "<!-- generated -->\n", "<!-- end -->\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no part between %s and %s", file, begin, end)
	}
	want := before + begin + part + end + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("%s is not what the code says; go test ./shared -run Page -update writes it", file)
	}
}

// TestSettingsPage: docs/settings.md has every setting of every program.
func TestSettingsPage(t *testing.T) { generated(t, "../docs/settings.md", config.Page()) }

// TestErrorsPage: docs/errors.md has every code, with what the code's own comment says of it.
func TestErrorsPage(t *testing.T) {
	says := commentsOfCodes(t)
	codes := wire.Codes()
	slices.SortStableFunc(codes, func(a, b wire.Code) int { return a.Status() - b.Status() })
	var b strings.Builder
	b.WriteString("| status | code | what it tells |\n|---|---|---|\n")
	for _, c := range codes {
		if says[c] == "" {
			t.Errorf("%s: its declaration says nothing of it", c)
		}
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", c.Status(), c, says[c])
	}
	generated(t, "../docs/errors.md", b.String())
}

// commentsOfCodes reads what the declarations of the codes say, behind or above them.
func commentsOfCodes(t *testing.T) map[wire.Code]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "wire/error.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	says := map[wire.Code]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		code, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		text := spec.Comment.Text()
		if text == "" {
			_, text, _ = strings.Cut(spec.Doc.Text(), ": ") // after its name
		}
		says[wire.Code(code)] = strings.Join(strings.Fields(text), " ")
		return true
	})
	return says
}
