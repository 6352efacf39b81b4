package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/expr"
)

// read makes a value of a document's text. Repeated member names are reported
// and reading goes on; text that cannot be read at all gives false.
func read(text []byte, r *report) (expr.Value, bool) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if !utf8.Valid(text) {
		r.errorf(root, RuleSyntax, "The text is not valid UTF-8.")
		return nil, false
	}
	if start := bytes.TrimLeft(text, " \t\r\n"); len(start) > 0 && start[0] == '{' {
		return readJSON(text, r)
	}
	return readYAML(text, r)
}

func readJSON(text []byte, r *report) (expr.Value, bool) {
	v, err := expr.Parse(text)
	if err != nil {
		r.errorf(root, RuleSyntax, "The text begins with { and is therefore read as JSON: %v.", err)
		return nil, false
	}
	d := duplicates{decoder: json.NewDecoder(bytes.NewReader(text)), report: r}
	d.decoder.UseNumber()
	if err := d.value(root); err != nil {
		r.errorf(root, RuleSyntax, "The text is not valid JSON: %v.", err)
		return nil, false
	}
	return v, true
}

// duplicates looks for member names that stand twice in one object, which
// expr.Parse merges. Its text has been parsed, so nesting is bounded.
type duplicates struct {
	decoder *json.Decoder
	report  *report
}

func (d *duplicates) value(at *place) error {
	token, err := d.decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return d.object(at)
	case json.Delim('['):
		return d.array(at)
	}
	return nil
}

func (d *duplicates) object(at *place) error {
	seen := map[string]bool{}
	for d.decoder.More() {
		token, err := d.decoder.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return fmt.Errorf("%v where a member name is expected", token)
		}
		member := at.member(name)
		if seen[name] {
			d.report.errorf(member, RuleDuplicate, "The member %q stands twice in this object.", name)
		}
		seen[name] = true
		if err := d.value(member); err != nil {
			return err
		}
	}
	_, err := d.decoder.Token() // the closing brace
	return err
}

func (d *duplicates) array(at *place) error {
	for i := 0; d.decoder.More(); i++ {
		if err := d.value(at.index(i)); err != nil {
			return err
		}
	}
	_, err := d.decoder.Token() // the closing bracket
	return err
}

// deeperThan tells whether v nests deeper than max: a scalar is at depth 0, an
// array of scalars at depth 1.
func deeperThan(v expr.Value, max int) bool {
	switch v := v.(type) {
	case []expr.Value:
		for _, e := range v {
			if deeperThan(e, max-1) {
				return true
			}
		}
		return max < 1
	case *expr.Object:
		for _, e := range v.All() {
			if deeperThan(e, max-1) {
				return true
			}
		}
		return max < 1
	}
	return false
}
