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
	"github.com/orrery-dev/orrery/shared/wire"
)

// worker is a name under which somebody works. Who dies is followed by another one, who knows nothing of what was before.
type worker struct {
	world *world
	name  string

	mu   sync.Mutex
	life *life
	n    int // counts the lives
}

// life is one worker from hire to death.
type life struct {
	*worker
	number int
	ctx    context.Context
	end    context.CancelFunc

	mu      sync.Mutex
	session string
	beats   int64
	polls   int
	calls   int
	held    map[string]*held // by token
	thawed  chan struct{}    // closed at the end of a pause
	leaving bool
}

// held is a task in work.
type held struct {
	wire.Assignment
	over chan struct{} // closed when the server says that it is not wanted any more
}

// hire begins the first life of a worker.
func (w *world) hire(name string) {
	x := &worker{world: w, name: name}
	w.mu.Lock()
	w.workers[name] = x
	w.mu.Unlock()
	x.begin()
}

func (w *world) worker(name string) *worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.workers[name]
}

func (w *world) workersNow() (out []*worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.workers {
		out = append(out, x)
	}
	return out
}

// employed tells whether a live worker works under the session.
func (w *world) employed(session string) bool {
	return slices.ContainsFunc(w.workersNow(), func(x *worker) bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.life.mu.Lock()
		defer x.life.mu.Unlock()
		return x.life.session == session
	})
}

func (x *worker) begin() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.life != nil {
		x.life.end()
	}
	x.n++
	l := &life{worker: x, number: x.n, held: map[string]*held{}}
	l.ctx, l.end = context.WithCancel(context.Background())
	x.life = l
	x.world.wait(l.work)
	x.world.wait(l.beat)
}

// fire ends the worker.
func (x *worker) fire() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.life.end()
}

// happen does what a step says to a worker.
func (x *worker) happen(s Step) {
	x.mu.Lock()
	l := x.life
	x.mu.Unlock()
	switch s.Do {
	case Pause:
		l.pause(s.For)
	case Stop:
		l.mu.Lock()
		l.leaving = true
		l.mu.Unlock()
		x.world.later(s.For, x.begin)
	case Kill:
		l.end()
		x.world.later(s.For, x.begin)
	}
}

func (l *life) pause(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	thawed := make(chan struct{})
	l.thawed = thawed
	time.AfterFunc(d, func() { close(thawed) })
}

// awake waits while the worker is frozen, and tells whether it lives.
func (l *life) awake() bool {
	l.mu.Lock()
	thawed := l.thawed
	l.mu.Unlock()
	if thawed != nil {
		select {
		case <-thawed:
		case <-l.ctx.Done():
		}
	}
	return l.ctx.Err() == nil
}

func (l *life) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-l.ctx.Done():
	}
}

// errNoAnswer is a call that nobody has answered.
var errNoAnswer = errors.New("sim: no answer")

// through calls some process that runs.
func ask[T any](l *life, what string, f func(context.Context, *frontend.Frontend, auth.Call) (T, error)) (out T, err error) {
	l.mu.Lock()
	l.calls++
	n := l.calls
	l.mu.Unlock()
	occasion := []any{l.name, l.number, what, n}
	l.sleep(l.world.chance(3*time.Millisecond, occasion...))
	alive := l.world.alive()
	if len(alive) == 0 || !l.awake() {
		return out, errNoAnswer
	}
	p := alive[int(l.world.chance(1<<20, occasion...))%len(alive)]
	call := auth.Call{Namespace: "default", RequestID: fmt.Sprint(occasion...)}
	out, err, answered := request(p, func(ctx context.Context, fr *frontend.Frontend) (T, error) { return f(ctx, fr, call) })
	// One answer in forty is lost on the way.
	if lost := l.world.chance(40, append(occasion, "lost")...) == 0; !answered || lost || !l.awake() {
		var zero T
		return zero, errNoAnswer
	}
	return out, err
}

// work polls and works until the end.
func (l *life) work() {
	for l.awake() {
		session := l.register()
		for l.ctx.Err() == nil && session == l.sessionNow() {
			l.mu.Lock()
			leaving := l.leaving
			l.mu.Unlock()
			if leaving {
				l.leave(session)
				return
			}
			l.poll(session)
		}
	}
}

func (l *life) sessionNow() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// register gets a session.
func (l *life) register() string {
	for l.awake() {
		a, err := ask(l, "register", func(ctx context.Context, f *frontend.Frontend, c auth.Call) (wire.RegisterResponse, error) {
			return f.Register(ctx, c, wire.RegisterRequest{WorkerID: l.name, Contracts: []wire.Contract{{Task: "work", Version: 1}}})
		})
		if err == nil {
			l.mu.Lock()
			l.session, l.beats = a.SessionID, 0
			l.mu.Unlock()
			return a.SessionID
		}
		l.sleep(50 * time.Millisecond)
	}
	return ""
}

