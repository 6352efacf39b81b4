package errand

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

const (
	// MaxDescribed bounds the results that a Map gives itself, in bytes: they are too large for a payload beyond it.
	MaxDescribed = 4 << 20
	// readTogether is how many executions are read at once.
	readTogether = 50
	// endsWithin is how long executions are waited for that were told to stop, and lookAgain the time between two looks.
	endsWithin = 30 * time.Second
	lookAgain  = 200 * time.Millisecond

	codeResults = "States.ResultWriterFailed"
)

// Executions reads what became of the iterations of a Map.
type Executions interface {
	// Iterations shows executions by name, in no order; those that are not kept are missing.
	Iterations(ctx context.Context, c auth.Call, names []string) ([]wire.ExecutionDetail, error)
}

// results writes what the executions of Maps gave. All that it writes follows from the executions and lies under the name of the
// run, so that it may be done again at any time.
type results struct {
	writer     *builtin.S3
	executions Executions
}

// in gives the task for one namespace.
func (r *results) in(namespace string) func(context.Context, worker.Task, value) (value, error) {
	call := auth.Call{Namespace: namespace, Principal: auth.Principal{Name: "server"}}
	return func(ctx context.Context, _ worker.Task, in value) (value, error) {
		o, _ := in.Value.(*expr.Object)
		out, err := r.write(ctx, call, o)
		switch said, failed := errors.AsType[*worker.Error](err); {
		case err == nil:
			return value{out}, nil
		case failed:
			return value{}, said
		case errors.Is(err, builtin.ErrForbidden):
			return value{}, worker.Errorf(codePermissions, "%v", err)
		}
		return value{}, worker.Errorf(codeResults, "%v", err)
	}
}

func (r *results) write(ctx context.Context, call auth.Call, o *expr.Object) (expr.Value, error) {
	run := newRun(o)
	if text(o, "Resource") == "" {
		d := &described{list: []expr.Value{}}
		err := r.each(ctx, call, run, d.add)
		return d.list, err
	}
	files := newResultFiles(r.writer, o)
	err := r.each(ctx, call, run, func(status string, entry expr.Value) error {
		return files.add(ctx, status, shaped(run.transformation, status, entry))
	})
	if err != nil {
		return nil, err
	}
	return nil, files.close(ctx, run.arn)
}

