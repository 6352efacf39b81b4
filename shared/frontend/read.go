package frontend

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// ListExecutions lists executions, newest first; the cursor is the number of the last one of the page before.
func (f *Frontend) ListExecutions(ctx context.Context, c auth.Call, q wire.ExecutionQuery) (wire.ExecutionList, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.ExecutionList{}, err
	}
	before, err := cursor(q.Cursor)
	if err != nil {
		return wire.ExecutionList{}, err
	}
	attributes, err := readAttributes("query attributes", []byte(q.Attributes))
	if err != nil {
		return wire.ExecutionList{}, err
	}
	status, _ := history.ParseStatus(string(q.Status))
	page, err := f.store.Executions(ctx, store.ExecutionQuery{
		Namespace: ns, Status: status, Workflow: q.Workflow, Version: q.Version, Limit: q.Limit,
		StartedAfter: history.TimeOf(q.StartedAfter), StartedBefore: history.TimeOf(q.StartedBefore),
		Before: history.ExecutionID(before), Attributes: attributes,
	})
	if err != nil {
		return wire.ExecutionList{}, failed("list executions", err)
	}
	a := wire.ExecutionList{Executions: make([]wire.Execution, len(page.Executions))}
	ids := make([]history.ExecutionID, len(page.Executions))
	for i, e := range page.Executions {
		a.Executions[i], ids[i] = executionOf(e), e.ID
	}
	if err := f.withAttributes(ctx, a.Executions, ids); err != nil {
		return wire.ExecutionList{}, err
	}
	if page.Next != 0 {
		a.Next = strconv.FormatInt(int64(page.Next), 10)
	}
	return a, nil
}

// cursor reads the cursor of a list; zero for none.
func cursor(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, wire.Invalid(wire.Detail{Field: "query cursor", Rule: "cursor", Message: "must be the next of a page before"})
	}
	return n, nil
}

// execution reads an execution by its name.
func (f *Frontend) execution(ctx context.Context, c auth.Call, id string) (history.NamespaceID, store.ExecutionDetail, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return 0, store.ExecutionDetail{}, err
	}
	d, err := f.store.Execution(ctx, ns, id)
	if err != nil {
		return 0, store.ExecutionDetail{}, notFound(err, noExecution, id)
	}
	return ns, d, nil
}

// GetExecution shows an execution as its snapshot and history say it is.
func (f *Frontend) GetExecution(ctx context.Context, c auth.Call, id string) (wire.ExecutionDetail, error) {
	_, d, err := f.execution(ctx, c, id)
	if err != nil {
		return wire.ExecutionDetail{}, err
	}
	loaded, state, err := f.load(ctx, d.Execution)
	if err != nil {
		return wire.ExecutionDetail{}, err
	}
	a := wire.ExecutionDetail{
		Execution: executionOf(loaded.Execution), Hash: loaded.Hash, Input: state.Input(), Units: []wire.Unit{},
		Turn: int64(state.LastSeq()), Event: int64(state.Events()), WakeAt: loaded.WakeAt.Time(),
		Partition: int(d.Owner.Partition), Epoch: int64(d.Owner.Epoch), Owner: ownerOf(d.Owner),
	}
	a.Output, a.Error = outcomeOf(state.End())
	one := []wire.Execution{a.Execution}
	if err := f.withAttributes(ctx, one, []history.ExecutionID{loaded.ID}); err != nil {
		return wire.ExecutionDetail{}, err
	}
	a.Execution = one[0]
	if !loaded.Status.Ended() {
		a.Units = f.unitsOf(ctx, loaded.Execution, state)
	}
	return a, nil
}

// Result waits for the end of an execution.
func (f *Frontend) Result(ctx context.Context, c auth.Call, id string, q wire.ResultQuery) (wire.Result, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.Result{}, err
	}
	ended, err := f.ended(ctx, ns, id, waitUntil(ctx, time.Duration(q.WaitMS)*time.Millisecond))
	if err != nil || ended == nil {
		return wire.Result{ID: id, Status: wire.Running}, err
	}
	r := wire.Result{ID: id, Status: wire.Status(ended.Status.String()), EndedAt: ended.At.Time()}
	r.Output, r.Error = outcomeOf(&ended.End)
	return r, nil
}

// ended waits for the end of an execution, nil for none until then.
func (f *Frontend) ended(ctx context.Context, ns history.NamespaceID, id string, until time.Time) (*Ended, error) {
	if e, known := f.host.Ended(ctx, ns, id, until); known {
		return e, nil
	}
	e, err := f.row(ctx, ns, id)
	if err == nil && !e.Status.Ended() && time.Now().Before(until) {
		e, err = f.awaitEnd(ctx, e, until)
	}
	if err != nil || !e.Status.Ended() {
		return nil, err
	}
	loaded, state, err := f.load(ctx, e)
	if err != nil || state.End() == nil { // an operator may have it go on by now
		return nil, err
	}
	return &Ended{*state.End(), loaded.EndedAt}, nil
}

