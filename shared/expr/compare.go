package expr

import (
	"strings"
	"time"
)

// comparisonOperator is an operator of a Choice rule.
type comparisonOperator struct {
	wanted  string           // what it compares with, in words
	accepts func(Value) bool // whether a value is that
	hasPath bool             // whether it has a form that takes a path
	holds   func(v, other Value) bool
}

// isPresent looks at whether the variable is there and not at its value.
var isPresent = &comparisonOperator{wanted: "true or false", accepts: isBoolean}

// comparisonOperators are all operators without the suffix "Path".
var comparisonOperators = makeComparisonOperators()

func makeComparisonOperators() map[string]*comparisonOperator {
	ops := map[string]*comparisonOperator{
		"BooleanEquals": {"true or false", isBoolean, true, func(v, other Value) bool { return v == other }},
		"StringMatches": {"a string", isString, false, stringMatches},
		"IsPresent":     isPresent,
		"IsNull":        typeTest(func(v Value) bool { return v == nil }),
		"IsNumeric":     typeTest(isNumber),
		"IsString":      typeTest(isString),
		"IsBoolean":     typeTest(isBoolean),
		"IsTimestamp":   typeTest(isTimestamp),
	}
	orders := map[string]func(int) bool{
		"Equals":            func(c int) bool { return c == 0 },
		"LessThan":          func(c int) bool { return c < 0 },
		"GreaterThan":       func(c int) bool { return c > 0 },
		"LessThanEquals":    func(c int) bool { return c <= 0 },
		"GreaterThanEquals": func(c int) bool { return c >= 0 },
	}
	for name, fits := range orders {
		ops["String"+name] = &comparisonOperator{"a string", isString, true, func(v, other Value) bool {
			s, ok := v.(string)
			return ok && fits(strings.Compare(s, other.(string)))
		}}
		ops["Numeric"+name] = &comparisonOperator{"a number", isNumber, true, func(v, other Value) bool {
			n, ok := v.(Number)
			return ok && fits(n.Compare(other.(Number)))
		}}
		ops["Timestamp"+name] = &comparisonOperator{"an RFC 3339 timestamp", isTimestamp, true, func(v, other Value) bool {
			a, ok := timestampOf(v)
			b, _ := timestampOf(other)
			return ok && fits(a.Compare(b))
		}}
	}
	return ops
}

// typeTest is an operator that asks for a type, or for its absence.
func typeTest(is func(Value) bool) *comparisonOperator {
	return &comparisonOperator{"true or false", isBoolean, false, func(v, other Value) bool { return is(v) == other }}
}

func isBoolean(v Value) bool {
	_, ok := v.(bool)
	return ok
}

func isString(v Value) bool {
	_, ok := v.(string)
	return ok
}

func isNumber(v Value) bool {
	_, ok := v.(Number)
	return ok
}

func isTimestamp(v Value) bool {
	_, ok := timestampOf(v)
	return ok
}

func timestampOf(v Value) (time.Time, bool) {
	s, ok := v.(string)
	if !ok {
		return time.Time{}, false
	}
	return ParseTimestamp(s)
}

// ParseTimestamp reads a timestamp as the language has it: RFC 3339 with an
// upper-case T, and an upper-case Z or an offset. Fractions of a second may
// have any number of digits; those after the ninth are dropped.
func ParseTimestamp(s string) (time.Time, bool) {
	const shortest = "2006-01-02T15:04:05"
	if len(s) <= len(shortest) || s[len("2006-01-02")] != 'T' || strings.ContainsAny(s, "tz,") {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || strings.Contains(s[len(shortest):], "24:") {
		return time.Time{}, false // RFC 3339 has offsets of less than a day
	}
	return t, true
}

// stringMatches compares a text with a pattern in which * stands for any text.
// A backslash takes the star or backslash after it as it is.
func stringMatches(v, other Value) bool {
	text, ok := v.(string)
	if !ok {
		return false
	}
	parts := splitPattern(other.(string))
	last := len(parts) - 1
	if last == 0 {
		return text == parts[0]
	}
	text, ok = strings.CutPrefix(text, parts[0])
	if !ok || !strings.HasSuffix(text, parts[last]) {
		return false
	}
	text = text[:len(text)-len(parts[last])]
	for _, part := range parts[1:last] {
		_, after, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

// splitPattern gives the texts between the stars of a pattern.
func splitPattern(pattern string) []string {
	var parts []string
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && i+1 < len(pattern) && (pattern[i+1] == '*' || pattern[i+1] == '\\'):
			i++
			b.WriteByte(pattern[i])
		case c == '*':
			parts = append(parts, b.String())
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(parts, b.String())
}
