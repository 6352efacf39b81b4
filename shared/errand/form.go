package errand

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/worker"
)

// arrayFormats tell how the elements of a list are written in a form, by ArrayFormat: what the field of the i-th is called.
var arrayFormats = map[string]func(name string, i int) string{
	"":         indexed,
	"INDICES":  indexed,
	"REPEAT":   func(name string, _ int) string { return name },
	"BRACKETS": func(name string, _ int) string { return name + "[]" },
	"COMMAS":   nil, // one field
}

func indexed(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }

// formEncoded writes an object as a form. A member of an object inside is called outer[inner].
func formEncoded(o *expr.Object, format string) ([]byte, error) {
	elements, ok := arrayFormats[format]
	if !ok {
		return nil, worker.Finalf(codeRuntime, "The field 'ArrayFormat' must be one of INDICES, REPEAT, COMMAS, BRACKETS")
	}
	f := form{elements: elements}
	for name, v := range o.All() {
		f.add(name, v)
	}
	return []byte(strings.Join(f.pairs, "&")), nil
}

type form struct {
	elements func(name string, i int) string
	pairs    []string
}

func (f *form) add(name string, v expr.Value) {
	switch v := v.(type) {
	case *expr.Object:
		for inner, e := range v.All() {
			f.add(name+"["+inner+"]", e)
		}
	case []expr.Value:
		if f.elements == nil {
			f.field(name, joined(v))
			return
		}
		for i, e := range v {
			f.add(f.elements(name, i), e)
		}
	default:
		f.field(name, scalar(v))
	}
}

func (f *form) field(name, value string) {
	f.pairs = append(f.pairs, url.QueryEscape(name)+"="+url.QueryEscape(value))
}
