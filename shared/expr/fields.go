package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxWait is the longest wait that takes effect.
const MaxWait = math.MaxInt32 * time.Second

// CheckWait refuses a wait that is longer than MaxWait. The error is an
// [*Error].
func CheckWait(d time.Duration) error {
	if d > MaxWait {
		return &Error{Name: StatesRuntime, Cause: "Wait state delay is too long."}
	}
	return nil
}

// bounds are those of a number in a field: both belong to it.
type bounds struct{ min, max int64 }

// integerBounds are the bounds of the fields that are integers.
var integerBounds = map[string]bounds{
	"Seconds":               {0, 99_999_999},
	"TimeoutSeconds":        {1, 99_999_999},
	"HeartbeatSeconds":      {1, 99_999_999},
	"QueueTimeoutSeconds":   {1, 99_999_999},
	"MaxConcurrency":        {0, math.MaxInt32},
	"ToleratedFailureCount": {0, math.MaxInt64},
	"MaxItems":              {0, math.MaxInt64},
	"MaxItemsPerBatch":      {1, math.MaxInt32},
	"MaxInputBytesPerBatch": {1, 256 << 10},
	"Priority":              {math.MinInt16, math.MaxInt16},
}

func (jsonPath) Integer(owner *Object, name string) (Field[int64], []Problem) {
	limits, known := integerBounds[name]
	if !known {
		limits = bounds{math.MinInt64, math.MaxInt64}
	}
	r := fieldReader{owner: owner}
	return readField(&r, name, fieldType[int64]{
		constant: func(v Value) (int64, string, string) {
			n, ok := v.(Number)
			i, whole := n.Int64()
			switch {
			case !ok || !whole:
				return 0, RuleType, name + " needs an integer"
			case i < limits.min || i > limits.max:
				return 0, RuleRange, fmt.Sprintf("%s is from %d to %d", name, limits.min, limits.max)
			}
			return i, "", ""
		},
		convert: func(path string, v Value) (int64, error) { return convertInteger(name, path, v, limits) },
	})
}

// convertInteger takes an integer, or a text that holds one, as what a path
// found for a field.
func convertInteger(name, path string, v Value, limits bounds) (int64, error) {
	i, ok := integerOf(v)
	switch {
	case name == "Seconds" && !ok:
		return 0, runtimeError("The SecondsPath parameter cannot be parsed as a long value: %s == %s", path, plain(v))
	case name == "Seconds" && i < 0:
		return 0, runtimeError("The SecondsPath parameter references a negative value: %s == %s", path, plain(v))
	case name == "Seconds":
		if i > math.MaxInt32 {
			return 0, CheckWait(math.MaxInt64)
		}
		return i, nil
	case !ok:
		return 0, runtimeError("The %sPath field refers to value \"%s\" which is not a valid integer: %s", name, plain(v), path)
	case name == "MaxItems" && i < 0:
		return 0, &Error{Name: StatesItemReaderFailed, Cause: "field MaxItems must be positive"}
	case limits.min == 0 && i < 0:
		return 0, runtimeError("%s cannot be negative.", name)
	case i < limits.min || i > limits.max:
		return 0, runtimeError("%s must be between %d and %d.", name, limits.min, limits.max)
	}
	return i, nil
}

func integerOf(v Value) (int64, bool) {
	switch v := v.(type) {
	case Number:
		return v.Int64()
	case string:
		i, err := strconv.ParseInt(v, 10, 64)
		return i, err == nil
	}
	return 0, false
}

func (jsonPath) Decimal(owner *Object, name string) (Field[float64], []Problem) {
	r := fieldReader{owner: owner}
	inRange := func(f float64) bool { return f >= 0 && f <= 100 || name != "ToleratedFailurePercentage" }
	return readField(&r, name, fieldType[float64]{
		constant: func(v Value) (float64, string, string) {
			f, ok := decimalOf(v)
			switch {
			case !ok || !isNumber(v):
				return 0, RuleType, name + " needs a number"
			case !inRange(f):
				return 0, RuleRange, name + " is from 0 to 100"
			}
			return f, "", ""
		},
		convert: func(path string, v Value) (float64, error) {
			f, ok := decimalOf(v)
			switch {
			case !ok:
				return 0, runtimeError("The %sPath field refers to value \"%s\" which is not a valid float: %s", name, plain(v), path)
			case !inRange(f):
				return 0, runtimeError("%s must be between 0 and 100.", name)
			}
			return f, nil
		},
	})
}