// awaitEnd looks at a running execution until it has ended or the time is over.
func (f *Frontend) awaitEnd(ctx context.Context, e store.Execution, until time.Time) (store.Execution, error) {
	pauses := f.pauses
	for {
		rung, forget, err := f.host.AwaitEnd(ctx, e.ID)
		if err != nil {
			return e, failed("wait for the end of "+e.Name, err)
		}
		e, err = f.row(ctx, e.Namespace, e.Name)
		done := err != nil || e.Status.Ended() || !pauses.waitFor(ctx, rung, until)
		forget()
		if done {
			return e, err
		}
	}
}

// row reads the row of an execution.
func (f *Frontend) row(ctx context.Context, ns history.NamespaceID, id string) (store.Execution, error) {
	d, err := f.store.Execution(ctx, ns, id)
	if err != nil {
		return store.Execution{}, notFound(err, noExecution, id)
	}
	return d.Execution, nil
}

func outcomeOf(end *history.End) ([]byte, *wire.ExecutionError) {
	switch {
	case end == nil:
		return nil, nil
	case end.Status == history.Succeeded:
		return end.Output, nil
	}
	return nil, &wire.ExecutionError{Code: end.Error, Message: end.Cause}
}

// load reads an execution with its state. A snapshot that this version cannot read is passed over.
func (f *Frontend) load(ctx context.Context, e store.Execution) (store.Loaded, *history.State, error) {
	for _, from := range []store.LoadFrom{store.FromSnapshot, store.FromStart} {
		list, err := f.store.Load(ctx, []history.ExecutionID{e.ID}, from)
		if err != nil {
			return store.Loaded{}, nil, failed("load execution "+e.Name, err)
		}
		if len(list) == 0 {
			return store.Loaded{}, nil, notFound(store.ErrNotFound, noExecution, e.Name)
		}
		state, err := fold(list[0])
		switch {
		case err == nil:
			return list[0], state, nil
		case !errors.Is(err, history.ErrUnknownFormat):
			return store.Loaded{}, nil, unfolded(e.Name, err)
		}
	}
	return store.Loaded{}, nil, unfolded(e.Name, history.ErrUnknownFormat)
}

// unfolded is the error of a history that does not fold: one that a newer version wrote is left to newer processes.
func unfolded(name string, err error) error {
	if errors.Is(err, history.ErrUnknownEvent) {
		return wire.Errorf(wire.Unavailable, "the history of %q was written by a newer version", name).After(10 * time.Second)
	}
	return fmt.Errorf("frontend: fold execution %s: %w", name, err)
}

// fold makes the state of a loaded execution.
func fold(l store.Loaded) (*history.State, error) {
	state := history.New()
	if l.Snapshot != nil {
		var err error
		if state, err = history.Restore(l.Snapshot); err != nil {
			return nil, err
		}
	}
	for _, row := range l.Turns {
		events, err := history.DecodeEvents(row.Events)
		if err != nil {
			return nil, err
		}
		if err := state.Apply(row.Seq, row.At, row.First, events); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// unitsOf shows the open units; which contract a task has is in the document.
func (f *Frontend) unitsOf(ctx context.Context, e store.Execution, state *history.State) []wire.Unit {
	open := state.OpenUnits()
	if len(open) == 0 {
		return []wire.Unit{}
	}
	machine := f.machineOf(ctx, e)
	units := make([]wire.Unit, len(open))
	for i, u := range open {
		units[i] = unitOf(u)
		if r := resourceOf(machine, u); r != nil {
			units[i].Task, units[i].Version = r.Contract.Task, r.Contract.Version
		}
	}
	return units
}

// resourceOf is who does a unit; nil where it is no task or the document does not tell.
func resourceOf(m *definition.Machine, u history.UnitView) *definition.Resource {
	s := find(m, u.State)
	switch {
	case s == nil:
		return nil
	case u.Kind == "task":
		return s.Resource
	case u.Kind == "results" && s.Writer != nil:
		return s.Writer.Resource
	case u.Kind == "compensation" && s.Compensate != nil:
		return s.Compensate.Task.Resource
	}
	return nil
}

func unitOf(u history.UnitView) wire.Unit {
	since := u.DispatchedAt
	if since == 0 {
		since = u.ScheduledAt
	}
	return wire.Unit{
		Key: string(u.Key), State: u.State, Kind: u.Kind, Status: string(u.Status), Signal: u.Signal, Child: u.Child, Attempt: u.Attempt,
		Running: u.Running, Failed: u.Failed,
		Redelivery: u.Redelivery, Worker: u.Worker, Session: u.Session, Progress: u.Progress,
		Since: since.Time(), Due: u.Deadline.Time(),
	}
}

// machineOf is the machine of an execution, or nil where its document cannot be had now: what is shown then lacks what
// only the document knows.
func (f *Frontend) machineOf(ctx context.Context, e store.Execution) *definition.Machine {
	if m := f.machines.get(e.Hash); m != nil {
		return m
	}
	def, _, err := f.store.Definition(ctx, e.Namespace, e.Workflow, e.Version)
	if err != nil {
		return nil
	}
	m, err := f.machines.parse(&def)
	if err != nil {
		return nil
	}
	return m
}

func find(m *definition.Machine, state string) *definition.State {
	if m == nil {
		return nil
	}
	return m.Find(state)
}
