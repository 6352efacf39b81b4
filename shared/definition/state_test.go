package definition

import (
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

func TestParseState(t *testing.T) {
	s, problems := ParseState([]byte(`{"Type":"Choice","Choices":[{"Variable":"$.n","NumericEquals":1,"Next":"One"}],"Default":"Other"}`), "Pick", Options{})
	if s == nil || len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	if s.Name != "Pick" || s.Type != Choice || s.Choices[0].Next != "One" || s.Default != "Other" || s.Pointer != "" || s.Machine.Find("Pick") != s {
		t.Errorf("%+v", s)
	}
	s, problems = ParseState([]byte("Type: Map\nEnd: true\nItemProcessor:\n  StartAt: In\n  States:\n    In: {Type: Pass, End: true}\n"), "M", Options{})
	if s == nil || s.Machine.Find("In") == nil || s.Machine.Find("In").Parent() != s {
		t.Errorf("a Map in YAML: %v", problems)
	}
}

func TestParseStateRefuses(t *testing.T) {
	for _, c := range []struct{ text, name, pointer, rule string }{
		{`[]`, "S", "", RuleType},
		{`{`, "S", "", RuleSyntax},
		{`{"Type":"Pass"}`, "S", "", RuleRequired},
		{`{"Type":"Pass","End":true}`, strings.Repeat("x", 81), "", RuleName},
		{`{"Type":"Pass","End":true}`, "", "", RuleName},
		{`{"Type":"Wait","Seconds":1,"End":true,"Result":2}`, "S", "/Result", RuleMisplaced},
		{`{"Type":"Map","End":true,"ItemProcessor":{"StartAt":"S","States":{"S":{"Type":"Pass","End":true}}}}`, "S", "/ItemProcessor/States/S", RuleNameTaken},
		{`{"Type":"Map","End":true,"ItemProcessor":{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"}}}}`, "S", "/ItemProcessor/States/A/Next", RuleTarget},
	} {
		s, problems := ParseState([]byte(c.text), c.name, Options{})
		if s != nil || len(problems) == 0 || problems[0].Pointer != c.pointer || problems[0].Rule != c.rule {
			t.Errorf("%s: %v", c.text, problems)
		}
	}
	if s, problems := ParseState([]byte(`{"Type":"Task","Resource":"task:x","End":true}`), "S", Options{Strict: true}); s != nil || problems[0].Rule != RuleAddition {
		t.Errorf("strict: %v", problems)
	}
	if s, problems := ParseState([]byte(`{"Type":"Pass","End":true}`), "S", Options{MaxBytes: 10}); s != nil || problems[0].Rule != RuleTooLarge {
		t.Errorf("size: %v", problems)
	}
}

func TestReadValue(t *testing.T) {
	v, problems := ReadValue([]byte("- a: 1\n- b\n"), Options{})
	if got := string(expr.Marshal(v)); got != `[{"a":1},"b"]` || len(problems) > 0 {
		t.Errorf("%s %v", got, problems)
	}
	for text, rule := range map[string]string{
		`{"a":1,"a":2}`: RuleDuplicate, "a: [": RuleSyntax, strings.Repeat("[", 300) + strings.Repeat("]", 300): RuleTooLarge,
	} {
		if v, problems := ReadValue([]byte(text), Options{}); v != nil || len(problems) == 0 || problems[0].Rule != rule {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

func TestNewMachine(t *testing.T) {
	par, _ := ParseState([]byte(`{"Type":"Parallel","Next":"B","Branches":[{"StartAt":"In","States":{"In":{"Type":"Pass","End":true}}}]}`), "A", Options{})
	end, _ := ParseState([]byte(`{"Type":"Succeed"}`), "B", Options{})
	m := NewMachine(par, end)
	if m.StartAt != "A" || m.Find("A") != par || m.Find("B") != end || m.Find("In") != par.Branches[0].States["In"] || end.Machine != m {
		t.Errorf("%+v", m)
	}
}