// forget gives up a session that the server does not know any more; what is in work is finished all the same.
func (l *life) forget(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == session {
		l.session = ""
	}
}

// poll asks for tasks, under one id until there is an answer.
func (l *life) poll(session string) {
	l.mu.Lock()
	l.polls++
	q := wire.PollRequest{SessionID: session, MaxTasks: 1 + l.polls%2, WaitMS: 700, PollID: fmt.Sprintf("%s-%d-%d", l.name, l.number, l.polls)}
	busy := len(l.held)
	l.mu.Unlock()
	if busy > 2 {
		l.sleep(100 * time.Millisecond)
		return
	}
	for range 5 {
		a, err := ask(l, "poll", func(ctx context.Context, f *frontend.Frontend, c auth.Call) (wire.PollResponse, error) {
			a, err := f.Poll(ctx, c, q)
			for _, t := range a.Assignments {
				l.world.audit.assigned(session, t)
			}
			return a, err
		})
		if err == nil {
			l.take(a.Assignments)
			return
		}
		if errors.Is(err, &wire.Error{Code: wire.SessionNotFound}) {
			l.forget(session)
			return
		}
		l.unexpected("poll", err)
		l.sleep(30 * time.Millisecond)
	}
}

// unexpected notes an error that no worker should see.
func (l *life) unexpected(what string, err error) {
	var e *wire.Error
	switch {
	case errors.Is(err, errNoAnswer), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case errors.As(err, &e) && (e.Code == wire.Unavailable || e.Code == wire.NotReady || e.Code == wire.OutcomeUnknown):
	default:
		l.world.fail("%s by %s: %v", what, l.name, err)
	}
}

// take begins tasks.
func (l *life) take(list []wire.Assignment) {
	for _, t := range list {
		h := &held{Assignment: t, over: make(chan struct{})}
		l.mu.Lock()
		l.held[t.Token] = h
		l.mu.Unlock()
		l.world.note("%s has %s of %s, attempt %d, redelivery %d", l.name, t.Unit, t.Execution, t.Attempt, t.Redelivery)
		l.world.wait(func() { l.do(h) })
	}
}

// do does a task: it takes a while, has its effect, and is reported until somebody has taken the report.
func (l *life) do(h *held) {
	occasion := []any{known(h.Execution), h.Unit, h.Attempt, h.Redelivery}
	long := l.world.chance(1200*time.Millisecond, occasion...)
	if l.world.chance(8, append(occasion, "long")...) == 0 {
		long *= 5
	}
	select {
	case <-time.After(long):
	case <-h.over:
		l.drop(h)
		return
	case <-l.ctx.Done():
		return
	}
	if !l.awake() {
		return
	}
	l.world.audit.effect(h.Assignment, l.name)
	kind := l.outcome(h, occasion)
	for l.awake() {
		if l.report(h, kind) {
			break
		}
		l.sleep(100 * time.Millisecond)
	}
	l.drop(h)
	if token := inputOf(h).Token; token != "" && kind == "complete" {
		l.world.wait(func() { l.world.clients.byToken(h.Assignment, token) })
	}
}

// outcome is what the worker will say of a task.
func (l *life) outcome(h *held, occasion []any) Action {
	switch how := l.world.chance(12, append(occasion, "how")...); {
	case how == 0, how < 6 && inputOf(h).Falls:
		return "fail"
	case how == 1 && h.Attempt < 3:
		return "uncertain"
	}
	return "complete"
}

// input is what the workflows give workers.
type input struct {
	Token string // to be passed on
	Falls bool   // it fails more often than others do
}

func inputOf(h *held) (in input) {
	_ = json.Unmarshal(h.Input, &in) // all else is not of interest
	return in
}

// uuidLength is that of the drawn part of the name of a child.
const uuidLength = 36

// known is the name of an execution as far as it follows from the seed: that of a child does not, but for its number in a Map.
func known(name string) string {
	if len(name) > 8 {
		return "a child" + name[uuidLength:]
	}
	return name
}

func (l *life) drop(h *held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, h.Token)
}

