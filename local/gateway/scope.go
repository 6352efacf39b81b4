package gateway

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var (
	// errUnknown: the value comes from a deployment.
	errUnknown = errors.New("the value is not known here")
	// errNoValue: the template says that there is none (AWS::NoValue).
	errNoValue = errors.New("there is no value")
)

// defaultRegion is where functions run, as far as they are told.
const defaultRegion = "us-east-1"

// scope is what calls of a template are evaluated in.
type scope struct {
	values     map[string]string // of parameters, resources ("Id") and attributes ("Id.Attribute")
	conditions object
}

func newScope(root object, given map[string]string) *scope {
	s := &scope{values: map[string]string{
		"AWS::Region":    defaultRegion,
		"AWS::AccountId": "123456789012",
		"AWS::Partition": "aws",
		"AWS::URLSuffix": "amazonaws.com",
		"AWS::StackName": "local",
	}}
	s.conditions, _ = root["Conditions"].(object)
	declared, _ := root["Parameters"].(object)
	for name, p := range declared {
		if of, ok := p.(object); ok {
			if text, ok := of["Default"].(string); ok {
				s.values[name] = text
			}
		}
	}
	for name, v := range given {
		s.values[name] = v
	}
	return s
}

// text evaluates a value that must come out as a string.
func (s *scope) text(v any) (string, error) { return s.textAt(v, 0) }

func (s *scope) textAt(v any, depth int) (string, error) {
	v, err := s.eval(v, depth)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		if strings.Contains(v, "{{resolve:") { // CloudFormation looks it up in a store
			return "", fmt.Errorf("%.80q: %w", v, errUnknown)
		}
		return v, nil
	}
	return "", errors.New("it is not a string")
}

// eval evaluates a value until it is no call.
func (s *scope) eval(v any, depth int) (any, error) {
	c, ok := v.(call)
	if !ok {
		return v, nil
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: more than %d calls in each other", c.name, maxDepth)
	}
	switch c.name {
	case "Ref":
		name, _ := c.of.(string)
		if name == "AWS::NoValue" {
			return nil, errNoValue
		}
		return s.lookup(name)
	case "Fn::GetAtt":
		if parts, ok := c.of.([]any); ok {
			return s.lookup(joinStrings(parts, "."))
		}
		name, _ := c.of.(string)
		return s.lookup(name)
	case "Fn::Sub":
		return s.sub(c.of, depth+1)
	case "Fn::Join":
		return s.join(c.of, depth+1)
	case "Fn::If":
		args, ok := c.of.([]any)
		if !ok || len(args) != 3 {
			return nil, errors.New("Fn::If takes a condition and two values")
		}
		name, _ := args[0].(string)
		holds, err := s.conditionAt(name, depth+1)
		if err != nil {
			return nil, err
		}
		if holds {
			return s.eval(args[1], depth+1)
		}
		return s.eval(args[2], depth+1)
	}
	return nil, fmt.Errorf("%s: %w", c.name, errUnknown)
}

func (s *scope) lookup(name string) (any, error) {
	v, ok := s.values[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, errUnknown)
	}
	return v, nil
}

func joinStrings(parts []any, separator string) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i], _ = p.(string)
	}
	return strings.Join(texts, separator)
}

var reference = regexp.MustCompile(`\$\{[^}]*\}`)

// sub puts values for the ${...} of a text; ${!...} stands for the text ${...} itself.
func (s *scope) sub(of any, depth int) (any, error) {
	text, own := of, object{}
	if args, ok := of.([]any); ok && len(args) == 2 {
		text = args[0]
		own, _ = args[1].(object)
	}
	pattern, ok := text.(string)
	if !ok {
		return nil, errors.New("Fn::Sub takes a string")
	}
	var faults []error
	result := reference.ReplaceAllStringFunc(pattern, func(ref string) string {
		name := strings.TrimSpace(ref[2 : len(ref)-1])
		if escaped, ok := strings.CutPrefix(name, "!"); ok {
			return "${" + escaped + "}"
		}
		v, isOwn := own[name]
		if !isOwn {
			v = call{"Ref", name}
		}
		value, err := s.textAt(v, depth)
		if err != nil {
			faults = append(faults, err)
		}
		return value
	})
	return result, errors.Join(faults...)
}

func (s *scope) join(of any, depth int) (any, error) {
	args, _ := of.([]any)
	if len(args) != 2 {
		return nil, errors.New("Fn::Join takes a separator and a list")
	}
	separator, _ := args[0].(string)
	items, err := s.eval(args[1], depth)
	if err != nil {
		return nil, err
	}
	list, ok := items.([]any)
	if !ok {
		return nil, errors.New("Fn::Join takes a separator and a list")
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], err = s.textAt(item, depth); err != nil {
			return nil, err
		}
	}
	return strings.Join(texts, separator), nil
}

// condition evaluates a condition of the template by its name.
func (s *scope) condition(name string) (bool, error) { return s.conditionAt(name, 0) }

func (s *scope) conditionAt(name string, depth int) (bool, error) {
	v, ok := s.conditions[name]
	if !ok {
		return false, fmt.Errorf("there is no condition %q", name)
	}
	holds, err := s.holds(v, depth)
	if err != nil {
		return false, fmt.Errorf("condition %s: %w", name, err)
	}
	return holds, nil
}

func (s *scope) holds(v any, depth int) (bool, error) {
	c, ok := v.(call)
	if !ok || depth > maxDepth {
		return false, errors.New("it is not a condition, or leads to itself")
	}
	if name, ok := c.of.(string); ok && c.name == "Condition" {
		return s.conditionAt(name, depth+1)
	}
	args, _ := c.of.([]any)
	switch {
	case c.name == "Fn::Equals" && len(args) == 2:
		a, errA := s.textAt(args[0], depth+1)
		b, errB := s.textAt(args[1], depth+1)
		return a == b, withoutUnknown(errors.Join(errA, errB))
	case c.name == "Fn::Not" && len(args) == 1:
		holds, err := s.holds(args[0], depth+1)
		return !holds, err
	case c.name == "Fn::And" || c.name == "Fn::Or":
		for _, arg := range args {
			holds, err := s.holds(arg, depth+1)
			if err != nil || holds == (c.name == "Fn::Or") {
				return holds, err
			}
		}
		return c.name == "Fn::And", nil
	}
	return false, fmt.Errorf("%s is not understood here", c.name)
}

// withoutUnknown keeps an unknown value in a condition from passing for an unknown variable: what a template contains
// must be known.
func withoutUnknown(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}