// each gives every item of the run, in order, by the group that it belongs to.
func (r *results) each(ctx context.Context, call auth.Call, run *mapRun, give func(group string, entry expr.Value) error) error {
	for from := 0; from < run.items; from += readTogether {
		found, err := r.read(ctx, call, run, from)
		if err != nil {
			return err
		}
		for i := from; i < min(from+readTogether, run.items); i++ {
			e, ok := found[i]
			group, entry := "PENDING", run.waiting(i)
			switch {
			case ok:
				group, entry = run.describe(e)
			case run.pending[i] == nil:
				return fmt.Errorf("the execution of item %d is not kept any more", i)
			}
			if err := give(group, entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads executions of the run, by item. Those that run still were told to stop, and are waited for.
func (r *results) read(ctx context.Context, call auth.Call, run *mapRun, from int) (map[int]wire.ExecutionDetail, error) {
	until := time.Now().Add(endsWithin)
	for {
		found, running := map[int]wire.ExecutionDetail{}, false
		for _, id := range run.runs {
			names := map[string]int{}
			var list []string
			for i := from; i < min(from+readTogether, run.items); i++ {
				if _, there := found[i]; there || run.pending[i] != nil {
					continue
				}
				name := id + "-" + strconv.Itoa(i)
				names[name], list = i, append(list, name)
			}
			if list == nil {
				break
			}
			executions, err := r.executions.Iterations(ctx, call, list)
			if err != nil {
				return nil, fmt.Errorf("the executions cannot be read: %w", err)
			}
			for _, e := range executions {
				found[names[e.ID]] = e
				running = running || e.Status == wire.Running
			}
		}
		if !running || time.Now().After(until) {
			return found, nil
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// mapRun is what a task says about the run whose results are written.
type mapRun struct {
	arn, execution, machine string
	transformation          string
	runs                    []string // newest first
	items                   int
	pending                 map[int]expr.Value // inputs of items that no execution was started for
}

func newRun(o *expr.Object) *mapRun {
	run := &mapRun{
		arn: text(o, "MapRunArn"), execution: text(o, "ExecutionArn"), machine: text(o, "StateMachineArn"),
		transformation: text(o, "Transformation"), items: int(whole(o, "Items")), pending: map[int]expr.Value{},
	}
	runs, _ := o.Get("Runs")
	for _, id := range listed(runs) {
		run.runs = append(run.runs, scalar(id))
	}
	pending, _ := o.Get("Pending")
	list, _ := pending.([]expr.Value)
	for _, v := range list {
		item, _ := v.(*expr.Object)
		input, _ := item.Get("Input")
		run.pending[int(whole(item, "Index"))] = string(expr.Marshal(input))
	}
	return run
}

// waiting describes an item that no execution was started for.
func (run *mapRun) waiting(i int) expr.Value {
	return expr.NewObject(
		expr.Member{Name: "Input", Value: run.pending[i]}, expr.Member{Name: "InputDetails", Value: included()},
		expr.Member{Name: "StateMachineArn", Value: run.machine}, expr.Member{Name: "Status", Value: "PENDING"},
	)
}

// statuses are the reference service's names of those that it calls otherwise.
var statuses = map[wire.Status]string{wire.Cancelled: "ABORTED"}

const stamp = "2006-01-02T15:04:05.000Z"

// describe shows an execution as the reference service does, with the group that it belongs to.
func (run *mapRun) describe(e wire.ExecutionDetail) (group string, entry expr.Value) {
	status, ok := statuses[e.Status]
	if !ok {
		status = string(e.Status)
	}
	group = "FAILED"
	o := expr.NewObject()
	if e.Error != nil {
		o.Set("Cause", e.Error.Message)
		o.Set("Error", e.Error.Code)
	}
	o.Set("ExecutionArn", run.execution+e.ID)
	o.Set("Input", string(e.Input))
	o.Set("InputDetails", included())
	o.Set("Name", e.ID)
	if e.Status == wire.Succeeded {
		group = "SUCCEEDED"
		o.Set("Output", string(e.Output))
		o.Set("OutputDetails", included())
	}
	o.Set("RedriveCount", expr.NumberOf(0))
	if e.Status == wire.Succeeded {
		o.Set("RedriveStatus", "NOT_REDRIVABLE")
		o.Set("RedriveStatusReason", "Execution is SUCCEEDED and cannot be redriven")
	} else {
		o.Set("RedriveStatus", "REDRIVABLE_BY_MAP_RUN")
	}
	o.Set("StartDate", e.StartedAt.UTC().Format(stamp))
	o.Set("StateMachineArn", run.machine)
	o.Set("Status", status)
	if !e.EndedAt.IsZero() {
		o.Set("StopDate", e.EndedAt.UTC().Format(stamp))
	}
	return group, o
}

func included() *expr.Object {
	return expr.NewObject(expr.Member{Name: "Included", Value: true})
}

// shaped gives the lines of a file that an entry makes. One of a failed execution, or of none, is always described.
func shaped(transformation, group string, entry expr.Value) []expr.Value {
	o, _ := entry.(*expr.Object)
	if group != "SUCCEEDED" || transformation == "NONE" {
		return []expr.Value{entry}
	}
	output, err := expr.Parse([]byte(text(o, "Output")))
	if err != nil {
		return []expr.Value{entry} // no output of an execution is like that
	}
	if list, ok := output.([]expr.Value); ok && transformation == "FLATTEN" {
		return list
	}
	return []expr.Value{output}
}

// described are the descriptions that a Map gives itself.
type described struct {
	list []expr.Value
	size int
}

func (d *described) add(_ string, entry expr.Value) error {
	if d.size += len(expr.Marshal(entry)) + 1; d.size > MaxDescribed {
		return worker.Errorf(codeDataLimit, "The results have more than %d bytes.", MaxDescribed)
	}
	d.list = append(d.list, entry)
	return nil
}
