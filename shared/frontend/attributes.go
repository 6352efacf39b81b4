package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// readAttributes reads the attributes of a request.
func readAttributes(field string, text []byte) ([]store.Attribute, error) {
	if len(text) == 0 {
		return nil, nil
	}
	value, err := expr.Parse(text)
	if err != nil {
		return nil, wire.Invalid(wire.Detail{Field: field, Rule: "type=object", Message: "must be an object"})
	}
	list, err := definition.ReadAttributes(value)
	if err != nil {
		return nil, unfitAttributes(field, err)
	}
	return list, nil
}

// unfitAttributes refuses attributes, also those that a document cannot make of the input.
func unfitAttributes(field string, err error) error {
	var e *definition.AttributeError
	if !errors.As(err, &e) {
		return wire.Invalid(wire.Detail{Field: "input", Rule: "attributes", Message: err.Error()})
	}
	if e.Name != "" {
		field += "." + e.Name
	}
	return wire.Invalid(wire.Detail{Field: field, Rule: e.Rule, Message: e.Message})
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
