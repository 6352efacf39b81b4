package trial

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

const begin history.Time = 1_796_000_000_000

// play runs a document against a script.
func play(t *testing.T, document, script string, o Options) (*Run, error) {
	t.Helper()
	world, problems := ParseScript([]byte(script))
	if world == nil {
		t.Fatalf("script: %v", problems)
	}
	o.At, o.Comings = begin, world.Comings
	o.Start.Namespace, o.Start.Name, o.Start.Workflow = "ns", "run", "wf"
	if o.Start.Input == nil {
		o.Start.Input = []byte("{}")
	}
	return Execute(machineOf(t, document), world, o)
}

// story lists the events of a run with the clock of each.
func story(r *Run) string {
	var b strings.Builder
	for _, turn := range r.Turns {
		for _, v := range turn.Views {
			fmt.Fprintf(&b, "%s %s %s\n", turn.At.Sub(r.Start), v.Type, v.Unit)
		}
	}
	return b.String()
}

const oneTask = `{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"task:t","HeartbeatSeconds":5,"TimeoutSeconds":90,"End":true}}}`

func TestAWorkerBeatsUntilItAnswers(t *testing.T) {
	r, err := play(t, oneTask, `{"tasks":{"t":[{"output":1,"after":"80s"}]}}`, Options{})
	if err != nil || r.State.Status() != history.Succeeded || r.Clock() != 80*time.Second {
		t.Fatalf("%v\n%s", err, story(r))
	}
	if len(r.Turns) != 3 {
		t.Errorf("%d turns: heartbeats are none\n%s", len(r.Turns), story(r))
	}
	r, err = play(t, oneTask, `{"tasks":{"t":[{"silent":true}]}}`, Options{})
	if err != nil || r.State.Status() != history.Failed || r.Clock() != 5*time.Second {
		t.Errorf("silent: %v\n%s", err, story(r))
	}
	r, err = play(t, oneTask, `{"tasks":{"t":[{"output":1,"after":"91s"}]}}`, Options{})
	if err != nil || r.State.Status() != history.Failed || r.Clock() != 90*time.Second {
		t.Errorf("too late: %v\n%s", err, story(r))
	}
	r, err = play(t, oneTask, `{"tasks":{"t":[{"output":1,"after":"90s"}]}}`, Options{})
	if err != nil || r.State.Status() != history.Succeeded {
		t.Errorf("an answer at the last moment: %v\n%s", err, story(r))
	}
}

// TestWhatHappensAtOnceIsOneTurn: claims of one time share a turn, and so do reports; what comes from outside does not.
func TestWhatHappensAtOnceIsOneTurn(t *testing.T) {
	const document = `{"StartAt":"M","States":{"M":{"Type":"Map","End":true,"ItemProcessor":{"StartAt":"T","States":{
		"T":{"Type":"Task","Resource":"task:t","End":true}}}}}}`
	r, err := play(t, document, `{"tasks":{"t":[{"output":1,"after":1,"times":3}]},
		"signals":[{"name":"a","after":1},{"name":"b","after":1}]}`, Options{Start: history.Start{Input: []byte("[1,2,3]")}})
	if err != nil {
		t.Fatal(err)
	}
	var turns []string
	for _, turn := range r.Turns {
		turns = append(turns, fmt.Sprintf("%s x%d", turn.Views[0].Type, len(turn.Views)))
	}
	if got, want := strings.Join(turns, ", "), "ExecutionStarted x12, TaskStarted x3, TaskSucceeded x12"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "the signal a, 1s after the start, had no effect") {
		t.Errorf("notes: %q", r.Notes)
	}
}

func TestTheSameRunTwice(t *testing.T) {
	const document = `{"StartAt":"P","States":{"P":{"Type":"Pass","Parameters":{"id.$":"States.UUID()"},"Next":"T"},
		"T":{"Type":"Task","Resource":"task:t","Retry":[{"ErrorEquals":["States.ALL"],"JitterStrategy":"FULL"}],"End":true}}}`
	const script = `{"tasks":{"t":[{"error":"E","times":2},{"output":1}]}}`
	run := func(seed uint64) string {
		r, err := play(t, document, script, Options{Start: history.Start{Seed: seed}})
		if err != nil {
			t.Fatal(err)
		}
		return story(r) + string(r.Turns[0].Views[2].Data())
	}
	first, again, other := run(1), run(1), run(2)
	if first != again {
		t.Error("one seed, two runs")
	}
	if first == other {
		t.Error("two seeds, one run")
	}
}

