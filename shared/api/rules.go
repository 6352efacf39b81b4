package api

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/definition"
)

// rules are what one field of a request must keep, read from its check tag.
type rules struct {
	required       bool
	payload        bool
	hasMin, hasMax bool
	min, max       int64
	form           *form
	// fallback is what a field that is left out is taken as; empty for its zero value.
	fallback string
}

// form is what a text must look like.
type form struct {
	rule string
	says string
	ok   func(string) bool
}

var (
	nameForm  = &form{"name", "1 to 80 characters without white space, control characters and < > { } [ ] ? * \" # % \\ ^ | ~ ` $ & , ; : /", isName}
	aliasForm = &form{"alias", "a name that is no number: " + nameForm.says, func(s string) bool { return isName(s) && definition.CheckAlias(s) == nil }}
	labelForm = &form{"label", "1 to 128 characters without control characters", isLabel}
	idForm    = &form{"id", "1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'", isID}
	langForm  = &form{"language", "1 to 40 of a-z, 0-9, '+', '#', '.', '_' and '-'", isLanguage}
)

// isName refuses dot segments as well: in a path they would name another route.
func isName(s string) bool { return definition.CheckName(s) == nil && s != "." && s != ".." }

func isLabel(s string) bool {
	n := utf8.RuneCountInString(s)
	return n > 0 && n <= 128 && !strings.ContainsFunc(s, unicode.IsControl)
}

func isID(s string) bool {
	return len(s) > 0 && len(s) <= 64 && only(s, func(c byte) bool {
		return isLetter(c) || isDigit(c) || c == '.' || c == '_' || c == '-'
	})
}

func isLanguage(s string) bool {
	return len(s) > 0 && len(s) <= 40 && only(s, func(c byte) bool {
		return c >= 'a' && c <= 'z' || isDigit(c) || strings.IndexByte("+#._-", c) >= 0
	})
}

// isKey accepts what may name an idempotent request.
func isKey(s string) bool {
	return len(s) > 0 && len(s) <= 128 && only(s, func(c byte) bool { return c >= ' ' && c <= '~' })
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func only(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

func oneOf(words []string) *form {
	return &form{"one=" + strings.Join(words, " "), "one of " + strings.Join(words, ", "), func(s string) bool {
		for _, w := range words {
			if s == w {
				return true
			}
		}
		return false
	}}
}

// parseRules reads a check tag. The tags are constants of the program, so a wrong one panics.
func parseRules(tag string) rules {
	var r rules
	if tag == "" {
		return r
	}
	for word := range strings.SplitSeq(tag, ",") {
		key, arg, _ := strings.Cut(word, "=")
		switch key {
		case "required":
			r.required = true
		case "payload":
			r.payload = true
		case "min":
			r.min, r.hasMin = mustInt(arg), true
		case "max":
			r.max, r.hasMax = mustInt(arg), true
		case "name":
			r.form = nameForm
		case "alias":
			r.form = aliasForm
		case "label":
			r.form = labelForm
		case "id":
			r.form = idForm
		case "language":
			r.form = langForm
		case "one":
			r.form = oneOf(strings.Fields(arg))
		case "default":
			r.fallback = arg
		default:
			panic(fmt.Sprintf("api: unknown rule %q", word))
		}
	}
	return r
}

func mustInt(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic("api: " + err.Error())
	}
	return n
}

// plan is how one struct type is filled.
type plan struct {
	fields []field
	byName map[string]*field
}

type field struct {
	name  string
	index int
	raw   bool // takes any JSON, null too
	kind  reflect.Kind
	rules rules
}

var plans sync.Map // reflect.Type -> *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{byName: make(map[string]*field, t.NumField())}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p.fields = append(p.fields, field{
			name: name, index: i, raw: f.Type == rawType, kind: f.Type.Kind(), rules: parseRules(f.Tag.Get("check")),
		})
	}
	for i := range p.fields {
		p.byName[p.fields[i].name] = &p.fields[i]
	}
	actual, _ := plans.LoadOrStore(t, p)
	return actual.(*plan)
}
