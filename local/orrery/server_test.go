package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/local/stack"
	"github.com/orrery-dev/orrery/shared/storetest"
	"github.com/orrery-dev/orrery/shared/worker"
)

// greetings waits for a signal and then for a worker.
const greetings = `{"StartAt": "Wait", "States": {
	"Wait": {"Type": "Task", "Resource": "signal:go", "Next": "Greet"},
	"Greet": {"Type": "Task", "Resource": "task:greet", "End": true}}}`

// A console runs command lines against one server.
type console struct {
	t   *testing.T
	url string
}

// run gives what a command printed on both outputs, and its status.
func (c console) run(in string, args ...string) (string, int) {
	var out bytes.Buffer
	p := &cli{out: &out, errs: &out, in: strings.NewReader(in)}
	root := p.root()
	root.SetArgs(append(args, "--url", c.url))
	root.SetOut(io.Discard)
	status := p.report(root.ExecuteContext(context.Background()))
	return out.String(), status
}

// people runs a command as a person does; every pattern must match a line of what it prints.
func (c console) people(status int, patterns []string, args ...string) {
	c.t.Helper()
	got, s := c.run("", args...)
	if s != status {
		c.t.Errorf("%v: status %d, want %d:\n%s", args, s, status, got)
	}
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)^" + p + "$").MatchString(got) {
			c.t.Errorf("%v: no line matches %q:\n%s", args, p, got)
		}
	}
}

// program runs a command with --json and gives the value at a path of the answer, as text.
func (c console) program(path string, args ...string) string {
	c.t.Helper()
	got, status := c.run("", append(args, "--json")...)
	if status != 0 {
		c.t.Fatalf("%v: status %d: %s", args, status, got)
	}
	var v any
	if err := json.Unmarshal([]byte(got), &v); err != nil {
		c.t.Fatalf("%v: not JSON: %v\n%s", args, err, got)
	}
	for step := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			if len(at) == 0 {
				c.t.Fatalf("%v: nothing at %s of %s", args, path, got)
			}
			v = at[0]
		}
	}
	return fmt.Sprint(v)
}