func TestSignalsAndWords(t *testing.T) {
	const document = `{"StartAt":"S","States":{"S":{"Type":"Task","Resource":"signal:go","Next":"T"},
		"T":{"Type":"Task","Resource":"task:t","MaxRedeliveries":0,"End":true}}}`
	r, err := play(t, document, `{"signals":[{"name":"go","after":"1h","payload":7}],
		"tasks":{"t":[{"uncertain":"?"},{"output":2}]},
		"resolve":[{"unit":"T","after":"30m","as":"retry"},{"unit":"T","after":"2h","as":"retry"}]}`, Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, story(r))
	}
	if got := string(r.State.End().Output); got != "2" || r.Clock() != 2*time.Hour {
		t.Errorf("%s after %s\n%s", got, r.Clock(), story(r))
	}
	if len(r.Notes) != 1 || r.Notes[0] != "the word on unit T was refused: there is no open unit T" {
		t.Errorf("%q", r.Notes)
	}
}

// TestCompensationsAreAnswered: a compensation is a task of its own contract, and its unit has a key of its own.
func TestCompensationsAreAnswered(t *testing.T) {
	const document = `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"task:book","Compensate":{"Resource":"task:unbook"},"Next":"B"},
		"B":{"Type":"Fail","Error":"No"}},"Cleanup":{"StartAt":"C","States":{"C":{"Type":"Task","Resource":"task:sweep","End":true}}}}`
	r, err := play(t, document, `{"tasks":{"book":[{"output":1}],"unbook":[{"output":2,"after":"1m"}],"sweep":[{"output":3}]}}`, Options{})
	if err != nil || r.State.Status() != history.Failed || r.Clock() != time.Minute {
		t.Errorf("%v\n%s", err, story(r))
	}
	_, err = play(t, document, `{"tasks":{"book":[{"output":1}]}}`, Options{})
	if want := `the script has no answer for attempt 1 of A/Compensate: give one under tasks: "unbook@1" or units: "A/Compensate"`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = play(t, document, `{"tasks":{"book":[{"output":1}],"unbook":[{"silent":true}]}}`, Options{})
	if want := "the execution waits for what does not come: A/Compensate for task:unbook (dispatched)"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestATokenIsPassedOnAtOnce: the answer to a task that ends by its token is what is reported with it.
func TestATokenIsPassedOnAtOnce(t *testing.T) {
	const document = `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"task:ask.waitForTaskToken","Parameters":{"t.$":"$$.Task.Token"},
		"Retry":[{"ErrorEquals":["No"]}],"End":true}}}`
	r, err := play(t, document, `{"tasks":{"task:ask.waitForTaskToken":[{"error":"No","after":"1h"},{"output":5,"after":"1h"}]}}`, Options{})
	if err != nil || string(r.State.End().Output) != "5" || r.Clock() != 2*time.Hour+time.Second {
		t.Errorf("%v\n%s", err, story(r))
	}
}

// TestExecutionsOfOtherWorkflowsAreAnswered: what starts one gets how it ends from the script, and one that is not waited for
// needs none.
func TestExecutionsOfOtherWorkflowsAreAnswered(t *testing.T) {
	const document = `{"StartAt":"A","States":{
		"A":{"Type":"Task","Resource":"workflow:ship@2","Next":"B"},
		"B":{"Type":"Task","Resource":"arn:aws:states:::states:startExecution","Parameters":{"StateMachineArn":"bill"},"ResultPath":null,"Next":"C"},
		"C":{"Type":"Task","Resource":"workflow:ship@2","End":true}}}`
	r, err := play(t, document, `{"tasks":{"workflow:ship@2":[{"output":{"n":1},"after":"1m"},{"error":"Lost","cause":"at sea"}]}}`, Options{})
	if err != nil || r.State.End().Error != "Lost" || r.State.End().Cause != "at sea" || r.Clock() != time.Minute {
		t.Errorf("%v\n%s", err, story(r))
	}
	_, err = play(t, document, `{}`, Options{})
	if want := `the script has no answer for attempt 1 of A: give one under tasks: "workflow:ship@2" or units: "A"`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	cleans := strings.Replace(document, `"StartAt":"A",`, `"StartAt":"A","Cleanup":{"StartAt":"Z","States":{"Z":{"Type":"Succeed"}}},`, 1)
	r, err = play(t, cleans, `{"tasks":{"workflow:ship@2":[{"silent":true}]},"cancel":{"after":"1m"}}`, Options{})
	if err != nil || r.State.Status() != history.Cancelled || !strings.Contains(story(r), "ChildStopped A\n") {
		t.Errorf("%v\n%s", err, story(r))
	}
}

const distributed = `{"StartAt":"M","States":{"M":{"Type":"Map","MaxConcurrency":2,"ToleratedFailureCount":1,"End":true,
	"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"T","States":{
	"T":{"Type":"Task","Resource":"task:t","End":true}}}}}}`

// TestExecutionsOfADistributedMapAreRun: on the clock of the document's own, each with a history of its own.
func TestExecutionsOfADistributedMapAreRun(t *testing.T) {
	three := Options{Start: history.Start{Input: []byte("[1,2,3]")}}
	r, err := play(t, distributed, `{"tasks":{"t":[{"output":7,"after":"1m","times":"always"}]},"units":{"M[1]/T":[{"error":"E","after":"2m"}]}}`, three)
	if err != nil || string(r.State.End().Output) != `[7,{"Status":"FAILED","Error":"E","Cause":""},7]` || r.Clock() != 2*time.Minute {
		t.Fatalf("%v\n%s", err, story(r))
	}
	if len(r.Children) != 3 || len(r.Children[2].Turns) != 3 || r.Children[2].State.Status() != history.Succeeded {
		t.Errorf("%d children", len(r.Children))
	}
	_, err = play(t, distributed, `{"units":{"M[0]/T":[{"silent":true}]}}`, three)
	if want := `the script has no answer for attempt 1 of M[1]/T: give one under tasks: "t@1" or units: "M[1]/T"`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	r, err = play(t, distributed, `{"tasks":{"t":[{"absent":true,"times":"always"}]},"cancel":{"after":"1m"}}`, three)
	if err != nil || r.State.Status() != history.Cancelled || r.Children[1].State.Status() != history.Cancelled {
		t.Errorf("%v\n%s", err, story(r))
	}
	_, err = play(t, distributed, `{"tasks":{"t":[{"silent":true,"times":"always"}]}}`, three)
	if want := "the execution waits for what does not come: M for its executions (waiting), M[0]/T for task:t (dispatched), " +
		"M[1]/T for task:t (dispatched)"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Results are written without a word of the script, unless it has one; only what a server says of executions must be said.
func TestResultsAreWritten(t *testing.T) {
	three := Options{Start: history.Start{Input: []byte("[1,2,3]")}}
	with := func(writer string) string {
		return strings.Replace(distributed, `"End":true,`, `"End":true,"ResultWriter":`+writer+`,`, 1)
	}
	s3 := with(`{"Resource":"arn:aws:states:::s3:putObject","Parameters":{"Bucket":"b","Prefix":"p/"}}`)
	const tasks = `"t":[{"output":[7],"times":"always"}]`
	r, err := play(t, s3, `{"tasks":{`+tasks+`}}`, three)
	if err != nil || !strings.Contains(string(r.State.End().Output), `"ResultWriterDetails":{"Bucket":"b","Key":"p/`) {
		t.Fatalf("%v\n%s", err, story(r))
	}
	r, err = play(t, s3, `{"tasks":{`+tasks+`,"arn:aws:states:::s3:putObject":[{"error":"States.ResultWriterFailed","cause":"no"}]}}`, three)
	if err != nil || r.State.End().Error != "States.ResultWriterFailed" || r.State.End().Cause != "no" {
		t.Errorf("%v\n%s", err, story(r))
	}
	shown := with(`{"WriterConfig":{"Transformation":"NONE"}}`)
	if _, err = play(t, shown, `{"tasks":{`+tasks+`}}`, three); err == nil || !strings.Contains(err.Error(), `under tasks: "results"`) {
		t.Errorf("got %v", err)
	}
	r, err = play(t, shown, `{"tasks":{`+tasks+`,"results":[{"output":[{"Status":"SUCCEEDED"}]}]}}`, three)
	if err != nil || string(r.State.End().Output) != `[{"Status":"SUCCEEDED"}]` {
		t.Errorf("%v\n%s", err, story(r))
	}
	r, err = play(t, with(`{"WriterConfig":{"Transformation":"FLATTEN"}}`), `{"tasks":{`+tasks+`}}`, three)
	if err != nil || string(r.State.End().Output) != `[7,7,7]` {
		t.Errorf("%v\n%s", err, story(r))
	}
}

func TestLimits(t *testing.T) {
	const loop = `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"A"}}}`
	const grows = `{"StartAt":"A","States":{"A":{"Type":"Pass","Result":"0123456789","ResultPath":"$.x","Next":"A"}}}`
	const waits = `{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":86400,"Next":"A"}}}`
	for _, c := range []struct {
		document string
		limits   Limits
		want     string
	}{
		{loop, Limits{Turns: 3}, "stopped after 3 turns"},
		{loop, Limits{Events: 2000}, "stopped after 2000 events"},
		{grows, Limits{Bytes: 10_000}, "stopped after 10000 bytes of history"},
		{waits, Limits{Span: 60 * time.Hour}, "stopped: the clock would have to go on for 72h0m0s, 60h0m0s are allowed"},
	} {
		r, err := play(t, c.document, "{}", Options{Limits: c.limits})
		if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.limits, err)
		}
		if r == nil || len(r.Turns) == 0 {
			t.Errorf("%+v: the run does not show how far it came", c.limits)
		}
	}
}

