package shared_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ofOneLanguage are the names of package expr that only make sense in one query language.
var ofOneLanguage = []string{
	"ParsePath", "Path", "Root", "InputRoot", "ContextRoot", "VariableRoot", "ParseReferencePath", "ReferencePath", "ParseTemplate", "Template",
	"ParseCondition", "VariablesReserved", "ErrNotReference",
}

// choosers are the packages that turn the name of a query language into its evaluators.
var choosers = []string{"shared/definition", "shared/trial"}

// TestQueryLanguageSeam: outside of package expr nobody knows how an expression is written. Who holds an evaluator holds an
// interface; only who reads documents asks for one by its name; and no text of another package looks like a path or a template.
func TestQueryLanguageSeam(t *testing.T) {
	for _, s := range sources(t) {
		if s.pkg == "shared/expr" || strings.HasPrefix(s.pkg, "local/") {
			continue // the tools of local/ compare with what another service has recorded
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if fault := knowsLanguage(s.pkg, n); fault != "" {
				t.Errorf("%s/%s:%d: %s", s.pkg, s.name, s.set.Position(n.Pos()).Line, fault)
			}
			return true
		})
	}
}

// knowsLanguage tells what is wrong with a node; empty where nothing is.
func knowsLanguage(pkg string, n ast.Node) string {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		of, ok := n.X.(*ast.Ident)
		switch {
		case !ok || of.Name != "expr":
		case slices.Contains(ofOneLanguage, n.Sel.Name):
			return "expr." + n.Sel.Name + " belongs to one query language"
		case n.Sel.Name == "LanguageOf" && !slices.Contains(choosers, pkg):
			return "only who reads documents chooses a query language"
		}
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		switch {
		case n.Kind != token.STRING || err != nil:
		case strings.Contains(text, "JSONPath") || strings.Contains(text, "JSONata"):
			if !slices.Contains(choosers, pkg) {
				return "a query language by its name"
			}
		case strings.HasSuffix(text, ".$"), strings.HasPrefix(text, "$."), strings.HasPrefix(text, "$$"), strings.HasPrefix(text, "{%"):
			return "a text in the form of a query language: " + text
		}
	}
	return ""
}

// TestSeamIsSeen: the rule above finds what it is there for.
func TestSeamIsSeen(t *testing.T) {
	expr := ast.NewIdent("expr")
	for _, n := range []ast.Node{
		&ast.SelectorExpr{X: expr, Sel: ast.NewIdent("ParsePath")}, &ast.SelectorExpr{X: expr, Sel: ast.NewIdent("LanguageOf")},
		&ast.BasicLit{Kind: token.STRING, Value: `"JSONata"`}, &ast.BasicLit{Kind: token.STRING, Value: `"Parameters.$"`},
	} {
		if knowsLanguage("shared/decide", n) == "" {
			t.Errorf("%#v is not seen", n)
		}
	}
}
