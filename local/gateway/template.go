package gateway

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Function is a function of the template.
type Function struct {
	// Name is that of its folder below functions/: the last part of CodeUri, or, where that is the root or missing, the
	// logical id in lower case without Function at its end.
	Name      string
	LogicalID string
	// Timeout ends a call; Memory is in MB.
	Timeout time.Duration
	Memory  int
	// Every is the rate of the rule that wakes it, zero where there is none.
	Every time.Duration
	// Env has the variables that the template sets. Unknown names those among them whose values only a deployment has.
	Env     map[string]string
	Unknown []string
}

// Lambda's own defaults.
const (
	lambdaTimeout = 3 * time.Second
	lambdaMemory  = 128
)

// ReadTemplate reads the functions of a SAM template and the routes that lead to them: its resources of the type
// AWS::Serverless::Function, with their events of the type HttpApi. Conditions are evaluated; a resource whose condition
// is false is left out.
//
// The values are what the template refers to, for want of a deployment: of parameters (which have their defaults besides),
// of resources by their logical ids, and of attributes as "Id.Attribute". A variable that needs more is Unknown; anything
// else that needs more is an error.
func ReadTemplate(file string, values map[string]string) ([]Route, []Function, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the template: %w", err)
	}
	root, err := parseTemplate(text)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the template %s: %w", file, err)
	}
	t := template{root: root, scope: newScope(root, values)}
	if err := t.read(); err != nil {
		return nil, nil, fmt.Errorf("reading the template %s: %w", file, err)
	}
	return t.routes, t.functions, nil
}

type template struct {
	root      object
	scope     *scope
	routes    []Route
	functions []Function
}

// read goes through the functions and gathers the faults of all.
func (t *template) read() error {
	resources, ok := t.root["Resources"].(object)
	if !ok {
		return errors.New("it has no Resources")
	}
	var faults []error
	for _, id := range slices.Sorted(maps.Keys(resources)) {
		resource, _ := resources[id].(object)
		if resource["Type"] != "AWS::Serverless::Function" {
			continue
		}
		if err := t.readFunction(id, resource); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", id, err))
		}
	}
	return errors.Join(faults...)
}

func (t *template) readFunction(id string, resource object) error {
	if name, ok := resource["Condition"].(string); ok {
		holds, err := t.scope.condition(name)
		if err != nil || !holds {
			return err
		}
	}
	properties, _ := resource["Properties"].(object)
	globals, _ := t.root["Globals"].(object)
	defaults, _ := globals["Function"].(object)
	setting := func(name string) any {
		if v, ok := properties[name]; ok {
			return v
		}
		return defaults[name]
	}
	f := Function{LogicalID: id, Name: nameOf(id, setting("CodeUri")), Env: map[string]string{}}
	seconds, err := t.number(setting("Timeout"), int(lambdaTimeout/time.Second))
	if err != nil {
		return fmt.Errorf("property Timeout: %w", err)
	}
	f.Timeout = time.Duration(seconds) * time.Second
	if f.Memory, err = t.number(setting("MemorySize"), lambdaMemory); err != nil {
		return fmt.Errorf("property MemorySize: %w", err)
	}
	for _, from := range []object{defaults, properties} { // a function's own variables go before those of all
		if err := t.readEnvironment(&f, from); err != nil {
			return err
		}
	}
	slices.Sort(f.Unknown)
	if f.Every, err = t.rate(properties); err != nil {
		return err
	}
	t.functions = append(t.functions, f)
	return t.readEvents(f.Name, properties)
}

func nameOf(id string, codeURI any) string {
	if uri, ok := codeURI.(string); ok {
		if name := path.Base(path.Clean(uri)); name != "." && name != "/" {
			return name
		}
	}
	return strings.ToLower(strings.TrimSuffix(id, "Function"))
}

// number reads a positive whole number.
func (t *template) number(v any, unset int) (int, error) {
	if v == nil {
		return unset, nil
	}
	text, err := t.scope.text(v)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%.20q is no positive whole number", text)
	}
	return n, nil
}