func decimalOf(v Value) (float64, bool) {
	var f float64
	switch v := v.(type) {
	case Number:
		f = v.Float64()
	case string:
		var err error
		if f, err = strconv.ParseFloat(v, 64); err != nil {
			return 0, false
		}
	default:
		return 0, false
	}
	return f, !math.IsInf(f, 0) && !math.IsNaN(f)
}

func (jsonPath) Instant(owner *Object, name string) (Field[time.Time], []Problem) {
	r := fieldReader{owner: owner}
	return readField(&r, name, fieldType[time.Time]{
		constant: func(v Value) (time.Time, string, string) {
			t, ok := timestampOf(v)
			if !ok {
				return t, RuleTimestamp, "String does not match RFC3339 timestamp"
			}
			return t, "", ""
		},
		convert: func(path string, v Value) (time.Time, error) {
			t, ok := timestampOf(v)
			if !ok {
				return t, runtimeError("The %sPath parameter does not reference a valid ISO-8601 extended offset date-time format string: %s == %s",
					name, path, plain(v))
			}
			return t, nil
		},
	})
}

func (jsonPath) Items(state *Object) (Field[[]Value], []Problem) {
	r := fieldReader{owner: state}
	p := r.path("ItemsPath")
	if p == nil {
		p = &Path{text: "$", definite: true}
	}
	return done[Field[[]Value]](itemsValue{pathValue[[]Value]{p, invalidPath, convertItems}}, r.problems)
}

// itemsValue tells the trace what the path gave.
type itemsValue struct{ pathValue[[]Value] }

func (f itemsValue) Eval(sc *Scope) ([]Value, error) {
	items, err := f.pathValue.Eval(sc)
	if err == nil {
		sc.trace("afterItemsPath", items)
	}
	return items, err
}

func convertItems(path string, v Value) ([]Value, error) {
	items, ok := v.([]Value)
	if !ok {
		if strings.HasPrefix(path, "$$") {
			path = path[1:] // the message shows the path inside the context object
		}
		return nil, runtimeError("Reference path \"%s\" must point to array.", path)
	}
	return items, nil
}

func (jsonPath) Text(owner *Object, name string) (Field[string], []Problem) {
	r := fieldReader{owner: owner}
	t := fieldType[string]{
		calls: true,
		constant: func(v Value) (string, string, string) {
			s, ok := v.(string)
			if !ok {
				return "", RuleType, name + " needs a string"
			}
			return s, "", ""
		},
		convert: func(text string, v Value) (string, error) {
			s, ok := v.(string)
			if !ok {
				return "", runtimeError("The %sPath parameter does not reference a string: %s == %s", name, text, plain(v))
			}
			return s, nil
		},
	}
	if name == "IdempotencyKey" {
		return idempotencyKey(&r, t)
	}
	return readField(&r, name, t)
}

// idempotencyKey reads the field whose own member is the expression. The key is
// a text, or the text of a number.
func idempotencyKey(r *fieldReader, t fieldType[string]) (Field[string], []Problem) {
	const name = "IdempotencyKey"
	v, ok := r.owner.Get(name)
	if !ok {
		return nil, nil
	}
	t.convert = func(text string, v Value) (string, error) {
		if key := plain(v); key != "" && (isString(v) || isNumber(v)) {
			return key, nil
		}
		return "", runtimeError("The IdempotencyKey must be a string or a number, and not empty: %s == %s", text, plain(v))
	}
	return done(readExpression(r, name, v, t), r.problems)
}

// plain is a value in a message: a text without quotes, others as JSON.
func plain(v Value) string {
	if s, ok := v.(string); ok && len(s) <= excerptBytes {
		return s
	}
	return excerpt(v)
}
