package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// format puts its arguments into the places that its template leaves.
func format(in *invocation) (Value, error) {
	parts := in.call.format
	if parts == nil {
		template, err := in.text(0)
		if err != nil {
			return nil, err
		}
		if parts, err = splitFormat(template); err != nil {
			return nil, err
		}
		if err = checkFormat(parts, len(in.args)-1); err != nil {
			return nil, err
		}
	}
	text := []byte(parts[0])
	for i, part := range parts[1:] {
		arg := in.args[i+1]
		if _, within := Size(arg, in.ev.limits.Bytes-len(text)); !within {
			return nil, in.ev.limits.tooLarge()
		}
		text = append(appendPlain(text, arg), part...)
	}
	return string(text), in.ev.spend(len(text) / 16)
}

// splitFormat gives the texts around the {} of a template. A backslash stands
// before a brace, quote or backslash that is part of the text.
func splitFormat(template string) ([]string, error) {
	var parts []string
	var b strings.Builder
	for i := 0; i < len(template); i++ {
		switch rest := template[i:]; {
		case isEscape(rest):
			i++
			b.WriteByte(template[i])
		case strings.HasPrefix(rest, "{}"):
			i++
			parts = append(parts, b.String())
			b.Reset()
		case rest[0] == '{':
			return nil, errors.New("matching '}' not found for '{'")
		default:
			b.WriteByte(rest[0])
		}
	}
	return append(parts, b.String()), nil
}

func checkFormat(parts []string, args int) error {
	if places := len(parts) - 1; places != args {
		return fmt.Errorf("the number of arguments, %d, does not match the occurrences of {}, %d,", args, places)
	}
	return nil
}

// appendPlain writes a value as Format shows it: texts without quotes, objects
// as {name=value, name=value}, arrays as [value, value].
func appendPlain(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case string:
		return append(dst, v...)
	case []Value:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendPlain(dst, e)
		}
		return append(dst, ']')
	case *Object:
		dst = append(dst, '{')
		first := true
		for name, e := range v.All() {
			if !first {
				dst = append(dst, ", "...)
			}
			first = false
			dst = append(append(dst, name...), '=')
			dst = appendPlain(dst, e)
		}
		return append(dst, '}')
	}
	return Append(dst, v)
}

// appendKey writes a value so that equal values, and only those, have equal
// keys: numbers by value, members by name.
func appendKey(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case Number:
		d := v.decimal()
		return fmt.Appendf(dst, "%t.%s.%d", d.neg, d.digits, d.point)
	case []Value:
		dst = append(dst, '[')
		for _, e := range v {
			dst = append(appendKey(dst, e), ',')
		}
		return append(dst, ']')
	case *Object:
		members := v.Clone().members
		slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
		dst = append(dst, '{')
		for _, m := range members {
			dst = append(appendString(dst, m.Name), ':')
			dst = append(appendKey(dst, m.Value), ',')
		}
		return append(dst, '}')
	}
	return Append(dst, v)
}