// report sends a report once; true when it has been taken.
func (l *life) report(h *held, kind Action) bool {
	x := asked{request: Step{Do: kind, On: h.Execution, Who: l.name}, token: h.Token, from: l.world.clients.tick()}
	a, err := ask(l, "report", func(ctx context.Context, f *frontend.Frontend, c auth.Call) (wire.ReportResponse, error) {
		a, err := l.sendReport(ctx, f, c, h, kind)
		if err == nil && a.Results[0].Outcome == wire.ReportAccepted {
			l.world.audit.accepted(h.Assignment, kind == "uncertain")
		}
		return a, err
	})
	x.answer = reportReply(a, err, !errors.Is(err, errNoAnswer))
	if x.to = l.world.clients.tick(); x.answer.kind == unsure {
		x.to = never
	}
	l.world.clients.reported(h.Assignment, x)
	l.world.note("report by %s of %s in %s, attempt %d: %s %+v %v", l.name, h.Unit, h.Execution, h.Attempt, kind, x.answer, err)
	if err != nil {
		l.unexpected("report", err)
		return false
	}
	l.take(a.Assignments)
	return x.answer.kind == told
}

// sendReport sends it, now and then with a poll.
func (l *life) sendReport(ctx context.Context, f *frontend.Frontend, c auth.Call, h *held, kind Action) (wire.ReportResponse, error) {
	switch kind {
	case "fail":
		return f.Fail(ctx, c, wire.FailRequest{Reports: []wire.Failure{{Token: h.Token, Error: wire.TaskError{Code: "Sim.Failed"}}}})
	case "uncertain":
		return f.Uncertain(ctx, c, wire.UncertainRequest{Reports: []wire.Uncertainty{{Token: h.Token, Reason: "sim"}}})
	}
	q := wire.CompleteRequest{Reports: []wire.Completion{{Token: h.Token, Output: json.RawMessage(`{"by":"` + l.name + `"}`)}}}
	session := l.sessionNow()
	if l.world.chance(3, known(h.Execution), h.Unit, h.Attempt, "poll") == 0 && session != "" {
		l.mu.Lock()
		l.polls++
		q.Poll = &wire.PollRequest{SessionID: session, MaxTasks: 1, WaitMS: 1, PollID: fmt.Sprintf("%s-%d-%d", l.name, l.number, l.polls)}
		l.mu.Unlock()
	}
	a, err := f.Complete(ctx, c, q)
	for _, t := range a.Assignments {
		l.world.audit.assigned(session, t)
	}
	if q.Poll != nil && errors.Is(err, &wire.Error{Code: wire.SessionNotFound}) {
		l.forget(session)
		err = errNoAnswer // nothing was written: the report goes again without the poll
	}
	return a, err
}

// beat heartbeats until the end.
func (l *life) beat() {
	for l.awake() {
		l.sleep(beatInterval - l.world.chance(30*time.Millisecond, l.name, l.number, l.world.since()))
		l.mu.Lock()
		session, leaving := l.session, l.leaving
		q := wire.HeartbeatRequest{SessionID: session, Tokens: []wire.HeldToken{}}
		l.beats++
		q.Beat = l.beats
		ended := map[string]bool{}
		for token, h := range l.held {
			q.Tokens = append(q.Tokens, wire.HeldToken{Token: token})
			ended[token] = l.world.audit.over(h.Execution)
		}
		l.mu.Unlock()
		if session == "" || leaving || !l.awake() {
			continue
		}
		slices.SortFunc(q.Tokens, func(a, b wire.HeldToken) int { return strings.Compare(a.Token, b.Token) })
		a, err := ask(l, "heartbeat", func(ctx context.Context, f *frontend.Frontend, c auth.Call) (wire.HeartbeatResponse, error) {
			return f.Heartbeat(ctx, c, q)
		})
		switch {
		case errors.Is(err, &wire.Error{Code: wire.SessionNotFound}):
			l.forget(session)
		case err != nil:
			l.unexpected("heartbeat", err)
		default:
			l.told(append(a.Cancelled, a.Unknown...), ended)
		}
	}
}

// told stops what is not wanted any more. Of a task whose execution had ended before the heartbeat the worker must be told.
func (l *life) told(over []string, ended map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for token, h := range l.held {
		switch {
		case slices.Contains(over, token):
			select {
			case <-h.over:
			default:
				close(h.over)
			}
		case ended[token]:
			l.world.fail("%s holds %s of %s, which has ended, and no heartbeat tells it", l.name, h.Unit, h.Execution)
		}
	}
}

// leave deregisters.
func (l *life) leave(session string) {
	for range 3 {
		_, err := ask(l, "deregister", func(ctx context.Context, f *frontend.Frontend, c auth.Call) (wire.DeregisterResponse, error) {
			return f.Deregister(ctx, c, wire.DeregisterRequest{SessionID: session})
		})
		if err == nil || errors.Is(err, &wire.Error{Code: wire.SessionNotFound}) {
			break
		}
		l.unexpected("deregister", err)
		l.sleep(50 * time.Millisecond)
	}
	l.end()
}
