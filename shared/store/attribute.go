package store

import (
	"context"

	"github.com/orrery-dev/orrery/shared/history"
)

// Attribute is by what executions are found.
type Attribute = history.Attribute

var (
	attributesSQL            = query("attributes")
	executionsByAttributeSQL = query("executions_by_attribute")
)

// Attributes reads those of executions, by name.
func (s *Store) Attributes(ctx context.Context, ids []history.ExecutionID) (map[history.ExecutionID][]Attribute, error) {
	type row struct {
		Execution   int64
		Name, Value string
	}
	rows, err := list[row](ctx, s, "read attributes", attributesSQL, args{"executions": int64s(ids)})
	out := map[history.ExecutionID][]Attribute{}
	for _, r := range rows {
		id := history.ExecutionID(r.Execution)
		out[id] = append(out[id], Attribute{Name: r.Name, Value: r.Value})
	}
	return out, err
}

// attributeColumns are attributes of new executions, by the places of those among the starts.
type attributeColumns struct {
	places        []int64
	names, values []string
}

func (c *attributeColumns) add(place int64, list []Attribute) {
	for _, a := range list {
		c.places = append(c.places, place)
		c.names, c.values = append(c.names, a.Name), append(c.values, a.Value)
	}
}

func names(list []Attribute) (out []string) {
	for _, a := range list {
		out = append(out, a.Name)
	}
	return out
}

func values(list []Attribute) (out []string) {
	for _, a := range list {
		out = append(out, a.Value)
	}
	return out
}
