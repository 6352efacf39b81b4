package api

import (
	"context"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Route is one row of the route table: the muxes of nodes and functions are made from it, and the template of the
// deployment is checked against it.
type Route struct {
	Method string
	// Pattern is the path, with {name} for a variable segment.
	Pattern string
	// Function is the folder below functions/ that serves the route; empty when only a node does.
	Function string
	// Open routes ask for no authentication and no namespace: load balancers call them.
	Open bool

	endpoint
}

// NodeOnly tells whether no function serves the route.
func (r Route) NodeOnly() bool { return r.Function == "" }

const open = true

var routes = []Route{
	{"POST", "/v1/workers/register", "session", !open, body(workers, Workers.Register)},
	{"POST", "/v1/workers/heartbeat", "session", !open, body(workers, Workers.Heartbeat)},
	{"POST", "/v1/workers/deregister", "session", !open, body(workers, Workers.Deregister)},
	{"POST", "/v1/workers/poll", "poll", !open, on(workers, poll)},
	{"POST", "/v1/tasks/complete", "complete", !open, on(tasks, complete)},
	{"POST", "/v1/tasks/fail", "complete", !open, body(tasks, Tasks.Fail)},
	{"POST", "/v1/tasks/uncertain", "complete", !open, body(tasks, Tasks.Uncertain)},

	{"POST", "/v1/workflows", "publish", !open, on(workflows, publish)},
	{"GET", "/v1/workflows", "query", !open, query(workflows, Workflows.ListWorkflows)},
	{"GET", "/v1/workflows/{name}", "query", !open, on(workflows, getWorkflow)},
	{"GET", "/v1/workflows/{name}/versions/{version}", "query", !open, on(workflows, getVersion)},
	{"GET", "/v1/workflows/{name}/aliases", "query", !open, on(workflows, listAliases)},
	{"GET", "/v1/workflows/{name}/aliases/{alias}", "query", !open, on(workflows, getAlias)},
	{"PUT", "/v1/workflows/{name}/aliases/{alias}", "publish", !open, on(workflows, setAlias)},
	{"DELETE", "/v1/workflows/{name}/aliases/{alias}", "publish", !open, on(workflows, deleteAlias)},

	{"GET", "/v1/contracts", "query", !open, bare(workflows, Workflows.ListContracts)},
	{"GET", "/v1/contracts/{task}/{version}", "query", !open, ofContract(Workflows.GetContract)},
	{"PUT", "/v1/contracts/{task}/{version}", "publish", !open, on(workflows, setContract)},
	{"DELETE", "/v1/contracts/{task}/{version}", "publish", !open, ofContract(Workflows.DeleteContract)},

	{"POST", "/v1/executions", "start", !open, on(executions, start)},
	{"GET", "/v1/executions", "query", !open, query(executions, Executions.ListExecutions)},
	{"GET", "/v1/executions/{id}", "query", !open, on(executions, getExecution)},
	{"GET", "/v1/executions/{id}/history", "query", !open, on(executions, history)},
	{"GET", "/v1/executions/{id}/result", "query", !open, on(executions, result)},
	{"POST", "/v1/executions/{id}/signals/{signal}", "signal", !open, on(executions, signal)},
	{"POST", "/v1/executions/{id}/cancel", "cancel", !open, on(executions, cancel)},
	{"POST", "/v1/executions/{id}/redrive", "cancel", !open, on(executions, redrive)},
	{"POST", "/v1/executions/{id}/resolve", "cancel", !open, on(executions, resolve)},

	{"POST", "/v1/schedules", "publish", !open, on(schedules, createSchedule)},
	{"POST", "/v1/schedules/preview", "publish", !open, body(schedules, Schedules.PreviewDefinition)},
	{"GET", "/v1/schedules", "query", !open, query(schedules, Schedules.ListSchedules)},
	{"GET", "/v1/schedules/{id}", "query", !open, on(schedules, getSchedule)},
	{"PUT", "/v1/schedules/{id}", "publish", !open, on(schedules, replaceSchedule)},
	{"GET", "/v1/schedules/{id}/preview", "query", !open, ofSchedule(inQuery, Schedules.PreviewSchedule)},
	{"GET", "/v1/schedules/{id}/events", "query", !open, ofSchedule(inQuery, Schedules.ScheduleEvents)},
	{"POST", "/v1/schedules/{id}/pause", "cancel", !open, ofSchedule(inBody, Schedules.PauseSchedule)},
	{"POST", "/v1/schedules/{id}/resume", "cancel", !open, ofSchedule(inBody, Schedules.ResumeSchedule)},
	{"POST", "/v1/schedules/{id}/archive", "cancel", !open, ofSchedule(inBody, Schedules.ArchiveSchedule)},
	{"POST", "/v1/schedules/{id}/trigger", "start", !open, on(schedules, trigger)},
	{"POST", "/v1/schedules/{id}/backfill", "start", !open, ofSchedule(inBody, Schedules.BackfillSchedule)},
	{"GET", "/v1/schedules/{id}/occurrences", "query", !open, ofSchedule(inQuery, Schedules.ListOccurrences)},
	{"GET", "/v1/schedules/{id}/occurrences/{occurrence}", "query", !open, on(schedules, getOccurrence)},
	{"POST", "/v1/schedules/{id}/occurrences/{occurrence}/cancel", "cancel", !open, ofOccurrence(Schedules.CancelOccurrence)},
	{"POST", "/v1/schedules/{id}/occurrences/{occurrence}/retry", "cancel", !open, ofOccurrence(Schedules.RetryOccurrence)},

	{"GET", "/v1/queues", "query", !open, bare(cluster, Cluster.ListQueues)},
	{"GET", "/v1/workers", "query", !open, bare(cluster, Cluster.ListWorkers)},
	{"GET", "/v1/nodes", "query", !open, bare(cluster, Cluster.ListNodes)},
	{"GET", "/v1/partitions", "query", !open, bare(cluster, Cluster.ListPartitions)},
	{"GET", "/v1/attention", "query", !open, query(cluster, Cluster.ListAttention)},
	{"GET", "/v1/health", "query", open, bare(cluster, Cluster.Health)},
	{"GET", "/v1/ready", "", open, on(readiness, ready)},
}

// Routes is the route table.
func Routes() []Route { return append([]Route(nil), routes...) }

// endpoint is what a route does: whether the process has the area, and the service itself.
type endpoint struct {
	served func(Services) bool
	serve  func(Services, *request) (answer, error)
}

func workers(s Services) Workers       { return s.Workers }
func tasks(s Services) Tasks           { return s.Tasks }
func executions(s Services) Executions { return s.Executions }
func workflows(s Services) Workflows   { return s.Workflows }
func schedules(s Services) Schedules   { return s.Schedules }
func cluster(s Services) Cluster       { return s.Cluster }
func readiness(s Services) Readiness   { return s.Readiness }

// on makes the endpoint of an area from a function that reads the request itself.
func on[S any](area func(Services) S, serve func(S, *request) (answer, error)) endpoint {
	return endpoint{
		served: func(s Services) bool { return any(area(s)) != nil },
		serve:  func(s Services, r *request) (answer, error) { return serve(area(s), r) },
	}
}

// body makes the endpoint of a method that takes the body and answers 200.
func body[S, Q, A any](area func(Services) S, call func(S, context.Context, auth.Call, Q) (A, error)) endpoint {
	return on(area, func(s S, r *request) (answer, error) {
		var q Q
		if err := r.read(nil, nil, &q); err != nil {
			return answer{}, err
		}
		a, err := call(s, r.Context(), r.call, q)
		return ok(a), err
	})
}

// query makes the endpoint of a method that takes the query and answers 200.
func query[S, Q, A any](area func(Services) S, call func(S, context.Context, auth.Call, Q) (A, error)) endpoint {
	return on(area, func(s S, r *request) (answer, error) {
		var q Q
		if err := r.read(nil, &q, nil); err != nil {
			return answer{}, err
		}
		a, err := call(s, r.Context(), r.call, q)
		return ok(a), err
	})
}

// bare makes the endpoint of a method that takes nothing and answers 200.
func bare[S, A any](area func(Services) S, call func(S, context.Context, auth.Call) (A, error)) endpoint {
	return on(area, func(s S, r *request) (answer, error) {
		if err := r.read(nil, nil, nil); err != nil {
			return answer{}, err
		}
		a, err := call(s, r.Context(), r.call)
		return ok(a), err
	})
}

func poll(s Workers, r *request) (answer, error) {
	var q wire.PollRequest
	if err := r.read(nil, nil, &q); err != nil {
		return answer{}, err
	}
	a, err := s.Poll(r.Context(), r.call, q)
	return answer{body: a, retryAfter: a.RetryAfter}, err
}

func complete(s Tasks, r *request) (answer, error) {
	var q wire.CompleteRequest
	if err := r.read(nil, nil, &q); err != nil {
		return answer{}, err
	}
	if q.Poll != nil {
		if q.SessionID == "" {
			q.SessionID = q.Poll.SessionID
		}
		if q.SessionID != q.Poll.SessionID {
			return answer{}, wire.Invalid(wire.Detail{
				Field: "poll.session_id", Rule: "same", Message: "must be the session_id of the reports",
			})
		}
	}
	a, err := s.Complete(r.Context(), r.call, q)
	return ok(a), err
}

func publish(s Workflows, r *request) (answer, error) {
	var (
		opts wire.PublishQuery
		q    wire.PublishRequest
	)
	if err := r.read(nil, &opts, &q); err != nil {
		return answer{}, err
	}
	a, created, err := s.Publish(r.Context(), r.call, q, opts.DryRun)
	return createdIf(created && !opts.DryRun, a), err
}

func getWorkflow(s Workflows, r *request) (answer, error) {
	var p wire.WorkflowPath
	if err := r.read(&p, nil, nil); err != nil {
		return answer{}, err
	}
	a, err := s.GetWorkflow(r.Context(), r.call, p.Name, 0)
	return ok(a), err
}

func getVersion(s Workflows, r *request) (answer, error) {
	var p wire.VersionPath
	if err := r.read(&p, nil, nil); err != nil {
		return answer{}, err
	}
	a, err := s.GetWorkflow(r.Context(), r.call, p.Name, p.Version)
	return ok(a), err
}

func listAliases(s Workflows, r *request) (answer, error) {
	var p wire.WorkflowPath
	if err := r.read(&p, nil, nil); err != nil {
		return answer{}, err
	}
	a, err := s.ListAliases(r.Context(), r.call, p.Name)
	return ok(a), err
}

func getAlias(s Workflows, r *request) (answer, error) {
	var p wire.AliasPath
	if err := r.read(&p, nil, nil); err != nil {
		return answer{}, err
	}
	a, err := s.GetAlias(r.Context(), r.call, p.Name, p.Alias)
	return ok(a), err
}

func setAlias(s Workflows, r *request) (answer, error) {
	var (
		p wire.AliasPath
		q wire.AliasRequest
	)
	if err := r.read(&p, nil, &q); err != nil {
		return answer{}, err
	}
	a, created, err := s.SetAlias(r.Context(), r.call, p.Name, p.Alias, q)
	return createdIf(created, a), err
}

func deleteAlias(s Workflows, r *request) (answer, error) {
	var p wire.AliasPath
	if err := r.read(&p, nil, nil); err != nil {
		return answer{}, err
	}
	a, err := s.DeleteAlias(r.Context(), r.call, p.Name, p.Alias)
	return ok(a), err
}

func setContract(s Workflows, r *request) (answer, error) {
	var (
		p wire.ContractPath
		q wire.ContractRequest
	)
	if err := r.read(&p, nil, &q); err != nil {
		return answer{}, err
	}
	a, created, err := s.SetContract(r.Context(), r.call, wire.Contract(p), q)
	return createdIf(created, a), err
}

// ofContract makes the endpoint of a method that takes a contract by its path.
func ofContract(call func(Workflows, context.Context, auth.Call, wire.Contract) (wire.ContractSchemas, error)) endpoint {
	return on(workflows, func(s Workflows, r *request) (answer, error) {
		var p wire.ContractPath
		if err := r.read(&p, nil, nil); err != nil {
			return answer{}, err
		}
		a, err := call(s, r.Context(), r.call, wire.Contract(p))
		return ok(a), err
	})
}

func start(s Executions, r *request) (answer, error) {
	var q wire.StartRequest
	if err := r.read(nil, nil, &q); err != nil {
		return answer{}, err
	}
	if q.Alias != "" && q.Version != 0 {
		return answer{}, wire.Invalid(wire.Detail{Field: "version", Rule: "alone", Message: "does not go with an alias"})
	}
	a, created, err := s.Start(r.Context(), r.call, q)
	return createdIf(created, a), err
}

func getExecution(s Executions, r *request) (answer, error) {
	var p wire.ExecutionPath
	if err := r.read(&p, nil, nil); err != nil {
		return answer{}, err
	}
	a, err := s.GetExecution(r.Context(), r.call, p.ID)
	return ok(a), err
}

func history(s Executions, r *request) (answer, error) {
	var (
		p wire.ExecutionPath
		q wire.HistoryQuery
	)
	if err := r.read(&p, &q, nil); err != nil {
		return answer{}, err
	}
	a, err := s.History(r.Context(), r.call, p.ID, q)
	return ok(a), err
}

func result(s Executions, r *request) (answer, error) {
	var (
		p wire.ExecutionPath
		q wire.ResultQuery
	)
	if err := r.read(&p, &q, nil); err != nil {
		return answer{}, err
	}
	a, err := s.Result(r.Context(), r.call, p.ID, q)
	return acceptedIf(!a.Status.Ended(), a), err
}

func signal(s Executions, r *request) (answer, error) {
	var (
		p wire.SignalPath
		q wire.SignalRequest
	)
	if err := r.read(&p, nil, &q); err != nil {
		return answer{}, err
	}
	a, err := s.Signal(r.Context(), r.call, p.ID, p.Signal, q)
	return acceptedIf(!a.Confirmed, a), err
}

func cancel(s Executions, r *request) (answer, error) {
	var (
		p wire.ExecutionPath
		q wire.CancelRequest
	)
	if err := r.read(&p, nil, &q); err != nil {
		return answer{}, err
	}
	a, err := s.Cancel(r.Context(), r.call, p.ID, q)
	return acceptedIf(!a.Confirmed, a), err
}

func redrive(s Executions, r *request) (answer, error) {
	var (
		p wire.ExecutionPath
		q wire.RedriveRequest
	)
	if err := r.read(&p, nil, &q); err != nil {
		return answer{}, err
	}
	a, err := s.Redrive(r.Context(), r.call, p.ID, q)
	return acceptedIf(!a.Confirmed, a), err
}

func resolve(s Executions, r *request) (answer, error) {
	var (
		p wire.ExecutionPath
		q wire.ResolveRequest
	)
	if err := r.read(&p, nil, &q); err != nil {
		return answer{}, err
	}
	a, err := s.Resolve(r.Context(), r.call, p.ID, q)
	return acceptedIf(!a.Confirmed, a), err
}

func ready(s Readiness, r *request) (answer, error) {
	if err := r.read(nil, nil, nil); err != nil {
		return answer{}, err
	}
	a := s.Health()
	return unavailableIf(!a.Ready, a), nil
}
