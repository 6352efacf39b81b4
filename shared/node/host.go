package node

import (
	"context"
	"errors"
	"time"

	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Frontend makes the frontend through which the node serves every area of the API. It is the one of functions, over a
// store with short cuts: what concerns an execution of this node goes to its loop, everything else to the database.
func (n *Node) Frontend(o frontend.Options) *frontend.Frontend {
	o.Host = host{n}
	return frontend.New(local{n.store, n}, o)
}

// local is the database with the short cuts of a node.
type local struct {
	Store
	node *Node
}

// Report takes reports of workers: those for executions of this node go to its loop, all others to the inboxes of their
// owners.
func (s local) Report(ctx context.Context, rs []store.Report) ([]store.ReportOutcome, error) {
	l := s.node.serving()
	if l == nil {
		return s.Store.Report(ctx, rs)
	}
	outcomes, elsewhere, err := l.report(ctx, rs)
	if err != nil || len(elsewhere) == 0 {
		return outcomes, err // after an error the caller sends all of them again: what was applied is a duplicate then
	}
	rest := make([]store.Report, len(elsewhere))
	for i, at := range elsewhere {
		rest[i] = rs[at]
	}
	sent, err := s.Store.Report(ctx, rest)
	if err != nil {
		return nil, err
	}
	for i, at := range elsewhere {
		outcomes[at] = sent[i]
	}
	return outcomes, nil
}

// report has the loop apply reports. It gives the places of those whose executions are not served here.
func (l *loop) report(ctx context.Context, rs []store.Report) (outcomes []store.ReportOutcome, elsewhere []int, err error) {
	list := make(calls, len(rs))
	for i := range rs {
		r := &rs[i]
		list[i] = &call{execution: r.Execution, answer: make(chan callAnswer, 1), command: history.Command{
			Kind: r.Kind, Row: r.Row, Claim: history.Claim{Session: r.Session, Worker: r.Worker}, Output: r.Output,
			Failure: r.Failure, Reason: r.Reason, RequestID: r.RequestID,
		}}
	}
	sent := l.send(ctx, list)
	outcomes = make([]store.ReportOutcome, len(rs))
	for i, c := range list {
		reply, err := history.Reply{}, errElsewhere
		if sent {
			reply, err = l.await(ctx, c)
		}
		switch {
		case errors.Is(err, errElsewhere):
			elsewhere = append(elsewhere, i)
		case err != nil:
			return nil, nil, err
		default:
			outcomes[i] = reportOutcomes[reply.Outcome]
		}
	}
	return outcomes, elsewhere, nil
}

// reportOutcomes are what workers are told; a report that the decider refuses has no effect either.
var reportOutcomes = map[history.Outcome]store.ReportOutcome{
	history.Applied: store.ReportAccepted, history.Duplicate: store.ReportDuplicate, history.Stale: store.ReportStale,
	history.Finished: store.ReportStale, history.Refused: store.ReportStale,
}

// Send sends a command of a client: to the loop when its execution is loaded here, else to the inbox of its owner. What
// has an idempotency key goes to the inbox in any case, because the key is written with the entry.
func (s local) Send(ctx context.Context, m store.Message) (store.Sent, error) {
	l := s.node.serving()
	if l == nil {
		return s.Store.Send(ctx, m)
	}
	if m.Key == "" {
		reply, err := l.call(ctx, &call{name: name{m.Namespace, m.Name}, command: m.Command})
		if err == nil {
			return store.Sent{Outcome: store.SendQueued, Reply: &reply}, nil
		}
		if !errors.Is(err, errElsewhere) {
			return store.Sent{}, err
		}
	}
	m.From = l.fence
	sent, err := s.Store.Send(ctx, m)
	if err == nil && sent.Outcome == store.SendQueued {
		l.send(l.ctx, sentHere{}) // the store rings the owner, but not the sender
	}
	return sent, err
}

// Start writes the first turn of a new execution through the loop: it gets a partition of this node, shares a commit, and
// its tasks may go to polls that wait here. A node that owns no partition (yet, or because there are fewer than nodes)
// starts as a function does: in the partition that the item names.
func (s local) Start(ctx context.Context, it store.Item) (store.Started, error) {
	started, err := s.startHere(ctx, it)
	if !errors.Is(err, errElsewhere) {
		return started, err
	}
	started, err = s.Store.Start(ctx, it)
	if err == nil && started.Existing == nil && started.MaxActive == 0 {
		s.node.metrics.started.Inc()
	}
	return started, err
}

// startHere is errElsewhere when nothing has happened, because the node owns no partition.
func (s local) startHere(ctx context.Context, it store.Item) (store.Started, error) {
	l := s.node.serving()
	if l == nil || s.node.notReady() != "" {
		return store.Started{}, errNotReady
	}
	machine, err := s.node.machines.get(ctx, it.New.Definition)
	if err != nil {
		return store.Started{}, err
	}
	if err := s.node.contracts.fetch(ctx, it.New.Namespace); err != nil {
		return store.Started{}, err
	}
	x := &start{machine: machine, item: it, answer: make(chan startAnswer, 1)}
	if !l.send(ctx, x) {
		return store.Started{}, errNotReady
	}
	select {
	case a := <-x.answer:
		return a.started, a.err
	case <-l.ended:
		select {
		case a := <-x.answer:
			return a.started, a.err
		default:
			return store.Started{}, errNotReady // it was in the channel still
		}
	case <-ctx.Done():
		return store.Started{}, ctx.Err()
	}
}

// Deregister closes a session. What this node has handed to it gets its rows first, so that it can be given back.
func (s local) Deregister(ctx context.Context, id string) ([]store.HeldTask, error) {
	if l := s.node.serving(); l != nil {
		l.payFor(ctx, map[string]bool{id: true})
	}
	return s.Store.Deregister(ctx, id)
}

// Touch notes contact with workers' sessions, for the next heartbeat.
func (s local) Touch(_ context.Context, ts []store.Touch) (gone []string, err error) {
	return s.node.contacts.touch(ts), nil
}

// host lets the requests of a frontend wait for bells.
type host struct{ node *Node }

// Open begins a poll.
func (h host) Open(q store.Poll, first bool) (frontend.OpenPoll, error) {
	n := h.node
	if n.notReady() != "" {
		return nil, errNotReady
	}
	if n.polls.count() >= maxPolls {
		return nil, store.ErrUnavailable
	}
	p, recall := n.polls.add(q, first)
	if !n.claims.arrived(p, recall) {
		n.polls.excuse(p)
	}
	return openPoll{n, p}, nil
}

// openPoll is the poll of a request.
type openPoll struct {
	node *Node
	poll *poll
}

// Wait waits for tasks until end. No tasks and no error is an empty queue. A poll whose context ends gives back what came
// for it.
func (p openPoll) Wait(ctx context.Context, end time.Time) ([]store.Assignment, error) {
	got, err := p.node.polls.wait(ctx, p.poll, end)
	if err != nil {
		p.giveBack(got)
		return nil, err
	}
	return got, nil
}

// Close ends a poll whose request has failed.
func (p openPoll) Close() { p.giveBack(p.node.polls.close(p.poll)) }

// giveBack has tasks offered again that came to a poll which nobody will answer.
func (p openPoll) giveBack(tasks []store.Assignment) {
	if l := p.node.serving(); l != nil && len(tasks) > 0 {
		l.send(l.ctx, claimedHere{tasks: tasks, back: tasks})
	}
}

// Ended waits for the end of an execution that is loaded here. That it runs still, or has ended in a way that a redrive undoes, is
// known only to a node that is ready at that moment: from one whose heartbeats are too old, others may have taken the execution
// and ended it, or had it go on.
func (h host) Ended(ctx context.Context, ns history.NamespaceID, id string, until time.Time) (*frontend.Ended, bool) {
	l := h.node.serving()
	if l == nil {
		return nil, false
	}
	ended, known := l.results.await(ctx, name{ns, id}, until)
	if final := ended != nil && ended.Status == history.Succeeded; !final && h.node.notReady() != "" {
		return nil, false
	}
	return ended, known
}

// AwaitEnd begins to wait for the end of an execution. For one of another node the flag is left there that has the end ring
// here; this node's own ends are known without.
func (h host) AwaitEnd(ctx context.Context, id history.ExecutionID) (<-chan struct{}, func(), error) {
	rung, forget := h.node.ends.add(id)
	l := h.node.serving()
	if l == nil || l.has(ctx, id) {
		return rung, forget, nil
	}
	if err := h.node.store.AwaitEnd(ctx, l.fence, id); err != nil {
		forget()
		return nil, nil, err
	}
	return rung, forget, nil
}

// AwaitReply begins to wait for the reply to an entry.
func (h host) AwaitReply(e store.EntryRef) (<-chan struct{}, func()) { return h.node.replies.add(e) }

// Health is the node's own part of its health.
func (h host) Health() wire.Health { return h.node.Health() }

// Health tells how the node stands, from memory.
func (n *Node) Health() wire.Health {
	age, _ := n.standing.age()
	out := wire.Health{Role: wire.RoleNode, Reason: n.notReady(), Nodes: []wire.Node{}, Node: &wire.NodeHealth{
		ID: n.config.ID, Partitions: int(n.gauges.owned.Load()), Loaded: int(n.gauges.loaded.Load()),
		HeartbeatAgeMS: age.Milliseconds(),
	}}
	out.Ready = out.Reason == ""
	if i := n.current.Load(); i != nil {
		out.Node.Incarnation = i.id
	}
	if n.scheduler.Level() > 0 {
		h := n.scheduler.Health()
		out.Node.Scheduler = &h
	}
	return out
}

// ask asks the loop whether it knows the execution as one of its own.
type ask struct {
	execution history.ExecutionID
	answer    chan bool // capacity 1
}

func (m ask) apply(l *loop) {
	_, known := l.executions[m.execution]
	p, located := l.located.get(m.execution)
	_, owned := l.owned[p]
	m.answer <- known || located && owned
}

// has tells whether the execution is this node's, as far as it knows.
func (l *loop) has(ctx context.Context, id history.ExecutionID) bool {
	m := ask{id, make(chan bool, 1)}
	if !l.send(ctx, m) {
		return false
	}
	select {
	case known := <-m.answer:
		return known
	case <-l.ended:
	case <-ctx.Done():
	}
	return false
}
