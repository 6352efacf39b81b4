package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/orrery-dev/orrery/shared/expr"
)

// parameter is what a field of a request that the server makes may be.
type parameter struct {
	name     string
	required bool
	kind     valueKind
	words    []string // that a text may be; nil for any
}

type valueKind string

const (
	anyValue    valueKind = ""
	textValue   valueKind = "a String"
	objectValue valueKind = "an Object"
)

// requests are the forms of the requests that the server makes, by the kind of the resource.
var requests = map[ResourceKind][]parameter{
	ResourceLambda: {
		{name: "FunctionName", required: true, kind: textValue},
		{name: "Payload"},
		{name: "Qualifier", kind: textValue},
		{name: "InvocationType", kind: textValue, words: []string{"RequestResponse", "Event", "DryRun"}},
		{name: "ClientContext"},
		{name: "LogType", kind: textValue, words: []string{"None", "Tail"}},
	},
	ResourceHTTP: {
		{name: "ApiEndpoint", required: true, kind: textValue},
		{name: "Method", required: true, kind: textValue, words: []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"}},
		{name: "Headers", kind: objectValue},
		{name: "QueryParameters", kind: objectValue},
		{name: "RequestBody"},
		{name: "Transform", kind: objectValue},
		{name: "Authentication", kind: objectValue},
		{name: "InvocationConfig", kind: objectValue},
	},
}

// starting is the form of what starts an execution. Fields that it does not have are ignored there.
var starting = []parameter{{name: "StateMachineArn", required: true, kind: textValue}, {name: "Name", kind: textValue}, {name: "Input"}}

// Faults tells what is wrong with a request that the server is to make for the resource: all fields at fault, in words.
func (r *Resource) Faults(work expr.Value) []string {
	if !r.Kind.ByServer() || r.Target != "" {
		return nil
	}
	o, ok := work.(*expr.Object)
	var faults []string
	if !ok {
		o, faults = expr.NewObject(), []string{"They must be an Object"}
	}
	form := requests[r.Kind]
	for _, p := range form {
		v, there := o.Get(p.name)
		switch fault := p.fault(v); {
		case !there && p.required:
			faults = append(faults, p.missing())
		case there && fault != "":
			faults = append(faults, fault)
		}
	}
	for name := range o.All() {
		if !has(form, name) {
			faults = append(faults, fmt.Sprintf("The field '%s' is not supported", cut(name, maxQuoted)))
		}
	}
	return faults
}

func has(form []parameter, name string) bool {
	return slices.ContainsFunc(form, func(p parameter) bool { return p.name == name })
}

func (p parameter) missing() string {
	return fmt.Sprintf("The field '%s' is required but was missing", p.name)
}

// fault tells what is wrong with a value of the field; empty where it is right.
func (p parameter) fault(v expr.Value) string {
	text, isText := v.(string)
	_, isObject := v.(*expr.Object)
	switch {
	case p.kind == textValue && !isText, p.kind == objectValue && !isObject:
		return fmt.Sprintf("The field '%s' must be %s", p.name, p.kind)
	case p.words != nil && !slices.Contains(p.words, text):
		return fmt.Sprintf("The field '%s' must be one of %s", p.name, strings.Join(p.words, ", "))
	}
	return ""
}

// request warns of what a Task asks of the server and the server will surely refuse.
func (b *builder) request(s *State) {
	r := s.Resource
	form := requests[r.Kind]
	switch {
	case r.Kind == ResourceChild && r.Workflow.Name == "":
		form = starting
	case form == nil || r.Target != "":
		return
	}
	at, members, known := s.Flow.Given()
	if !known {
		return
	}
	there := map[string]expr.Given{}
	for _, m := range members {
		there[m.Name] = m
		if !has(form, m.Name) && r.Kind.ByServer() {
			b.foresee(s, m.Pointer, RuleRequest, "The field %q is not supported here: the Task fails.", m.Name)
		}
	}
	for _, p := range form {
		m, ok := there[p.name]
		if !ok && p.required {
			b.foresee(s, at, RuleRequest, "%s: the Task fails.", p.missing())
		}
		if ok && m.Constant {
			if fault := p.fault(m.Value); fault != "" {
				b.foresee(s, m.Pointer, RuleRequest, "%s: the Task fails.", fault)
			}
		}
	}
}
