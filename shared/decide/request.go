package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/orrery-dev/orrery/shared/definition"
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
var requests = map[definition.ResourceKind][]parameter{
	definition.ResourceLambda: {
		{name: "FunctionName", required: true, kind: textValue},
		{name: "Payload"},
		{name: "Qualifier", kind: textValue},
		{name: "InvocationType", kind: textValue, words: []string{"RequestResponse", "Event", "DryRun"}},
		{name: "ClientContext"},
		{name: "LogType", kind: textValue, words: []string{"None", "Tail"}},
	},
	definition.ResourceHTTP: {
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

// checkRequest tells what keeps a Task from starting whose work the server does itself: all fields at fault.
func checkRequest(r *definition.Resource, work expr.Value) error {
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
		if fault := p.fault(o); fault != "" {
			faults = append(faults, fault)
		}
	}
	for name := range o.All() {
		if !slices.ContainsFunc(form, func(p parameter) bool { return p.name == name }) {
			faults = append(faults, fmt.Sprintf("The field '%s' is not supported", clip(name, maxCode)))
		}
	}
	if faults == nil {
		return nil
	}
	return notStarted(expr.Marshal(work), faults...)
}

// notStarted is the error of a Task that its parameters keep from starting.
func notStarted(parameters []byte, faults ...string) *expr.Error {
	cause := fmt.Sprintf("The Parameters '%s' could not be used to start the Task: [%s]", parameters, strings.Join(faults, ", "))
	return &expr.Error{Name: expr.StatesRuntime, Cause: clip(cause, maxCause)}
}

// fault tells what is wrong with the field in an object; empty where it is right.
func (p parameter) fault(o *expr.Object) string {
	v, there := o.Get(p.name)
	text, isText := v.(string)
	_, isObject := v.(*expr.Object)
	switch {
	case !there && p.required:
		return fmt.Sprintf("The field '%s' is required but was missing", p.name)
	case !there:
	case p.kind == textValue && !isText, p.kind == objectValue && !isObject:
		return fmt.Sprintf("The field '%s' must be %s", p.name, p.kind)
	case p.words != nil && !slices.Contains(p.words, text):
		return fmt.Sprintf("The field '%s' must be one of %s", p.name, strings.Join(p.words, ", "))
	}
	return ""
}

// workOf is what the queue gives for a unit: what the unit was given, and for a function that the document names, that name
// with it.
func workOf(r *definition.Resource, work []byte) []byte {
	if r.Kind != definition.ResourceLambda || r.Target == "" {
		return work
	}
	text := append([]byte(`{"FunctionName":`), expr.Marshal(r.Target)...)
	text = append(append(text, `,"Payload":`...), work...)
	return append(text, '}')
}
