package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Route tells which function serves a method and a path.
type Route struct {
	// Method is in upper case; ANY is every method that has no route of its own for the pattern.
	Method string
	// Pattern is a path whose segments may be {name}, for one segment, and at its end {name+}, for one or more.
	// DefaultPattern is the route of what no other route takes; it has no method.
	Pattern string
	// Function is the name of a function.
	Function string
}

const (
	DefaultPattern = "$default"
	anyMethod      = "ANY"
)

// Key is the route as events name it: "POST /v1/executions", or "$default".
func (r Route) Key() string {
	if r.Pattern == DefaultPattern {
		return DefaultPattern
	}
	return r.Method + " " + r.Pattern
}

// segment is one part of a pattern. The kinds are in the order of their claim to a path.
type segment struct {
	kind segmentKind
	name string // the text, or the parameter's name
}

type segmentKind int

const (
	literal segmentKind = iota
	single
	greedy
)

type row struct {
	Route
	segments []segment // none for $default
}

// routeTable has the routes in the order in which API Gateway prefers them, so that the first match is the route:
// those without a greedy parameter first, then by segments from the left, text before a parameter, then a named method
// before ANY; $default last.
type routeTable []row

func newRouteTable(routes []Route) (routeTable, error) {
	var table routeTable
	var faults []error
	seen := map[string]bool{}
	for _, r := range routes {
		segments, err := parsePattern(r.Pattern)
		if err != nil {
			faults = append(faults, fmt.Errorf("route %s: %w", r.Key(), err))
			continue
		}
		key := r.Method + shape(segments)
		if seen[key] {
			faults = append(faults, fmt.Errorf("route %s: there are two of this form", r.Key()))
		}
		seen[key] = true
		table = append(table, row{r, segments})
	}
	slices.SortStableFunc(table, compareRows)
	return table, errors.Join(faults...)
}

func parsePattern(pattern string) ([]segment, error) {
	if pattern == DefaultPattern {
		return nil, nil
	}
	path, ok := strings.CutPrefix(pattern, "/")
	if !ok {
		return nil, errors.New("a path begins with a slash")
	}
	parts := strings.Split(path, "/")
	segments := make([]segment, len(parts))
	for i, part := range parts {
		inner, isParameter := strings.CutPrefix(part, "{")
		if !isParameter {
			segments[i] = segment{literal, part}
			continue
		}
		inner, closed := strings.CutSuffix(inner, "}")
		name, isGreedy := strings.CutSuffix(inner, "+")
		if !closed || name == "" || isGreedy && i < len(parts)-1 {
			return nil, fmt.Errorf("%s is no parameter here", part)
		}
		segments[i] = segment{single, name}
		if isGreedy {
			segments[i].kind = greedy
		}
	}
	return segments, nil
}

// shape is equal for patterns that take the same paths.
func shape(segments []segment) string {
	var b strings.Builder
	for _, s := range segments {
		if s.kind == literal {
			b.WriteString("/" + s.name)
		} else {
			fmt.Fprintf(&b, "/{%d}", s.kind)
		}
	}
	return b.String()
}

func compareRows(a, b row) int {
	return cmp.Or(
		cmp.Compare(rank(a), rank(b)),
		slices.CompareFunc(a.segments, b.segments, func(x, y segment) int { return cmp.Compare(x.kind, y.kind) }),
		cmp.Compare(methodRank(a), methodRank(b)),
	)
}

func rank(r row) int {
	switch n := len(r.segments); {
	case n == 0:
		return 2
	case r.segments[n-1].kind == greedy:
		return 1
	}
	return 0
}

func methodRank(r row) int {
	if r.Method == anyMethod {
		return 1
	}
	return 0
}

// find gives the route of a request and the values of its path parameters, nil for none. The path is decoded, as API
// Gateway compares it.
func (t routeTable) find(method, path string) (Route, map[string]string, bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, r := range t {
		if r.segments == nil {
			return r.Route, nil, true
		}
		if (r.Method == method || r.Method == anyMethod) && matches(r.segments, parts) {
			return r.Route, parameters(r.segments, parts), true
		}
	}
	return Route{}, nil, false
}

func matches(segments []segment, parts []string) bool {
	for i, s := range segments {
		switch {
		case i >= len(parts):
			return false
		case s.kind == greedy:
			return len(parts) > i+1 || parts[i] != ""
		case s.kind == literal && parts[i] != s.name, s.kind == single && parts[i] == "":
			return false
		}
	}
	return len(segments) == len(parts)
}

func parameters(segments []segment, parts []string) map[string]string {
	var values map[string]string
	for i, s := range segments {
		if s.kind == literal {
			continue
		}
		if values == nil {
			values = map[string]string{}
		}
		values[s.name] = parts[i]
		if s.kind == greedy {
			values[s.name] = strings.Join(parts[i:], "/")
		}
	}
	return values
}
