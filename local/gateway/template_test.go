package gateway

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestReadTemplate(t *testing.T) {
	tests := map[string]struct {
		values    map[string]string
		functions []Function
	}{
		"defaults": {nil, []Function{
			{Name: "probe", LogicalID: "ProbeFunction", Timeout: 20 * time.Second, Memory: 256,
				Env:     map[string]string{"LOG_LEVEL": "debug", "STAGE": "dev-us-east-1", "BARE": "yes", "LIMIT": "010", "JOINED": "a-dev-dev${X}"},
				Unknown: []string{"DATABASE_URL"}},
			{Name: "start", LogicalID: "StartFunction", Timeout: 5 * time.Second, Memory: 128,
				Env:     map[string]string{"LOG_LEVEL": "info", "STAGE": "dev-us-east-1"},
				Unknown: []string{"DATABASE_URL", "HOST", "QUEUE", "SECRET", "TABLE"}},
		}},
		"values": {map[string]string{"Stage": "prod", "BucketName": "b", "DatabaseUrl": "postgres://", "Table.Arn": "arn", "Queue.Url": "q",
			"Api": "a1", "AWS::Region": "eu-central-1"},
			[]Function{
				{Name: "probe", LogicalID: "ProbeFunction", Timeout: 20 * time.Second, Memory: 256,
					Env: map[string]string{"LOG_LEVEL": "debug", "STAGE": "prod-eu-central-1", "BUCKET": "b", "BARE": "no", "LIMIT": "010",
						"JOINED": "a-prod-prod${X}", "DATABASE_URL": "postgres://"}},
				{Name: "production", LogicalID: "ProductionFunction", Timeout: 20 * time.Second, Memory: 256,
					Env: map[string]string{"LOG_LEVEL": "info", "STAGE": "prod-eu-central-1", "DATABASE_URL": "postgres://"}},
				{Name: "start", LogicalID: "StartFunction", Timeout: 10 * time.Second, Memory: 128,
					Env: map[string]string{"LOG_LEVEL": "info", "STAGE": "prod-eu-central-1", "DATABASE_URL": "postgres://", "TABLE": "arn",
						"QUEUE": "q", "HOST": "https://a1.execute-api"},
					Unknown: []string{"SECRET"}},
			}},
	}
	routes := []Route{
		{"ANY", "/v1/{proxy+}", "probe"}, {"GET", "/v1/things/{id}", "probe"},
		{"", "$default", "start"}, {"POST", "/v1/executions", "start"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gotRoutes, functions, err := ReadTemplate("testdata/template.yaml", test.values)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(gotRoutes, routes) {
				t.Errorf("routes\n%+v\nwant\n%+v", gotRoutes, routes)
			}
			for i := range functions {
				if len(functions[i].Unknown) == 0 {
					functions[i].Unknown = nil
				}
			}
			if !reflect.DeepEqual(functions, test.functions) {
				t.Errorf("functions\n%+v\nwant\n%+v", functions, test.functions)
			}
		})
	}
}

// TestBadTemplate names the place and the fault.
func TestBadTemplate(t *testing.T) {
	function := func(properties string) string {
		return "Resources:\n  F:\n    Type: AWS::Serverless::Function\n    Properties:\n      " + strings.ReplaceAll(properties, "\n", "\n      ")
	}
	deep := strings.Repeat("!Sub ['${A}', {A: ", 200) + "x" + strings.Repeat("}]", 200)
	tests := map[string]struct{ text, says string }{
		"no YAML":           {"a: [", "reading the template"},
		"nothing":           {"", "not one document"},
		"a list":            {"- a", "not a mapping"},
		"two documents":     {"a: 1\n---\nb: 2", "not one document"},
		"no resources":      {"a: 1", "no Resources"},
		"timeout":           {function("Timeout: soon"), `F: property Timeout: "soon" is no positive whole number`},
		"memory":            {function("MemorySize: -1"), "F: property MemorySize"},
		"unknown timeout":   {function("Timeout: !Ref T"), "F: property Timeout: T: the value is not known here"},
		"a list variable":   {function("Environment: {Variables: {A: [1]}}"), "F: variable A: it is not a string"},
		"no such condition": {function("Environment: {Variables: {A: !If [C, 1, 2]}}"), `there is no condition "C"`},
		"unknown condition": {"Conditions: {C: !Equals [!Ref P, 1]}\n" + function("Environment: {Variables: {A: !If [C, 1, 2]}}"),
			"variable A: condition C: P: the value is not known here"},
		"own condition": {"Conditions: {C: !Not [!Condition C]}\n" + function("Environment: {Variables: {A: !If [C, 1, 2]}}"), "leads to itself"},
		"bad join":      {function("Environment: {Variables: {A: !Join [x]}}"), "Fn::Join takes"},
		"bad if":        {function("Environment: {Variables: {A: !If [x]}}"), "Fn::If takes"},
		"bad sub":       {function("Environment: {Variables: {A: !Sub [x]}}"), "Fn::Sub takes"},
		"unknown path":  {function("Events: {E: {Type: HttpApi, Properties: {Path: !Ref P}}}"), "F: event E: Path: P"},
		"too deep":      {function("Environment: {Variables: {A: " + deep + "}}"), "levels deep"},
		"alias":         {function("Timeout: *t"), "alias"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "template.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := ReadTemplate(file, nil)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
	if _, _, err := ReadTemplate(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a missing file is read")
	}
}

func TestRates(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"rate(1 minute)": time.Minute, "rate(5 minutes)": 5 * time.Minute, "rate(2 hours)": 2 * time.Hour, "rate(1 day)": 24 * time.Hour,
		"cron(0 12 * * ? *)": 0, "rate(0 minutes)": 0, "rate(1 year)": 0, "": 0,
	} {
		if got := rateOf(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	f := Function{Name: "f", Timeout: 7 * time.Second, Memory: 64, Env: map[string]string{"A": "1", "B": "2"}, Unknown: []string{"C", "D"}}
	if _, err := f.Environment(map[string]string{"D": "4"}); err == nil || err.Error() != "function f: no value is given for C" {
		t.Errorf("got %v", err)
	}
	got, err := f.Environment(map[string]string{"B": "own", "C": "", "D": "4", "E": "5"})
	if err != nil {
		t.Fatal(err)
	}
	want := "A=1 AWS_LAMBDA_FUNCTION_MEMORY_SIZE=64 AWS_LAMBDA_FUNCTION_NAME=f AWS_LAMBDA_FUNCTION_TIMEOUT=7 AWS_REGION=us-east-1 B=own C= D=4 E=5"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q", got)
	}
}
