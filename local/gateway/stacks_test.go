package gateway

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/config"
)

// stack is a template with what its parts say of each other.
type stack struct {
	t                              *testing.T
	file                           string
	root                           object
	parameters, resources, outputs object
	used                           map[string]bool // parameters that something refers to
}

func readStack(t *testing.T, file string) *stack {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root, err := parseTemplate(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	s := &stack{t: t, file: file, root: root, used: map[string]bool{}}
	s.parameters, _ = root["Parameters"].(object)
	s.resources, _ = root["Resources"].(object)
	s.outputs, _ = root["Outputs"].(object)
	return s
}

// refer checks one name that a template refers to.
func (s *stack) refer(name string) {
	name, _, _ = strings.Cut(name, ".")
	switch {
	case strings.HasPrefix(name, "AWS::"):
	case s.parameters[name] != nil:
		s.used[name] = true
	case s.resources[name] == nil:
		s.t.Errorf("%s refers to %s, which is neither a parameter nor a resource", s.file, name)
	}
}

// walk checks all that lies in a value.
func (s *stack) walk(v any) {
	switch v := v.(type) {
	case object:
		for _, x := range v {
			s.walk(x)
		}
	case []any:
		for _, x := range v {
			s.walk(x)
		}
	case call:
		s.call(v)
	}
}

func (s *stack) call(c call) {
	conditions, _ := s.root["Conditions"].(object)
	args, _ := c.of.([]any)
	text, _ := c.of.(string)
	switch c.name {
	case "Ref":
		s.refer(text)
	case "Fn::GetAtt":
		if text == "" {
			text = joinStrings(args, ".")
		}
		s.refer(text)
		if resource, attribute, ok := strings.Cut(text, ".Outputs."); ok {
			s.output(resource, attribute)
		}
	case "Fn::Sub":
		own := object{}
		if len(args) == 2 {
			text, _ = args[0].(string)
			own, _ = args[1].(object)
			s.walk(own)
		}
		for _, ref := range reference.FindAllString(text, -1) {
			if name := ref[2 : len(ref)-1]; own[name] == nil && !strings.HasPrefix(name, "!") {
				s.refer(name)
			}
		}
	case "Condition":
		if conditions[text] == nil {
			s.t.Errorf("%s has no condition %s", s.file, text)
		}
	case "Fn::If":
		if name, _ := args[0].(string); conditions[name] == nil {
			s.t.Errorf("%s has no condition %s", s.file, name)
		}
		s.walk(args[1:])
	default:
		s.walk(c.of)
	}
}

// nested reads the template of a nested stack.
func (s *stack) nested(resource string) *stack {
	s.t.Helper()
	r, _ := s.resources[resource].(object)
	properties, _ := r["Properties"].(object)
	file, _ := properties["TemplateURL"].(string)
	return readStack(s.t, filepath.Join(filepath.Dir(s.file), file))
}

// output checks that a nested stack gives what the outer one takes of it.
func (s *stack) output(resource, name string) {
	if n := s.nested(resource); n.outputs[name] == nil {
		s.t.Errorf("%s takes %s of %s, which does not give it", s.file, name, n.file)
	}
}

// passes checks that an outer stack gives a nested one what it must have, and nothing that it does not know.
func (s *stack) passes(resource string) {
	r, _ := s.resources[resource].(object)
	properties, _ := r["Properties"].(object)
	given, _ := properties["Parameters"].(object)
	n := s.nested(resource)
	for name := range given {
		if n.parameters[name] == nil {
			s.t.Errorf("%s gives %s to %s, which does not take it", s.file, name, n.file)
		}
	}
	for name, p := range n.parameters {
		if of, _ := p.(object); given[name] == nil && of["Default"] == nil {
			s.t.Errorf("%s does not give %s to %s", s.file, name, n.file)
		}
	}
}

// TestStacks: in every template each name that is referred to exists, each parameter is used, and nested stacks get what
// they take.
func TestStacks(t *testing.T) {
	files, err := filepath.Glob("../../infra/stacks/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d stacks, %v", len(files), err)
	}
	for _, file := range append(files, "../../template.yaml") {
		s := readStack(t, file)
		s.walk(s.root)
		for name := range s.parameters {
			if !s.used[name] {
				t.Errorf("%s does not use its parameter %s", file, name)
			}
		}
		for id, r := range s.resources {
			if of, _ := r.(object); of["Type"] == "AWS::CloudFormation::Stack" {
				s.passes(id)
			}
		}
	}
}

var wildcard = regexp.MustCompile(`(Action|Resource|NotAction|NotResource|Principal): *['"]?[^#]*\*['"]?`)

// TestWildcards: a policy that names everything says why in the line above. A pattern within a name is no wildcard.
func TestWildcards(t *testing.T) {
	files, _ := filepath.Glob("../../infra/stacks/*.yaml")
	for _, file := range append(files, "../../template.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			everything := regexp.MustCompile(`['" ]([a-z-]+:)?\*['" },\]]`).MatchString(line + " ")
			if everything && wildcard.MatchString(line) && (i == 0 || !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "# any: ")) {
				t.Errorf("%s:%d names everything, without a line '# any: reason' above: %s", file, i+1, strings.TrimSpace(line))
			}
		}
	}
}

// TestNodeStack: what the task sets is what a node reads, and what must be the same as in the functions has the same default.
func TestNodeStack(t *testing.T) {
	nodes, functions := readStack(t, "../../infra/stacks/nodes.yaml"), readStack(t, "../../template.yaml")
	for _, name := range []string{"SessionTimeout", "NodeTimeout", "LogLevel"} {
		a, _ := nodes.parameters[name].(object)
		b, _ := functions.parameters[name].(object)
		if a["Default"] == nil || a["Default"] != b["Default"] {
			t.Errorf("%s is %v for nodes and %v for functions", name, a["Default"], b["Default"])
		}
	}
	var names []string
	collect(nodes.resources["Task"], func(o object) {
		if name, _ := o["Name"].(string); o["Value"] != nil || o["ValueFrom"] != nil {
			names = append(names, name)
		}
	})
	help := strings.Fields(config.Help(config.Node))
	for _, name := range names {
		if !slices.Contains(help, name) {
			t.Errorf("the task sets %s, which no node reads", name)
		}
	}
	if !slices.Contains(names, "DATABASE_URL") {
		t.Errorf("the task sets %v: where is the database?", names)
	}
}

// collect calls f with every object in a value.
func collect(v any, f func(object)) {
	switch v := v.(type) {
	case object:
		f(v)
		for _, x := range v {
			collect(x, f)
		}
	case []any:
		for _, x := range v {
			collect(x, f)
		}
	case call:
		collect(v.of, f)
	}
}
