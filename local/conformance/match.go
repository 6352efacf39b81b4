package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/expr"
)

// matcher compares what was recorded with what we got. Values that differ from run to run are placeholders in the
// recording; a numbered one stands for the same text wherever it occurs in a case.
type matcher struct {
	bound map[string]string
	// given are the texts that placeholders stand for in the recorded input, where it holds some: ours is the one to use.
	given map[string]string
}

func newMatcher() *matcher { return &matcher{bound: map[string]string{}, given: map[string]string{}} }

// wildcards match anything where they are a whole value, and times match any time: times are not compared.
var (
	wildcards = []string{"date", "timestamp", "snf_role_arn", "lambda_function_name", "bucket-name", "map_run_arn"}
	times     = []string{"start-time", "entered-time"}
)

var (
	placeholder = regexp.MustCompile(`<[^<>]*>`)
	numbered    = regexp.MustCompile(`^<uuid:[0-9]+>$`)
)

// decoded gives the value of a text that is JSON, and the text itself where it is not.
func decoded(v expr.Value) expr.Value {
	text, ok := v.(string)
	if !ok {
		return v
	}
	inner, err := expr.Parse([]byte(text))
	if err != nil {
		return text
	}
	return inner
}

// value gives the first difference, empty where there is none; at names the place.
func (m *matcher) value(at string, want, got expr.Value) string {
	switch want := want.(type) {
	case string:
		text, ok := got.(string)
		if ok && (m.text(want, text) || slices.Contains(times, want) && isTime(text)) || slices.Contains(wildcards, want) {
			return ""
		}
	case *expr.Object:
		if got, ok := got.(*expr.Object); ok {
			return m.object(at, want, got)
		}
	case []expr.Value:
		if got, ok := got.([]expr.Value); ok && len(got) == len(want) {
			for i := range want {
				if diff := m.value(fmt.Sprintf("%s[%d]", at, i), want[i], got[i]); diff != "" {
					return diff
				}
			}
			return ""
		}
	default:
		if expr.Equal(want, got) {
			return ""
		}
	}
	return fmt.Sprintf("%s: recorded %s, got %s", at, expr.Marshal(want), expr.Marshal(got))
}

func (m *matcher) object(at string, want, got *expr.Object) string {
	for name, w := range want.All() {
		g, ok := got.Get(name)
		if !ok {
			return fmt.Sprintf("%s.%s: recorded %s, got nothing", at, name, expr.Marshal(w))
		}
		if diff := m.value(at+"."+name, w, g); diff != "" {
			return diff
		}
	}
	for name, g := range got.All() {
		if _, ok := want.Get(name); !ok {
			return fmt.Sprintf("%s.%s: recorded nothing, got %s", at, name, expr.Marshal(g))
		}
	}
	return ""
}

// text compares a string in which placeholders may stand. One that holds JSON on both sides is compared as a value.
func (m *matcher) text(want, got string) bool {
	want, got = trimFunction(want, got)
	if want == got {
		return true
	}
	if !placeholder.MatchString(want) {
		return false
	}
	if w, g := decoded(want), decoded(got); !isText(w) && !isText(g) {
		return m.value("", w, g) == ""
	}
	var pattern strings.Builder
	pattern.WriteString(`(?s)^`)
	from := 0
	var names []string
	for _, at := range placeholder.FindAllStringIndex(want, -1) {
		name := want[at[0]:at[1]]
		pattern.WriteString(regexp.QuoteMeta(want[from:at[0]]))
		pattern.WriteString(`([^/:]+`)
		if text, ok := m.given[name]; ok {
			pattern.WriteString("|" + regexp.QuoteMeta(text))
		}
		pattern.WriteString(")")
		names = append(names, name)
		from = at[1]
	}
	pattern.WriteString(regexp.QuoteMeta(want[from:]) + `$`)
	found := regexp.MustCompile(pattern.String()).FindStringSubmatch(got)
	return found != nil && m.bind(names, found[1:])
}

// learn finds what the placeholders of the recorded input stand for in ours.
func (m *matcher) learn(history []recordedEvent, input []byte) {
	ours, err := expr.Parse(input)
	if err != nil || len(history) == 0 {
		return
	}
	recorded, _ := history[0].details.Get("input")
	m.learnFrom(decoded(recorded), ours)
}

func (m *matcher) learnFrom(want, got expr.Value) {
	switch want := want.(type) {
	case string:
		text, ok := got.(string)
		if ok && placeholder.FindString(want) == want && want != "" {
			m.given[want] = text
		}
	case []expr.Value:
		got, _ := got.([]expr.Value)
		for i := range min(len(want), len(got)) {
			m.learnFrom(want[i], got[i])
		}
	case *expr.Object:
		got, _ := got.(*expr.Object)
		for name, w := range want.All() {
			g, _ := got.Get(name)
			m.learnFrom(w, g)
		}
	}
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// bind holds numbered placeholders to one text each.
func (m *matcher) bind(names, texts []string) bool {
	for i, name := range names {
		if !numbered.MatchString(name) {
			continue
		}
		if old, ok := m.bound[name]; ok && old != texts[i] {
			return false
		}
		m.bound[name] = texts[i]
	}
	return true
}

// trimFunction takes off the name of a function that the recording blanked at the end of an ARN.
func trimFunction(want, got string) (string, string) {
	const blanked = "lambda_function_1_name"
	head, ok := strings.CutSuffix(want, blanked)
	if !ok {
		return want, got
	}
	if i := strings.LastIndexAny(got, ":"); i >= 0 {
		return head, got[:i+1]
	}
	return want, got
}

func isText(v expr.Value) bool {
	_, ok := v.(string)
	return ok
}
