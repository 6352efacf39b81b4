package frontend

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

const (
	// maxAttributes is how many an execution has at most.
	maxAttributes = 16
	// maxAttribute is how long a text may be as the value of one, in characters.
	maxAttribute = 256
)

// readAttributes reads an object whose members are attributes. Equal numbers have one form: what is found by 1.0 is found by 1.
func readAttributes(field string, text []byte) ([]store.Attribute, error) {
	if len(text) == 0 {
		return nil, nil
	}
	fault := func(field, rule, message string) error {
		return wire.Invalid(wire.Detail{Field: field, Rule: rule, Message: message})
	}
	value, err := expr.Parse(text)
	o, ok := value.(*expr.Object)
	if err != nil || !ok {
		return nil, fault(field, "type=object", "must be an object")
	}
	if o.Len() > maxAttributes {
		return nil, fault(field, fmt.Sprintf("max=%d", maxAttributes), "has too many members")
	}
	var out []store.Attribute
	for name, v := range o.All() {
		if err := definition.CheckName(name); err != nil {
			return nil, fault(field, "name", err.Error())
		}
		at := field + "." + name
		switch v := v.(type) {
		case bool:
		case expr.Number:
			text, ok := plainNumber(v)
			if !ok {
				return nil, fault(at, "number", "must be a number that a double can hold")
			}
			out = append(out, store.Attribute{Name: name, Value: text})
			continue
		case string:
			if utf8.RuneCountInString(v) > maxAttribute {
				return nil, fault(at, fmt.Sprintf("max=%d", maxAttribute), "is too long")
			}
		default:
			return nil, fault(at, "type=string number boolean", "must be a text, a number or a boolean")
		}
		out = append(out, store.Attribute{Name: name, Value: string(expr.Marshal(v))})
	}
	return out, nil
}

// plainNumber is the one form of a number.
func plainNumber(n expr.Number) (string, bool) {
	if i, ok := n.Int64(); ok {
		return fmt.Sprint(i), true
	}
	var f float64
	if err := json.Unmarshal([]byte(n), &f); err != nil {
		return "", false
	}
	b, err := json.Marshal(f)
	return string(b), err == nil
}

// withAttributes adds to executions what they are found by.
func (f *Frontend) withAttributes(ctx context.Context, list []wire.Execution, ids []history.ExecutionID) error {
	if len(ids) == 0 {
		return nil
	}
	found, err := f.store.Attributes(ctx, ids)
	if err != nil {
		return failed("read attributes", err)
	}
	for i, id := range ids {
		if all := found[id]; len(all) > 0 {
			list[i].Attributes = objectOf(all)
		}
	}
	return nil
}

func objectOf(list []store.Attribute) json.RawMessage {
	var b strings.Builder
	for i, a := range list {
		name, _ := json.Marshal(a.Name) // a text always encodes
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.Write(name)
		b.WriteString(":" + a.Value)
	}
	return json.RawMessage(b.String() + "}")
}
