package expr_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

// payloads are of the sizes that workflows pass on.
var payloads = []struct{ name, text string }{
	{"small", `{"id":"A1","total":42.5,"paid":false,"customer":{"name":"Ada","tags":["x","y"]}}`},
	{"order", strings.Join(strings.Fields(order), " ")},
	{"large", `{"lines":[` + strings.TrimSuffix(strings.Repeat(`{"sku":"s-1000","qty":5,"price":20.25,"text":"some words \u00e9\n"},`, 1000), ",") + `]}`},
}

func BenchmarkParse(b *testing.B) {
	for _, p := range payloads {
		text := []byte(p.text)
		b.Run(p.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := expr.Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(p.name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				var v any
				if err := json.Unmarshal(text, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, p := range payloads {
		v := must(expr.Parse([]byte(p.text)))
		b.Run(p.name, func(b *testing.B) {
			b.SetBytes(int64(len(p.text)))
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = expr.Append(buf[:0], v)
			}
		})
	}
}

func BenchmarkTemplate(b *testing.B) {
	input := must(expr.Parse([]byte(order)))
	for _, tc := range []struct{ name, text string }{
		{"paths", `{"id.$":"$.id","name.$":"$.customer.name","first.$":"$.lines[0]","plain":{"a":1,"b":[2,3]}}`},
		{"functions", `{"text.$":"States.Format('order {} of {}', $.id, $.customer.name)","n.$":"States.ArrayLength($.lines)"}`},
		{"filter", `{"big.$":"$.lines[?(@.qty > 1)].sku"}`},
	} {
		tmpl, problems := expr.ParseTemplate(must(expr.Parse([]byte(tc.text))))
		if problems != nil {
			b.Fatal(problems)
		}
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			sc := &expr.Scope{Input: input}
			for b.Loop() {
				if _, err := tmpl.Eval(sc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCondition(b *testing.B) {
	c, problems := expr.ParseCondition(must(expr.Parse([]byte(
		`{"And":[{"Variable":"$.total","NumericGreaterThan":10},{"Variable":"$.customer.name","StringMatches":"A*"}]}`))))
	if problems != nil {
		b.Fatal(problems)
	}
	sc := &expr.Scope{Input: must(expr.Parse([]byte(order)))}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Holds(sc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFlow(b *testing.B) {
	lang := must(expr.LanguageOf("JSONPath"))
	f, problems := lang.Flow(expr.Task, must(expr.Parse([]byte(
		`{"InputPath":"$.customer","Parameters":{"n.$":"$.name"},"ResultSelector":{"v.$":"$.value"},"ResultPath":"$.result"}`))).(*expr.Object))
	if problems != nil {
		b.Fatal(problems)
	}
	sc := &expr.Scope{Input: must(expr.Parse([]byte(order)))}
	result := object("value", expr.Number("1"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Enter(sc); err != nil {
			b.Fatal(err)
		}
		if _, err := f.Leave(sc, result); err != nil {
			b.Fatal(err)
		}
	}
}
