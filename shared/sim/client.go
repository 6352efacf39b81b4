package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/wire"
)

// clients ask, and keep what they asked and were answered, for the check at the end.
type clients struct {
	world *world

	mu      sync.Mutex
	clock   int64              // orders calls and answers
	asked   map[string][]asked // by execution
	reports map[attempt][]asked
	helped  int
	// versions counts the documents of each workflow.
	versions map[string]int
}

// asked is one request with its answer, between two ticks of the clients' clock.
type asked struct {
	request  Step
	token    string // of a report
	answer   reply
	from, to int64
}

// reply is what a client was told.
type reply struct {
	kind replyKind
	// what a read or a result has shown
	status  wire.Status
	signals string
	created bool
}

type replyKind string

const (
	told     replyKind = "told"      // it happened
	notThere replyKind = "not there" // there is no such execution
	tooLate  replyKind = "too late"  // the execution had ended
	nothing  replyKind = "nothing"   // nothing happened
	declined replyKind = "declined"  // the owner has refused it
	unsure   replyKind = "unsure"    // it may have happened, or still happen
)

func newClients(w *world) *clients {
	return &clients{world: w, asked: map[string][]asked{}, reports: map[attempt][]asked{}, versions: map[string]int{}}
}

func (c *clients) tick() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	return c.clock
}

// never is the end of a request of which nobody knows when it has happened.
const never = int64(1) << 40