// TestCommandsAgainstAServer goes through every command that asks a server, as a person and as a program.
func TestCommandsAgainstAServer(t *testing.T) {
	s, err := stack.Start(t.Context(), stack.Options{
		Root: "../..", DatabaseURL: storetest.Database(t).Config().ConnString(), Output: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := console{t, s.URL}
	for _, want := range []string{"published", "unchanged"} {
		if got, status := c.run(greetings, "publish", "-", "--name", "greetings"); status != 0 || !strings.HasPrefix(got, "greetings@1  "+want+"  ") {
			t.Fatalf("publish: status %d: %s", status, got)
		}
	}
	c.people(0, []string{`WORKFLOW +VERSION +PUBLISHED +HASH`, `greetings +1 .*`}, "workflows")
	c.starts()
	c.names()
	c.agrees()
	c.works(s.URL)
	c.attends(s.URL)
	c.operates()
	c.schedules()
	c.refuses()
}

// agrees registers a contract, from YAML and from JSON, and takes it away.
func (c console) agrees() {
	c.t.Helper()
	for i, want := range []string{"registered", "unchanged"} {
		in := []string{"type: object\nrequired: [to]\n", `{"required": ["to"], "type": "object"}`}[i]
		if got, status := c.run(in, "contracts", "set", "greet@2", "--input", "-"); status != 0 || !strings.HasPrefix(got, "greet@2  "+want+"  ") {
			c.t.Errorf("contracts set: status %d: %s", status, got)
		}
	}
	c.people(0, []string{`CONTRACT +REGISTERED +HASH`, `greet@2 +.*`}, "contracts", "list")
	c.people(0, []string{`contract +greet@2`, `input +\{"type":"object","required":\["to"\]\}`}, "contracts", "show", "greet@2")
	c.people(1, []string{`.*VERSION_EXISTS.*`}, "contracts", "set", "greet@2", "--output", "testdata/schema.json")
	c.people(2, []string{`.*"greet@x" is not TASK@VERSION.*`}, "contracts", "show", "greet@x")
	c.people(1, []string{`.*CONTRACT_NOT_FOUND.*`}, "contracts", "show", "greet")
	c.people(0, []string{`greet@2 +deleted`}, "contracts", "delete", "greet@2")
}

// starts leaves the execution "one" waiting for its signal, and "two" cancelled.
func (c console) starts() {
	c.t.Helper()
	c.people(0, []string{`one +RUNNING`}, "start", "greetings", "--name", "one", "--input", `{"to":"Ada"}`)
	c.people(0, []string{`one +RUNNING +\(was there already\)`}, "start", "greetings", "--name", "one", "--input", `{"to":"Ada"}`)
	c.people(0, []string{`execution +one`, `status +RUNNING`, `input +\{"to":"Ada"\}`, `history +up to event 3, turn 1`, `Wait +signal +\w+ +go .*`}, "show", "one")
	c.people(0, []string{`two +RUNNING`}, "start", "greetings", "--name", "two")
	c.people(0, []string{`two +CANCELLED`}, "cancel", "two")
	if got, status := c.run("", "wait", "two"); got != "two  CANCELLED\n" || status != 1 {
		c.t.Errorf("wait for a cancelled one: status %d: %q", status, got)
	}
	c.people(0, []string{`EXECUTION +WORKFLOW +VERSION +STATUS .*`, `two +greetings +1 +CANCELLED .*`}, "list", "--status", "cancelled")
	for _, test := range []struct{ path, want, args string }{
		{"executions.0.id", "two", "list"},
		{"units.0.signal", "go", "show one"},
		{"status", "CANCELLED", "show two"},
		{"workflows.0.name", "greetings", "workflows"},
		{"nodes.0.live", "true", "nodes"},
	} {
		if got := c.program(test.path, strings.Fields(test.args)...); got != test.want {
			c.t.Errorf("%s: %s is %s, want %s", test.args, test.path, got, test.want)
		}
	}
}

// names starts "split" by an alias.
func (c console) names() {
	c.t.Helper()
	c.people(0, []string{`greetings:live +1`}, "aliases", "set", "greetings", "live", "1")
	c.people(1, []string{`orrery: .* \(INVALID_REQUEST\)`, ` +versions\[1\].version: published: .*`}, "aliases", "set", "greetings", "live", "1=90", "2=10")
	c.people(2, []string{`orrery: "1" is not VERSION=WEIGHT.*`}, "aliases", "set", "greetings", "live", "1", "2=10")
	c.people(2, []string{`orrery: accepts 1 arg.*`}, "aliases", "list")
	c.people(0, []string{`ALIAS +VERSIONS +UPDATED`, `live +1 .*`}, "aliases", "list", "greetings")
	c.people(0, []string{`split +RUNNING`}, "start", "greetings:live", "--name", "split")
	c.people(0, []string{`split +CANCELLED`}, "cancel", "split")
	c.people(0, []string{`found +RUNNING`}, "start", "greetings", "--name", "found", "--attributes", `{"customer":"c-1","n":1.0}`)
	c.people(0, []string{`found +CANCELLED`}, "cancel", "found")
	if got := c.program("executions.0.id", "list", "--attributes", `{"n":1}`); got != "found" {
		c.t.Errorf("by its attributes %s is found", got)
	}
	if got, status := c.run("", "list", "--attributes", `{"n":2}`); status != 0 || strings.Contains(got, "found") {
		c.t.Errorf("by other attributes: status %d: %s", status, got)
	}
	c.people(1, []string{`orrery: .* \(INVALID_REQUEST\)`, ` +attributes\.n: type=string number boolean: .*`}, "start", "greetings", "--name", "wrong", "--attributes", `{"n":[]}`)
	if got := c.program("aliases.0.versions.0.weight", "aliases", "list", "greetings"); got != "100" {
		c.t.Errorf("the weight of a lone version is %s", got)
	}
	c.people(0, []string{`greetings:live +deleted`}, "aliases", "delete", "greetings", "live")
	c.people(1, []string{`orrery: .* \(ALIAS_NOT_FOUND\)`}, "start", "greetings:live", "--name", "late")
}

// works signals "one" and has a worker end it.
func (c console) works(url string) {
	c.t.Helper()
	c.people(0, []string{`applied +event 4`}, "signal", "one", "go", "--payload", `"now"`)
	c.people(0, []string{`greet@1 +1 +0 .* 0`}, "queues")
	ctx, stop := context.WithCancel(c.t.Context())
	w := worker.New(worker.Config{URL: url, ID: "w1"})
	worker.Handle(w, "greet", 1, func(context.Context, worker.Task, string) (string, error) { return "hello", nil })
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	c.people(0, []string{`one +SUCCEEDED`, `"hello"`}, "wait", "one")
	c.people(0, []string{`w1 +go .* greet@1`}, "workers")
	for _, test := range []struct{ path, want, args string }{
		{"output", "hello", "wait one"},
		{"workers.0.id", "w1", "workers"},
		{"queues.0.task", "greet", "queues"},
		{"events.0.type", "ExecutionStarted", "history one"},
		{"events.0.type", "ExecutionSucceeded", "history one --newest-first"},
	} {
		if got := c.program(test.path, strings.Fields(test.args)...); got != test.want {
			c.t.Errorf("%s: %s is %s, want %s", test.args, test.path, got, test.want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		c.t.Error(err)
	}
	c.people(0, []string{`EVENT +TURN +AT +TYPE +DATA`, `1 +1 .* ExecutionStarted .*`, `4 +2 .* SignalReceived .*"now".*`}, "history", "one")
	c.people(0, []string{`node-1 +true .*`, `node-2 +true .*`}, "nodes")
}

// attends leaves the execution "doubt" with a unit whose outcome its worker did not know, more often than it is redelivered.
func (c console) attends(url string) {
	c.t.Helper()
	if got := c.program("items", "attention"); got != "[]" {
		c.t.Errorf("attention is %s before anything is wrong", got)
	}
	const document = `{"StartAt": "Pay", "States": {"Pay": {"Type": "Task", "Resource": "task:pay", "MaxRedeliveries": 1, "End": true}}}`
	if got, status := c.run(document, "publish", "-", "--name", "payments"); status != 0 {
		c.t.Fatalf("publish: status %d: %s", status, got)
	}
	c.people(0, []string{`doubt +RUNNING`}, "start", "payments", "--name", "doubt")
	ctx, stop := context.WithCancel(c.t.Context())
	w := worker.New(worker.Config{URL: url, ID: "w2"})
	worker.Handle(w, "pay", 1, func(context.Context, worker.Task, any) (any, error) {
		return nil, &worker.Uncertain{Reason: "no answer"}
	})
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	for range 1_000 {
		if c.program("items", "attention") != "[]" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		c.t.Error(err)
	}
	c.people(0, []string{`KIND +SUBJECT +OF +SINCE +WHAT`, `uncertain +doubt +payments@1 .* Pay: pay@1, attempt 1, redelivery 1`}, "attention")
}

// operates gives word on the unit of "doubt", and lets "two" go on, which was cancelled.
func (c console) operates() {
	c.t.Helper()
	c.people(1, []string{`orrery: .*no open unit Nay.* \(COMMAND_REFUSED\)`}, "resolve", "doubt", "Nay", "retry")
	c.people(0, []string{`applied +event \d+`}, "resolve", "doubt", "Pay", "completed", "--output", `{"receipt":7}`)
	c.people(0, []string{`doubt +SUCCEEDED`, `\{"receipt":7\}`}, "wait", "doubt")
	c.people(1, []string{`orrery: .*has succeeded.* \(COMMAND_REFUSED\)`}, "redrive", "doubt")
	c.people(0, []string{`two +RUNNING`}, "redrive", "two")
	c.people(1, []string{`orrery: .*has not ended.* \(COMMAND_REFUSED\)`}, "redrive", "two")
	if got := c.program("events.0.type", "history", "two", "--newest-first"); got != "TaskScheduled" {
		c.t.Errorf("the last event of one that goes on is %s", got)
	}
}

// refuses: a no of the server is status 1 with its code, a command line that cannot be carried out is 2.
func (c console) refuses() {
	c.t.Helper()
	c.people(1, []string{`orrery: .* \(EXECUTION_NOT_FOUND\)`}, "show", "three")
	c.people(1, []string{`orrery: .* \(EXECUTION_FINISHED\)`}, "signal", "one", "go")
	c.people(1, []string{`orrery: .* \(WORKFLOW_NOT_FOUND\)`}, "start", "farewells")
	c.people(2, []string{`orrery: "\{" is not JSON; .*`}, "start", "greetings", "--input", "{")
	c.people(2, []string{`orrery: open missing.yaml: .*`}, "publish", "missing.yaml")
	c.people(2, []string{`orrery: there is no command "frob"; .*`}, "frob")
}
