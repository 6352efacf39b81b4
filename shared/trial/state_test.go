package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// tried tries a state and tells the result on one line: status, output, next, and what else there is.
func tried(t *testing.T, q StateRequest) string {
	t.Helper()
	if q.At == 0 {
		q.At = begin
	}
	r, err := State(q)
	if err != nil {
		return "refused: " + err.Error()
	}
	line := string(r.Status)
	add := func(name, text string) {
		if text != "" {
			line += " " + name + "=" + text
		}
	}
	add("output", string(r.Output))
	add("next", r.Next)
	add("assigned", string(r.Assigned))
	add("undo", string(r.Undo))
	add("error", r.Error)
	add("cause", r.Cause)
	if r.Catcher >= 0 {
		add("catcher", fmt.Sprint(r.Catcher))
	}
	if r.Retrier >= 0 {
		add("retrier", fmt.Sprint(r.Retrier))
	}
	if r.Pause > 0 {
		add("pause", r.Pause.String())
	}
	if r.Waited > 0 {
		add("waited", r.Waited.String())
	}
	return line
}

func result(text string) *Mock { return &Mock{Result: []byte(text)} }

func fails(code, cause string) *Mock {
	return &Mock{Failure: &history.Failure{Code: code, Message: cause}}
}

const (
	handled = `{"Type":"Task","Resource":"task:t","Next":"Done","ResultPath":"$.r","Assign":{"v.$":"$.x"},
		"Retry":[{"ErrorEquals":["Busy"],"IntervalSeconds":2,"BackoffRate":2.5,"MaxAttempts":2},{"ErrorEquals":["States.Timeout"],"MaxAttempts":0}],
		"Catch":[{"ErrorEquals":["Busy"],"Next":"Later"},{"ErrorEquals":["States.TaskFailed"],"ResultPath":"$.e","Next":"Oops"}]}`
	mapped = `{"Type":"Map","ItemsPath":"$.list","ToleratedFailureCount":1,"ToleratedFailurePercentage":60,"End":true,
		"Catch":[{"ErrorEquals":["States.ExceedToleratedFailureThreshold"],"Next":"Many"}],
		"ItemProcessor":{"StartAt":"In","States":{"In":{"Type":"Pass","End":true}}}}`
	parallel = `{"Type":"Parallel","Next":"N","ResultSelector":{"a.$":"$[0]"},"Branches":[
		{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}},{"StartAt":"B","States":{"B":{"Type":"Pass","End":true}}}]}`
)