// ask makes a request, and repeats it through other processes where that is safe and the first try told nothing.
func (c *clients) ask(s Step) {
	x := asked{request: s, from: c.tick()}
	repeatable := s.Do == Start || s.Do == Signal && s.Key > 0
	for try := range 4 {
		p := c.world.process(s.Who)
		if alive := c.world.alive(); try > 0 && len(alive) > 0 {
			p = alive[int(c.world.chance(1<<20, s.String(), try))%len(alive)]
		}
		got := c.send(p, s, try)
		x.answer = worse(x.answer, got)
		if got.kind != nothing && got.kind != unsure || !repeatable {
			break
		}
		time.Sleep(time.Duration(try+1) * 200 * time.Millisecond)
	}
	if x.to = c.tick(); x.answer.kind == unsure {
		x.to = never
	}
	if s.Do == Publish {
		return // it is about no execution
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[s.On] = append(c.asked[s.On], x)
}

// worse joins what two tries have told: the later one, but for a try of which nothing is known, which can happen later still.
func worse(before, now reply) reply {
	if before.kind == unsure && now.later() {
		return before
	}
	return now
}

// later tells whether the request can have its effect later still, if another copy of it is on its way: there may be an execution
// then, or it may have been redriven.
func (r reply) later() bool { return r.kind == nothing || r.kind == notThere || r.kind == tooLate }

// send sends a request on its way, with what becomes of it there.
func (c *clients) send(p *process, s Step, try int) reply {
	time.Sleep(c.world.chance(5*time.Millisecond, s.String(), try))
	if try == 0 && s.Net == RequestLost {
		return reply{kind: nothing}
	}
	if try == 0 && s.Net == Doubled {
		c.world.wait(func() {
			time.Sleep(c.world.chance(500*time.Millisecond, s.String(), "again"))
			_ = c.serve(p, s)
		})
	}
	got := c.serve(p, s)
	c.world.note("answer to %s %s %d through %s: %+v", s.Do, s.On, s.Key, p.name, got)
	if try == 0 && s.Net == ResponseLost || s.Net == Doubled && got.later() {
		return reply{kind: unsure} // the other of two may come later, and happen
	}
	return got
}

// serve has a process serve a request, and checks the answer as it leaves.
func (c *clients) serve(p *process, s Step) reply {
	call := auth.Call{Namespace: "default", RequestID: fmt.Sprint(s.Do, s.On, s.Key)}
	got, err, answered := request(p, func(ctx context.Context, f *frontend.Frontend) (reply, error) {
		switch s.Do {
		case Start:
			return c.start(ctx, f, call, s)
		case Signal:
			if s.Key > 0 {
				call.IdempotencyKey = fmt.Sprint(s.On, s.Key)
			}
			return c.signal(ctx, f, call, s)
		case Cancel:
			a, err := f.Cancel(ctx, call, s.On, wire.CancelRequest{Reason: "sim"})
			return confirmed(a.Confirmed), err
		case Result:
			return c.result(ctx, f, call, s)
		case Redrive:
			a, err := f.Redrive(ctx, call, s.On, wire.RedriveRequest{Reason: "sim"})
			return confirmed(a.Confirmed), err
		case Resolve:
			return c.resolve(ctx, f, call, s)
		case Publish:
			return c.publish(ctx, f, call, s)
		default:
			return c.read(ctx, f, call, s)
		}
	})
	if !answered {
		return reply{kind: unsure}
	}
	if err != nil {
		return c.refusal(s, err)
	}
	return got
}

func confirmed(yes bool) reply {
	if yes {
		return reply{kind: told}
	}
	return reply{kind: unsure}
}

func (c *clients) start(ctx context.Context, f *frontend.Frontend, call auth.Call, s Step) (reply, error) {
	q := wire.StartRequest{Workflow: c.world.schedule.workflowOf(s.On), Name: s.On, Input: json.RawMessage(`{"of":"` + s.On + `","items":[1,2,3]}`)}
	_, created, err := f.Start(ctx, call, q)
	if err == nil {
		c.world.audit.started(s.On)
	}
	return reply{kind: told, created: created}, err
}

func (c *clients) signal(ctx context.Context, f *frontend.Frontend, call auth.Call, s Step) (reply, error) {
	payload := fmt.Sprint(s.Key)
	a, err := f.Signal(ctx, call, s.On, "go", wire.SignalRequest{Payload: json.RawMessage(payload)})
	if err == nil && a.Confirmed {
		c.world.audit.signalled(s.On, payload, a.Event)
	}
	return confirmed(a.Confirmed), err
}

func (c *clients) result(ctx context.Context, f *frontend.Frontend, call auth.Call, s Step) (reply, error) {
	a, err := f.Result(ctx, call, s.On, wire.ResultQuery{WaitMS: s.For.Milliseconds()})
	if err == nil && a.Status.Ended() {
		c.world.audit.finished(s.On, a.Status)
	}
	return reply{kind: told, status: a.Status}, err
}

// words are what an operator says about a unit that is uncertain.
var words = []wire.ResolveRequest{
	{Resolution: history.ResolveRetry},
	{Resolution: history.ResolveCompleted, Output: json.RawMessage(`{"by":"hand"}`)},
	{Resolution: history.ResolveFailed, Error: &wire.TaskError{Code: "Sim.ByHand"}},
}

// resolve gives word on one of the units that are uncertain, if there is one.
func (c *clients) resolve(ctx context.Context, f *frontend.Frontend, call auth.Call, s Step) (reply, error) {
	unit := c.world.audit.uncertain(s.On)
	if unit == "" {
		return reply{kind: nothing}, nil
	}
	q := words[s.Key]
	q.Unit = string(unit)
	a, err := f.Resolve(ctx, call, s.On, q)
	if err == nil && a.Confirmed {
		c.world.audit.ruled(s.On, a.Event)
	}
	return confirmed(a.Confirmed), err
}

// publish publishes a document that no other version of the workflow has.
func (c *clients) publish(ctx context.Context, f *frontend.Frontend, call auth.Call, s Step) (reply, error) {
	c.mu.Lock()
	c.versions[s.On]++
	n := 1 + c.versions[s.On]
	c.mu.Unlock()
	_, created, err := f.Publish(ctx, call, wire.PublishRequest{Name: s.On, Document: documentOf(s.On, n)}, false)
	return reply{kind: told, created: created}, err
}

// read reads the signals and the end from the history.
func (c *clients) read(ctx context.Context, f *frontend.Frontend, call auth.Call, s Step) (reply, error) {
	h, err := f.History(ctx, call, s.On, wire.HistoryQuery{Limit: 1000})
	out := reply{kind: told, status: wire.Running}
	var signals []string
	for _, e := range h.Events {
		switch status, ends := endTypes[e.Type]; {
		case ends:
			out.status = status
		case e.Type == "ExecutionRedriven":
			out.status = wire.Running
		case e.Type == "SignalReceived":
			var data struct{ Input json.RawMessage }
			if err := json.Unmarshal(e.Data, &data); err != nil {
				return out, err
			}
			signals = append(signals, string(data.Input))
		}
	}
	out.signals = strings.Join(signals, " ")
	return out, err
}

// endTypes are the events that end an execution.
var endTypes = map[string]wire.Status{
	"ExecutionSucceeded": wire.Succeeded, "ExecutionFailed": wire.Failed, "ExecutionTimedOut": wire.TimedOut, "ExecutionAborted": wire.Cancelled,
}

// refusal is what an error tells the client. An error that no client should see is a failure of the run.
func (c *clients) refusal(s Step, err error) reply {
	var e *wire.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return reply{kind: unsure}
	case !errors.As(err, &e):
		c.world.fail("%s %s through %s: %v", s.Do, s.On, s.Who, err)
		return reply{kind: unsure}
	}
	switch e.Code {
	case wire.ExecutionNotFound:
		return reply{kind: notThere}
	case wire.ExecutionFinished:
		return reply{kind: tooLate}
	case wire.CommandRefused:
		if s.Do == Redrive || s.Do == Resolve {
			return reply{kind: declined}
		}
	case wire.Unavailable, wire.NotReady:
		return reply{kind: nothing}
	case wire.OutcomeUnknown:
		return reply{kind: unsure}
	}
	c.world.fail("%s %s through %s: %v", s.Do, s.On, s.Who, err)
	return reply{kind: unsure}
}