func (t *template) readEnvironment(f *Function, from object) error {
	environment, _ := from["Environment"].(object)
	variables, _ := environment["Variables"].(object)
	for name, v := range variables {
		delete(f.Env, name)
		f.Unknown = slices.DeleteFunc(f.Unknown, func(n string) bool { return n == name })
		text, err := t.scope.text(v)
		switch {
		case errors.Is(err, errNoValue):
		case errors.Is(err, errUnknown):
			f.Unknown = append(f.Unknown, name)
		case err != nil:
			return fmt.Errorf("variable %s: %w", name, err)
		default:
			f.Env[name] = text
		}
	}
	return nil
}

// rate reads the events of the type Schedule: the shortest of their rates. Other expressions than rates are left to a
// deployment.
func (t *template) rate(properties object) (time.Duration, error) {
	var shortest time.Duration
	list, _ := properties["Events"].(object)
	for name, event := range list {
		event, _ := event.(object)
		of, _ := event["Properties"].(object)
		if event["Type"] != "Schedule" || of["Schedule"] == nil {
			continue
		}
		text, err := t.scope.text(of["Schedule"])
		if err != nil {
			return 0, fmt.Errorf("event %s: Schedule: %w", name, err)
		}
		if every := rateOf(text); every > 0 && (shortest == 0 || every < shortest) {
			shortest = every
		}
	}
	return shortest, nil
}

// rateOf reads an expression such as rate(5 minutes), zero for another.
func rateOf(text string) time.Duration {
	inner, ok := strings.CutPrefix(text, "rate(")
	number, unit, _ := strings.Cut(strings.TrimSuffix(inner, ")"), " ")
	n, err := strconv.Atoi(number)
	units := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}
	if !ok || err != nil || n < 1 {
		return 0
	}
	return time.Duration(n) * units[strings.TrimSuffix(unit, "s")]
}

func (t *template) readEvents(function string, properties object) error {
	list, _ := properties["Events"].(object)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		event, _ := list[name].(object)
		if event["Type"] != "HttpApi" {
			continue
		}
		of, _ := event["Properties"].(object)
		if of["Path"] == nil {
			t.routes = append(t.routes, Route{Pattern: DefaultPattern, Function: function})
			continue
		}
		pattern, err := t.scope.text(of["Path"])
		if err != nil {
			return fmt.Errorf("event %s: Path: %w", name, err)
		}
		method := anyMethod
		if of["Method"] != nil {
			if method, err = t.scope.text(of["Method"]); err != nil {
				return fmt.Errorf("event %s: Method: %w", name, err)
			}
		}
		if method = strings.ToUpper(method); method == "*" || method == "X-AMAZON-APIGATEWAY-ANY-METHOD" {
			method = anyMethod
		}
		if pattern == DefaultPattern {
			method = ""
		}
		t.routes = append(t.routes, Route{method, pattern, function})
	}
	return nil
}

// Environment is what the function's process gets, in the form of os.Environ: the variables of the template, those that
// are given, which go before, and those that Lambda sets. It is an error when a variable is Unknown and not given.
func (f Function) Environment(given map[string]string) ([]string, error) {
	missing := slices.DeleteFunc(slices.Clone(f.Unknown), func(name string) bool { _, ok := given[name]; return ok })
	if len(missing) > 0 {
		return nil, fmt.Errorf("function %s: no value is given for %s", f.Name, strings.Join(missing, ", "))
	}
	all := map[string]string{
		"AWS_REGION":                      defaultRegion,
		"AWS_LAMBDA_FUNCTION_NAME":        f.Name,
		"AWS_LAMBDA_FUNCTION_TIMEOUT":     strconv.Itoa(int(f.Timeout / time.Second)),
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(f.Memory),
	}
	maps.Copy(all, f.Env)
	maps.Copy(all, given)
	list := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return list, nil
}