func TestCheckEndsARun(t *testing.T) {
	enough := errors.New("enough")
	left := 2
	_, err := play(t, `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"A"}}}`, "{}", Options{Check: func() error {
		if left--; left < 0 {
			return enough
		}
		return nil
	}})
	if !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}

func TestAnswersThatAreMissing(t *testing.T) {
	_, err := play(t, oneTask, "{}", Options{})
	var missing *NoAnswerError
	if !errors.As(err, &missing) || missing.Task != "t@1" || missing.Offer.Unit != "T" || missing.Used != "" {
		t.Errorf("%v", err)
	}
	_, err = play(t, oneTask, `{"units":{"T":[{"lost":"gone"}]},"tasks":{"t":[{"output":1}]}}`, Options{})
	want := `the script has no answer for attempt 1, redelivery 1, of T: the 1 under units: "T" are used up`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestAnExecutionThatWaitsForNothing(t *testing.T) {
	const document = `{"StartAt":"M","States":{"M":{"Type":"Map","End":true,"ItemProcessor":{"StartAt":"T","States":{
		"T":{"Type":"Task","Resource":"task:t","End":true}}}}}}`
	_, err := play(t, document, `{"tasks":{"t":[{"silent":true,"times":"always"}]}}`, Options{Start: history.Start{Input: []byte("[1,2,3,4,5,6,7]")}})
	want := "the execution waits for what does not come: M[0]/T for task:t (dispatched), M[1]/T for task:t (dispatched), " +
		"M[2]/T for task:t (dispatched), M[3]/T for task:t (dispatched), M[4]/T for task:t (dispatched), and more"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestInputThatIsNoJSON(t *testing.T) {
	if r, err := play(t, oneTask, "{}", Options{Start: history.Start{Input: []byte("{")}}); r != nil || err == nil {
		t.Errorf("%v %v", r, err)
	}
}
