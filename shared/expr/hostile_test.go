package expr_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

// hostileTexts are templates that would make much of little: by what they repeat, or by functions that multiply. %s in the
// text is a path to something large.
func hostileTexts() map[string]string {
	repeat := func(field, expression string, n int) string {
		var b strings.Builder
		b.WriteString("{")
		for i := range n {
			fmt.Fprintf(&b, "%s%q:%q", strings.Repeat(",", min(i, 1)), fmt.Sprintf("%s%d.$", field, i), expression)
		}
		return b.String() + "}"
	}
	nest := "States.Array($.text, $.text)"
	for range 8 {
		nest = "States.Array(" + nest + ", " + nest + ", $.text)"
	}
	merge := "$.object"
	for range 8 {
		merge = "States.JsonMerge(" + merge + ", $.object, false)"
	}
	deep := strings.Repeat(`{"a":`, 400) + `{"x.$":"$.list"}` + strings.Repeat("}", 400)
	return map[string]string{
		"the input in a thousand fields":       repeat("f", "$", 1000),
		"a range in a thousand fields":         repeat("f", "States.ArrayRange(1, 1000, 1)", 1000),
		"every descendant in each field":       repeat("f", "$..*", 200),
		"arrays of arrays of a text":           fmt.Sprintf(`{"x.$":%q}`, nest),
		"an object merged with itself":         fmt.Sprintf(`{"x.$":%q}`, merge),
		"a format of many texts":               fmt.Sprintf(`{"x.$":%q}`, "States.Format('"+strings.Repeat("{}", 200)+"'"+strings.Repeat(", $.text", 200)+")"),
		"a split at every character":           repeat("f", "States.StringSplit($.text, 'abc')", 100),
		"a text that is escaped over and over": `{"x.$":"States.JsonToString(States.JsonToString(States.JsonToString(States.JsonToString(States.JsonToString(States.JsonToString(States.JsonToString(States.JsonToString($.quotes))))))))"}`,
		"a split by as many separators":        `{"x.$":"States.StringSplit($.text, $.text)"}`,
		"unique among many large":              fmt.Sprintf(`{"x.$":%q}`, "States.ArrayUnique(States.Array("+strings.TrimSuffix(strings.Repeat("$.list,", 1500), ",")+"))"),
		"contained in many large":              fmt.Sprintf(`{"x.$":%q}`, "States.ArrayContains(States.Array("+strings.TrimSuffix(strings.Repeat("$.list,", 1500), ",")+"), $)"),
		"unique among many":                    repeat("f", "States.ArrayUnique($.list)", 100),
		"contained in many":                    repeat("f", "States.ArrayContains($.list, $.list)", 100),
		"partitions of one":                    repeat("f", "States.ArrayPartition($.list, 1)", 200),
		"a parsed text in each field":          repeat("f", "States.StringToJson($.json)", 300),
		"a deep template with a large leaf":    deep,
		"filters in filters":                   repeat("f", "$.list[?(@.id in $.list[?(@.id in $.list[?(@.id > 1)])])]", 10),
	}
}

// TestHostileTemplatesEnd: whatever a template makes of an input of the largest size, it ends within the steps and the bytes of
// one evaluation, and what it takes of memory on the way is a small multiple of that.
func TestHostileTemplatesEnd(t *testing.T) {
	list := wide(6_000)
	members := make([]expr.Member, 3_000)
	for i := range members {
		members[i] = expr.Member{Name: fmt.Sprint("member ", i), Value: expr.NumberOf(int64(i))}
	}
	input := object("list", list, "text", strings.Repeat("abcdefgh", 15_000), "object", expr.NewObject(members...),
		"quotes", strings.Repeat(`"`, 10_000), "json", string(expr.Marshal(list)))
	const steps, bytes = 1_000_000, 256 << 10
	for name, text := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			value, err := expr.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			template, problems := expr.ParseTemplate(value)
			if len(problems) > 0 {
				t.Logf("refused when it is published: %v", problems[0])
				return
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v, err := template.Eval(&expr.Scope{Input: input, Limits: expr.Limits{Steps: steps, Bytes: bytes}})
			runtime.ReadMemStats(&after)
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 200<<20 {
				t.Errorf("it took %d bytes of memory", taken)
			}
			if err == nil {
				if n := len(expr.Marshal(v)); n > bytes {
					t.Errorf("it gave %d bytes", n)
				}
				return
			}
			if e, ok := errors.AsType[*expr.Error](err); !ok || e.Name != expr.StatesRuntime && e.Name != expr.StatesDataLimitExceeded && e.Name != "States.IntrinsicFailure" {
				t.Errorf("it failed with %v", err)
			}
		})
	}
}
