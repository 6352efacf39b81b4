package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

// events makes a history of lines "id previous type [name or index] [value]".
func events(t *testing.T, text string) []recordedEvent {
	t.Helper()
	var list []recordedEvent
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		var id, previous int
		fmt.Sscan(words[0], &id)
		fmt.Sscan(words[1], &previous)
		details := expr.NewObject()
		for _, word := range words[3:] {
			name, value, _ := strings.Cut(word, "=")
			v, err := expr.Parse([]byte(value))
			if err != nil {
				v = value
			}
			details.Set(name, v)
		}
		raw := fmt.Sprintf(`{"id":%d,"previousEventId":%d,"type":%q,"someEventDetails":%s}`, id, previous, words[2], expr.Marshal(details))
		var e recordedEvent
		if err := json.Unmarshal([]byte(raw), &e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// aMap has two iterations side by side, of which each does a task; a third takes the slot of the first.
const aMap = `
1 0 ExecutionStarted
2 0 MapStateEntered name=M
3 2 MapStateStarted length=3
4 3 MapIterationStarted name=M index=0
5 3 MapIterationStarted name=M index=1
6 4 TaskStateEntered name=T
7 6 LambdaFunctionScheduled input=0
8 5 TaskStateEntered name=T
9 8 LambdaFunctionScheduled input=1
10 9 LambdaFunctionSucceeded output=11
11 7 LambdaFunctionSucceeded output=10
12 11 TaskStateExited name=T output=10
13 12 MapIterationSucceeded name=M index=0
14 12 MapIterationStarted name=M index=2
15 14 TaskStateEntered name=T
16 15 LambdaFunctionScheduled input=2
17 10 TaskStateExited name=T output=11
18 17 MapIterationSucceeded name=M index=1
19 16 LambdaFunctionSucceeded output=12
20 19 TaskStateExited name=T output=12
21 20 MapIterationSucceeded name=M index=2
22 21 MapStateSucceeded
23 21 MapStateExited name=M
24 23 ExecutionSucceeded`

// otherwise is the same with the iterations woven in another way.
const otherwise = `
1 0 ExecutionStarted
2 0 MapStateEntered name=M
3 2 MapStateStarted length=3
4 3 MapIterationStarted name=M index=0
5 4 TaskStateEntered name=T
6 5 LambdaFunctionScheduled input=0
7 6 LambdaFunctionSucceeded output=10
8 7 TaskStateExited name=T output=10
9 8 MapIterationSucceeded name=M index=0
10 8 MapIterationStarted name=M index=1
11 10 TaskStateEntered name=T
12 11 LambdaFunctionScheduled input=1
13 12 LambdaFunctionSucceeded output=11
14 13 TaskStateExited name=T output=11
15 14 MapIterationSucceeded name=M index=1
16 3 MapIterationStarted name=M index=2
17 16 TaskStateEntered name=T
18 17 LambdaFunctionScheduled input=2
19 18 LambdaFunctionSucceeded output=12
20 19 TaskStateExited name=T output=12
21 20 MapIterationSucceeded name=M index=2
22 21 MapStateSucceeded
23 21 MapStateExited name=M
24 23 ExecutionSucceeded`

const aParallel = `
1 0 ExecutionStarted
2 0 ParallelStateEntered name=P
3 2 ParallelStateStarted
4 3 PassStateEntered name=A
5 3 MapStateEntered name=B
6 5 MapStateStarted length=1
7 6 MapIterationStarted name=B index=0
8 7 PassStateEntered name=I
9 4 PassStateExited name=A
10 9 PassStateEntered name=A2
11 8 PassStateExited name=I
12 11 MapIterationSucceeded name=B index=0
13 11 MapStateSucceeded
14 11 MapStateExited name=B
15 10 PassStateExited name=A2
16 15 ParallelStateSucceeded
17 15 ParallelStateExited name=P
18 17 ExecutionSucceeded`

func TestWeave(t *testing.T) {
	for _, c := range []struct {
		history string
		threads string
	}{
		{aMap, " 1-2-3-22-23-24, M#1[0]/ 4-6-7-11-12-13, M#1[1]/ 5-8-9-10-17-18, M#1[2]/ 14-15-16-19-20-21"},
		{otherwise, " 1-2-3-22-23-24, M#1[0]/ 4-5-6-7-8-9, M#1[1]/ 10-11-12-13-14-15, M#1[2]/ 16-17-18-19-20-21"},
		{aParallel, " 1-2-3-16-17-18, P#1[A]/ 4-9-10-15, P#1[B]/ 5-6-13-14, P#1[B]/B#1[0]/ 7-8-11-12"},
		{`1 0 ExecutionStarted
2 0 MapStateEntered name=M
3 2 MapStateStarted length=2
4 3 MapIterationStarted name=M index=0
5 3 MapIterationStarted name=M index=1
6 4 FailStateEntered name=F
7 5 TaskStateEntered name=T
8 6 MapIterationFailed name=M index=0
9 6 MapIterationAborted name=M index=1
10 6 TaskStateAborted
11 6 MapStateStarted length=2
12 11 MapIterationStarted name=M index=0
13 12 FailStateEntered name=F
14 13 MapIterationFailed name=M index=0
15 13 MapStateFailed
16 15 MapStateExited name=M
17 16 ExecutionSucceeded`, " 1-2-3-11-15-16-17, M#1[0]/ 4-6-8, M#1[1]/ 5-7-9-10, M#2[0]/ 12-13-14"},
	} {
		var got []string
		for _, thread := range weave(events(t, c.history)).threads {
			var ids []string
			for _, e := range thread.events {
				ids = append(ids, fmt.Sprint(e.id))
			}
			got = append(got, thread.key+" "+strings.Join(ids, "-"))
		}
		if got := strings.Join(got, ", "); got != c.threads {
			t.Errorf("got  %s\nwant %s", got, c.threads)
		}
	}
}

func TestCompareThreads(t *testing.T) {
	// Blanked events have no ids, and the recording has lost the event that tells of the Parallel's success.
	blanked := `
1 0 ExecutionStarted
2 0 ParallelStateEntered name=P
3 2 ParallelStateStarted
0 0 MapIterationStarted name=B index=0
0 0 MapIterationSucceeded name=B index=0
0 0 MapStateEntered name=B
0 0 MapStateExited name=B
0 0 MapStateStarted length=1
0 0 MapStateSucceeded
0 0 PassStateEntered name=A
0 0 PassStateEntered name=A2
0 0 PassStateEntered name=I
0 0 PassStateExited name=A
0 0 PassStateExited name=A2
0 0 PassStateExited name=I
17 15 ParallelStateExited name=P
18 17 ExecutionSucceeded`
	swapped := strings.NewReplacer("12 11 TaskStateExited name=T output=10", "12 11 MapIterationSucceeded name=M index=0",
		"13 12 MapIterationSucceeded name=M index=0", "13 12 TaskStateExited name=T output=10").Replace(aMap)
	for _, c := range []struct {
		name, want, got string
		diff            string // empty for none
	}{
		{"woven otherwise", aMap, otherwise, ""},
		{"the order within an iteration", aMap, swapped, "M#1[0]/event 5: recorded TaskStateExited, got MapIterationSucceeded"},
		{"what another iteration did", aMap, strings.Replace(aMap, "input=1", "input=0", 1), "M#1[1]/event 3: LambdaFunctionScheduled.input: recorded 1, got 0"},
		{"an iteration more", aMap, strings.Replace(aMap, "index=2", "index=3", 2), "M#1[2]/ was recorded and is not among ours"},
		{"a branch that was not recorded", strings.Replace(aParallel, "4 3 PassStateEntered name=A\n", "", 1), aParallel, "event 4: recorded PassStateExited, got ParallelStateSucceeded"},
		{"blanked ids", blanked, aParallel, ""},
		{"blanked, and one is missing", strings.Replace(blanked, "0 0 PassStateExited name=I\n", "", 1), aParallel, "we have 1 events more"},
		{"blanked, and one is another", strings.Replace(blanked, "0 0 PassStateExited name=I", "0 0 PassStateExited name=J", 1), aParallel, "recorded event PassStateExited is not among ours"},
	} {
		diff := compareHistory(newMatcher(), events(t, c.want), events(t, c.got), false)
		if (diff == "") != (c.diff == "") || !strings.Contains(diff, c.diff) {
			t.Errorf("%s: %q", c.name, diff)
		}
	}
}

func TestAnswersOfARecording(t *testing.T) {
	a := answersOf(events(t, aMap))
	for key, want := range map[string]string{"0/T": "10", "1/T": "11", "2/T": "12"} {
		if len(a[key]) != 1 || string(a[key][0].Output) != want {
			t.Errorf("%s: %+v", key, a[key])
		}
	}
	if len(a) != 3 {
		t.Errorf("%+v", a)
	}
}

func TestSequential(t *testing.T) {
	for text, want := range map[string]bool{
		`{"States":{"A":{"Type":"Pass"}}}`:                                                                                           true,
		`{"States":{"A":{"Type":"Parallel","Branches":[{}]}}}`:                                                                       true,
		`{"States":{"A":{"Type":"Parallel","Branches":[{},{}]}}}`:                                                                    false,
		`{"States":{"A":{"Type":"Map"}}}`:                                                                                            false,
		`{"States":{"A":{"Type":"Map","MaxConcurrency":1}}}`:                                                                         true,
		`{"States":{"A":{"Type":"Map","MaxConcurrencyPath":"$.n"}}}`:                                                                 false,
		`{"States":{"A":{"Type":"Map","ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED"},"States":{}}}}}`:                     false,
		`{"States":{"A":{"Type":"Map","MaxConcurrency":1,"ItemProcessor":{"States":{"B":{"Type":"Parallel","Branches":[{},{}]}}}}}}`: false,
	} {
		if got := sequential(value(t, text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