// workflowOf is the workflow of an execution by its name.
func (s Schedule) workflowOf(name string) string {
	var n int
	if _, err := fmt.Sscanf(name, "e%d", &n); err != nil {
		panic(err)
	}
	return s.Shape.Workflows[n-1]
}

// help sends a signal to every execution that waits for one, and has what is uncertain tried again, so that all can end.
func (c *clients) help() {
	for _, name := range c.world.audit.held() {
		c.helped++
		if alive := c.world.alive(); len(alive) > 0 {
			c.ask(Step{Do: Resolve, On: name, Who: alive[c.helped%len(alive)].name})
		}
	}
	for _, name := range c.world.audit.deaf() {
		c.helped++
		if alive := c.world.alive(); len(alive) > 0 {
			p := alive[c.helped%len(alive)]
			c.ask(Step{Do: Signal, On: name, Who: p.name, Key: 1000 + c.helped})
		}
	}
}

// reported keeps a report with its answer.
func (c *clients) reported(t wire.Assignment, x asked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports[attemptOf(t)] = append(c.reports[attemptOf(t)], x)
}

// byToken is whoever got the token of a task that waits for it: the task is reported with that until somebody has taken it.
func (c *clients) byToken(t wire.Assignment, token string) {
	t.Unit = strings.TrimSuffix(t.Unit, string(history.SubmitKey("")))
	for try := 0; !c.world.ended(); try++ {
		time.Sleep(c.world.chance(time.Second, "token", known(t.Execution), t.Unit, t.Attempt, try))
		alive := c.world.alive()
		if len(alive) == 0 {
			continue
		}
		x := asked{request: Step{Do: "complete", On: t.Execution, Who: "token"}, token: token, from: c.tick()}
		q := wire.CompleteRequest{Reports: []wire.Completion{{Token: token, Output: json.RawMessage(`{"by":"token"}`)}}}
		a, err, answered := request(alive[try%len(alive)], func(ctx context.Context, f *frontend.Frontend) (wire.ReportResponse, error) {
			a, err := f.Complete(ctx, auth.Call{Namespace: "default", RequestID: fmt.Sprint(token, try)}, q)
			if err == nil && a.Results[0].Outcome == wire.ReportAccepted {
				c.world.audit.accepted(t, false)
			}
			return a, err
		})
		if x.answer = reportReply(a, err, answered); x.answer.kind == unsure {
			x.to = never
		} else {
			x.to = c.tick()
		}
		c.reported(t, x)
		if x.answer.kind == told {
			return
		}
	}
}

// reportReply is what the answer to a report tells.
func reportReply(a wire.ReportResponse, err error, answered bool) reply {
	var e *wire.Error
	switch {
	case answered && err == nil && a.Results[0].Outcome != wire.ReportRetry:
		return reply{kind: told, status: wire.Status(a.Results[0].Outcome)}
	case answered && (err == nil || errors.As(err, &e) && (e.Code == wire.Unavailable || e.Code == wire.NotReady)):
		return reply{kind: nothing}
	}
	return reply{kind: unsure}
}

// executions lists those that were asked about, by name.
func (c *clients) executions() (names []string) {
	for name := range c.asked {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