func TestState(t *testing.T) {
	for _, c := range []struct {
		name string
		q    StateRequest
		want string
	}{
		{"pass", StateRequest{Text: []byte(`{"Type":"Pass","End":true}`), Input: []byte("[1]")}, `SUCCEEDED output=[1]`},
		{"itself", StateRequest{Text: []byte(`{"Type":"Pass","Next":"StateName"}`)}, `SUCCEEDED output={} next=StateName`},
		{"assign", StateRequest{Text: []byte(`{"Type":"Pass","Assign":{"n":2,"m.$":"$v"},"End":true}`), Variables: []byte(`{"v":[3]}`)},
			`SUCCEEDED output={} assigned={"n":2,"m":[3]}`},
		{"no variable", StateRequest{Text: []byte(`{"Type":"Pass","Parameters":{"m.$":"$v"},"End":true}`)},
			`FAILED error=States.Runtime cause=The variable 'v' of the JSONPath '$v' has no value.`},
		{"context", StateRequest{Text: []byte(`{"Type":"Pass","Parameters":{"c.$":"$$"},"End":true}`), Context: []byte(`{"State":{"Name":"X"}}`)},
			`SUCCEEDED output={"c":{"State":{"Name":"X"}}}`},
		{"empty context", StateRequest{Text: []byte(`{"Type":"Pass","InputPath":"$$","End":true}`), Context: []byte(`{}`)}, `SUCCEEDED output={}`},
		{"usual context", StateRequest{Text: []byte(`{"Type":"Pass","Parameters":{"c.$":"$$.State.Name"},"End":true}`), Name: "Here"},
			`SUCCEEDED output={"c":"Here"}`},
		{"succeed", StateRequest{Text: []byte(`{"Type":"Succeed","OutputPath":"$.a"}`), Input: []byte(`{"a":null}`)}, `SUCCEEDED output=null`},
		{"fail", StateRequest{Text: []byte(`{"Type":"Fail","ErrorPath":"$.e","Cause":"c"}`), Input: []byte(`{"e":"E"}`)}, `FAILED error=E cause=c`},
		{"fail without error", StateRequest{Text: []byte(`{"Type":"Fail"}`)}, `FAILED`},
		{"choice", StateRequest{Text: []byte(`{"Type":"Choice","Choices":[{"Variable":"$.n","IsPresent":true,"Next":"Yes","Assign":{"x":1}}],"Default":"No"}`), Input: []byte(`{"n":0}`)},
			`SUCCEEDED output={"n":0} next=Yes assigned={"x":1}`},
		{"default", StateRequest{Text: []byte(`{"Type":"Choice","Choices":[{"Variable":"$.n","IsPresent":true,"Next":"Yes"}],"Default":"No"}`)},
			`SUCCEEDED output={} next=No`},
		{"no choice", StateRequest{Text: []byte(`{"Type":"Choice","Choices":[{"Variable":"$.n","IsPresent":true,"Next":"Yes"}]}`)},
			`FAILED error=States.NoChoiceMatched cause=No choice rule matched and there is no Default.`},
		{"wait", StateRequest{Text: []byte(`{"Type":"Wait","SecondsPath":"$.s","Next":"N"}`), Input: []byte(`{"s":90}`)},
			`SUCCEEDED output={"s":90} next=N waited=1m30s`},
		{"wait for the past", StateRequest{Text: []byte(`{"Type":"Wait","Timestamp":"2001-01-01T00:00:00Z","End":true}`)}, `SUCCEEDED output={}`},
		{"bad wait", StateRequest{Text: []byte(`{"Type":"Wait","SecondsPath":"$.s","End":true}`), Input: []byte(`{"s":-1}`)},
			`FAILED error=States.Runtime cause=The SecondsPath parameter references a negative value: $.s == -1`},

		{"task", StateRequest{Text: []byte(handled), Mock: result(`{"x":5}`)}, `SUCCEEDED output={"r":{"x":5}} next=Done assigned={"v":5}`},
		{"caught", StateRequest{Text: []byte(handled), Mock: fails("Other", "why"), Input: []byte(`{"i":1}`)},
			`CAUGHT_ERROR output={"i":1,"e":{"Error":"Other","Cause":"why"}} next=Oops error=Other cause=why catcher=1`},
		{"retriable", StateRequest{Text: []byte(handled), Mock: fails("Busy", "")}, `RETRIABLE error=Busy retrier=0 pause=2s`},
		{"retriable again", StateRequest{Text: []byte(handled), Mock: fails("Busy", ""), Retries: 1}, `RETRIABLE error=Busy retrier=0 pause=5s`},
		{"used up", StateRequest{Text: []byte(handled), Mock: fails("Busy", ""), Retries: 2},
			`CAUGHT_ERROR output={"Error":"Busy","Cause":""} next=Later error=Busy catcher=0 retrier=0`},
		{"more than used up", StateRequest{Text: []byte(handled), Mock: fails("Busy", ""), Retries: 9},
			`CAUGHT_ERROR output={"Error":"Busy","Cause":""} next=Later error=Busy catcher=0 retrier=0`},
		{"not handled", StateRequest{Text: []byte(handled), Mock: fails("States.Timeout", "")}, `FAILED error=States.Timeout`},
		{"bad parameters", StateRequest{Text: []byte(`{"Type":"Task","Resource":"task:t","Parameters":{"a.$":"$.no"},"End":true,"Catch":[{"ErrorEquals":["States.ALL"],"Next":"C"}]}`), Mock: result("1")},
			`FAILED error=States.Runtime cause=The JSONPath '$.no' specified for the field 'a.$' could not be found in the input '{}'`},
		{"too large", StateRequest{Text: []byte(`{"Type":"Task","Resource":"task:t","End":true}`), Mock: result(`"` + strings.Repeat("x", 262_144) + `"`)},
			`FAILED error=States.DataLimitExceeded cause=The state/task 'StateName' returned a result with a size exceeding the maximum number of bytes service limit.`},
		{"signal", StateRequest{Text: []byte(`{"Type":"Task","Resource":"signal:s","End":true}`), Mock: result("7")}, `SUCCEEDED output=7`},

		{"token", StateRequest{Text: []byte(`{"Type":"Task","Resource":"task:t.waitForTaskToken","Parameters":{"t.$":"$$.Task.Token"},"End":true}`), Mock: result("7")},
			`SUCCEEDED output=7`},
		{"token failed", StateRequest{Text: []byte(`{"Type":"Task","Resource":"task:t.waitForTaskToken","Parameters":{"t.$":"$$.Task.Token"},"End":true}`), Mock: fails("E", "c")},
			`FAILED error=E cause=c`},
		{"token that nobody has", StateRequest{Text: []byte(`{"Type":"Task","Resource":"task:t","Parameters":{"t.$":"$$.Task.Token"},"End":true}`), Mock: result("7"), Context: []byte("{}")},
			`FAILED error=States.Runtime cause=The JSONPath '$$.Task.Token' specified for the field 't.$' could not be found in the input '{}'`},
		{"child", StateRequest{Text: []byte(`{"Type":"Task","Resource":"workflow:ship@1","End":true}`), Mock: result("7")}, `SUCCEEDED output=7`},
		{"distributed map", StateRequest{Text: []byte(strings.Replace(mapped, `"ItemProcessor":{`,
			`"ItemBatcher":{"MaxItemsPerBatch":2},"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},`, 1)),
			Input: []byte(`{"list":[1,2]}`), Mock: result("[1,2]"), Failures: 1}, `SUCCEEDED output=[1,2]`},

		{"compensated", StateRequest{Text: []byte(`{"Type":"Task","Resource":"task:t","End":true,"Compensate":{"Resource":"task:u","Parameters":{"r.$":"$.Result","v.$":"$v"}}}`), Mock: result("7"), Variables: []byte(`{"v":1}`)},
			`SUCCEEDED output=7 undo={"r":7,"v":1}`},
		{"not compensated", StateRequest{Text: []byte(`{"Type":"Task","Resource":"task:t","End":true,"Compensate":{"Resource":"task:u"},"Catch":[{"ErrorEquals":["States.ALL"],"Compensate":true,"Next":"C"}]}`), Mock: fails("E", "c")},
			`CAUGHT_ERROR output={"Error":"E","Cause":"c"} next=C error=E cause=c catcher=0`},

		{"parallel", StateRequest{Text: []byte(parallel), Mock: result("[1,2]")}, `SUCCEEDED output={"a":1} next=N`},
		{"map", StateRequest{Text: []byte(mapped), Input: []byte(`{"list":[1,2]}`), Mock: result("[1,2]"), Failures: 1}, `SUCCEEDED output=[1,2]`},
		{"over the count", StateRequest{Text: []byte(mapped), Input: []byte(`{"list":[1,2,3,4]}`), Mock: result("[]"), Failures: 2},
			`CAUGHT_ERROR output={"Error":"States.ExceedToleratedFailureThreshold","Cause":"The specified tolerated failure threshold was exceeded"} next=Many error=States.ExceedToleratedFailureThreshold cause=The specified tolerated failure threshold was exceeded catcher=0`},
		{"over the percentage", StateRequest{Text: []byte(mapped), Input: []byte(`{"list":[1]}`), Mock: result("[]"), Failures: 1},
			`CAUGHT_ERROR output={"Error":"States.ExceedToleratedFailureThreshold","Cause":"The specified tolerated failure threshold was exceeded"} next=Many error=States.ExceedToleratedFailureThreshold cause=The specified tolerated failure threshold was exceeded catcher=0`},
		{"an iteration's failure", StateRequest{Text: []byte(mapped), Input: []byte(`{"list":[1]}`), Mock: fails("E", "c"), Failures: 5}, `FAILED error=E cause=c`},
		{"no items", StateRequest{Text: []byte(mapped), Input: []byte(`{"list":1}`), Mock: result("[]")},
			`FAILED error=States.Runtime cause=Reference path "$.list" must point to array.`},
		{"items of the context", StateRequest{Text: []byte(strings.Replace(mapped, "$.list", "$$", 1)), Context: []byte(`{}`), Mock: result("[]")},
			`FAILED error=States.Runtime cause=Reference path "$" must point to array.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := tried(t, c.q); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestStateOfADocument(t *testing.T) {
	const document = `{"StartAt":"M","States":{"M":{"Type":"Map","Next":"Last","ItemProcessor":{"StartAt":"In","States":{
		"In":{"Type":"Pass","Result":1,"Next":"On"},"On":{"Type":"Pass","End":true}}}},"Last":{"Type":"Succeed"}}}`
	for name, want := range map[string]string{
		"In":   "SUCCEEDED output=1 next=On",
		"Last": "SUCCEEDED output={}",
		"":     "refused: The document has several states: say which one to try",
		"Out":  "refused: State not found in definition",
		"M":    "refused: State type 'Map' is only supported when a mock is specified",
	} {
		if got := tried(t, StateRequest{Text: []byte(document), Name: name}); got != want {
			t.Errorf("%q: got %s", name, got)
		}
	}
	only := `{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}`
	if got := tried(t, StateRequest{Text: []byte(only)}); got != "SUCCEEDED output={}" {
		t.Errorf("the only state: %s", got)
	}
	// A state of a document is refused for what is wrong anywhere in it, but not for what is not built elsewhere.
	var invalid *definition.InvalidError
	if _, err := State(StateRequest{Text: []byte(strings.Replace(document, `"Succeed"`, `"Success"`, 1)), Name: "In"}); !errors.As(err, &invalid) {
		t.Errorf("%v", err)
	}
	mixed := `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Pass","QueryLanguage":"JSONata","End":true}}}`
	if got := tried(t, StateRequest{Text: []byte(mixed), Name: "A"}); got != "SUCCEEDED output={} next=B" {
		t.Errorf("%s", got)
	}
	beside := `{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}},"OnSignal":{"x":{"StartAt":"X","States":{"X":{"Type":"Pass","Result":1,"End":true}}}},
		"Cleanup":{"StartAt":"Z","States":{"Z":{"Type":"Pass","Result":2,"End":true}}}}`
	for name, want := range map[string]string{"X": "SUCCEEDED output=1", "Z": "SUCCEEDED output=2"} {
		if got := tried(t, StateRequest{Text: []byte(beside), Name: name}); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	language := `{"StartAt":"A","QueryLanguage":"JSONata","States":{"A":{"Type":"Pass","End":true}}}`
	if _, err := State(StateRequest{Text: []byte(language), Name: "A"}); !errors.As(err, &invalid) || invalid.Problems[0].Rule != definition.RuleNotBuilt {
		t.Errorf("the language of the document: %v", err)
	}
}

func TestStateRefuses(t *testing.T) {
	task := []byte(`{"Type":"Task","Resource":"task:t","End":true}`)
	pass := []byte(`{"Type":"Pass","End":true}`)
	writes := strings.NewReplacer(`"ToleratedFailureCount":1,`, `"ResultWriter":{"Resource":"arn:aws:states:::s3:putObject","Parameters":{"Bucket":"b"}},`,
		`"ItemProcessor":{`, `"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},`).Replace(mapped)
	for _, c := range []struct {
		q    StateRequest
		want string
	}{
		{StateRequest{Text: []byte("[1]")}, "Definition must be a valid JSON object"},
		{StateRequest{Text: pass, Mock: result("1")}, "State type 'Pass' is not supported when a mock is specified"},
		{StateRequest{Text: []byte(`{"Type":"Succeed"}`), Mock: fails("E", "")}, "State type 'Succeed' is not supported when a mock is specified"},
		{StateRequest{Text: task}, "State type 'Task' is only supported when a mock is specified"},
		{StateRequest{Text: task, Mock: &Mock{}}, "A mock is either a result or an error"},
		{StateRequest{Text: task, Mock: &Mock{Result: []byte("1"), Failure: &history.Failure{}}}, "A test mock should have only one of the following fields: [result, errorOutput]."},
		{StateRequest{Text: task, Mock: result("not JSON")}, "Mocked result must be valid JSON"},
		{StateRequest{Text: []byte(parallel), Mock: result("{}")}, "Mocked result must be an array."},
		{StateRequest{Text: []byte(parallel), Mock: result("[1]")}, "Mocked result must contain the same number of items as number of Parallel branches."},
		{StateRequest{Text: []byte(mapped), Mock: result("1")}, "Mocked result must be an array."},
		{StateRequest{Text: []byte(writes), Mock: result("[]")}, "Mocked result must be a JSON object."},
		{StateRequest{Text: pass, Input: []byte("{")}, "The input must be valid JSON: "},
		{StateRequest{Text: pass, Variables: []byte("[]")}, "The variables must be a JSON object"},
		{StateRequest{Text: pass, Context: []byte("1")}, "The context must be a JSON object"},
		{StateRequest{Text: pass, Context: []byte("{")}, "The context must be valid JSON: "},
		{StateRequest{Text: pass, Context: []byte(`{"Execution":{"Id":1}}`)}, "Invalid Context object provided: Execution.Id must be a string"},
		{StateRequest{Text: pass, Context: []byte(`{"State":{"RetryCount":"1"}}`)}, "Invalid Context object provided: State.RetryCount must be a number"},
		{StateRequest{Text: pass, Context: []byte(`{"Map":{"Item":{"Index":0,"Value":[]}},"Task":1}`)}, "Invalid Context object provided: Task must be an object"},
		{StateRequest{Text: pass, Context: []byte(`{"Execution":{"Id":"x","Nobody":1}}`)}, "Invalid Context object provided: Field 'Nobody' is not allowed"},
		{StateRequest{Text: pass, Context: []byte(`{"Nothing":{}}`)}, "Invalid Context object provided: Field 'Nothing' is not allowed"},
		{StateRequest{Text: pass, Items: []byte("{}")}, "What an ItemReader has read must be a JSON array"},
		{StateRequest{Text: pass, Retries: maxRetries + 1}, "The number of retries must be between 0 and 1000"},
		{StateRequest{Text: pass, Failures: -1}, "The number of failed iterations must not be negative"},
	} {
		_, err := State(c.q)
		var request *RequestError
		if !errors.As(err, &request) || !strings.HasPrefix(request.Message, c.want) {
			t.Errorf("%s: got %v", c.want, err)
		}
	}
}

// TestSteps checks which values are shown on the way through a state of each type.
func TestSteps(t *testing.T) {
	input := `{"a":{"list":[1,2],"x":3},"k":0}`
	for _, c := range []struct {
		state string
		mock  *Mock
		want  string
	}{
		{`{"Type":"Pass","InputPath":"$.a","Parameters":{"y.$":"$.x"},"ResultPath":"$.r","OutputPath":"$.r","End":true}`, nil,
			`{"afterInputPath":{"list":[1,2],"x":3},"afterParameters":{"y":3},"afterResultSelector":{"y":3},"afterResultPath":{"a":{"list":[1,2],"x":3},"k":0,"r":{"y":3}}}`},
		{`{"Type":"Pass","InputPath":"$.a","Result":7,"End":true}`, nil, `{"result":7,"afterResultSelector":7,"afterResultPath":7}`},
		{`{"Type":"Task","Resource":"task:t","InputPath":"$.a.x","ResultSelector":{"s.$":"$"},"ResultPath":null,"End":true}`, result("8"),
			`{"afterInputPath":3,"afterParameters":3,"result":8,"afterResultSelector":{"s":8},"afterResultPath":` + input + `}`},
		{`{"Type":"Task","Resource":"task:t","InputPath":"$.a.x","End":true}`, fails("E", ""), `{"afterInputPath":3,"afterParameters":3}`},
		{`{"Type":"Choice","InputPath":"$.a","Choices":[{"Variable":"$.x","IsNumeric":true,"Next":"N"}]}`, nil, `{"afterInputPath":{"list":[1,2],"x":3}}`},
		{`{"Type":"Wait","Seconds":1,"InputPath":"$.k","End":true}`, nil, `{"afterInputPath":0}`},
		{`{"Type":"Fail","Error":"E"}`, nil, `{"afterInputPath":` + input + `}`},
		{`{"Type":"Parallel","InputPath":"$.a","ResultPath":"$.r","End":true,"Branches":[{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}]}`, result("[1]"),
			`{"afterResultSelector":[1],"afterResultPath":{"a":{"list":[1,2],"x":3},"k":0,"r":[1]}}`},
		{`{"Type":"Map","InputPath":"$.a","ItemsPath":"$.list","ItemSelector":{"v.$":"$$.Map.Item.Value","x.$":"$.x"},"MaxConcurrencyPath":"$.x","ToleratedFailureCount":1,"ToleratedFailurePercentage":2.5,"End":true,"ItemProcessor":{"StartAt":"In","States":{"In":{"Type":"Pass","End":true}}}}`, result("[]"),
			`{"afterInputPath":{"list":[1,2],"x":3},"afterItemsPath":[1,2],"afterItemSelector":[{"v":1,"x":3},{"v":2,"x":3}],"afterResultSelector":[],"afterResultPath":[],"maxConcurrency":3,"toleratedFailureCount":1,"toleratedFailurePercentage":2.5}`},
	} {
		r, err := State(StateRequest{Text: []byte(c.state), Input: []byte(input), Mock: c.mock, At: begin})
		if err != nil {
			t.Errorf("%s: %v", c.state, err)
			continue
		}
		want := `{"input":` + input + "," + c.want[1:]
		if got := string(expr.Marshal(r.Steps)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", c.state, got, want)
		}
	}
}

func TestRetryCountIsInTheContext(t *testing.T) {
	state := `{"Type":"Task","Resource":"task:t","Parameters":{"n.$":"$$.State.RetryCount"},"Retry":[{"ErrorEquals":["E"],"MaxAttempts":5}],"End":true}`
	r, err := State(StateRequest{Text: []byte(state), Mock: fails("E", ""), Retries: 3, At: begin})
	if err != nil {
		t.Fatal(err)
	}
	v, _ := r.Steps.Get("afterParameters")
	if got := string(expr.Marshal(v)); got != `{"n":3}` || r.Status != Retriable || r.Pause != 8*time.Second {
		t.Errorf("%s %+v", got, r)
	}
}

// FuzzState looks for states and inputs that panic, or that come to no result.
func FuzzState(f *testing.F) {
	f.Add(handled, `{"x":1}`, `{"x":5}`)
	f.Add(mapped, `{"list":[1,2]}`, `[1]`)
	f.Add(parallel, `{}`, `[1,2]`)
	f.Add(`{"Type":"Choice","Choices":[{"Variable":"$.n","IsPresent":true,"Next":"Yes"}],"Default":"No"}`, `{"n":1}`, ``)
	f.Add(`{"Type":"Wait","SecondsPath":"$.s","Next":"N"}`, `{"s":90}`, ``)
	f.Fuzz(func(t *testing.T, state, input, mock string) {
		q := StateRequest{Text: []byte(state), Input: []byte(input), At: begin}
		if mock != "" {
			q.Mock = result(mock)
		}
		r, err := State(q)
		if err == nil && (r.Status == "" || r.Status == Succeeded && !json.Valid(r.Output)) {
			t.Fatalf("%+v", r)
		}
	})
}
