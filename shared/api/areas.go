package api

import (
	"context"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/wire"
)

// The areas are what stands behind the routes. They get requests whose form has been checked, and answer with wire
// types; an error is a [*wire.Error], or a context error, or a fault of the server. The context ends when the answer
// must be written: an area that waits stops waiting before that.

// Workers serves /v1/workers/...
type Workers interface {
	Register(ctx context.Context, c auth.Call, q wire.RegisterRequest) (wire.RegisterResponse, error)
	Heartbeat(ctx context.Context, c auth.Call, q wire.HeartbeatRequest) (wire.HeartbeatResponse, error)
	// Poll returns what was claimed, no later than q.WaitMS after the call.
	Poll(ctx context.Context, c auth.Call, q wire.PollRequest) (wire.PollResponse, error)
	Deregister(ctx context.Context, c auth.Call, q wire.DeregisterRequest) (wire.DeregisterResponse, error)
}

// Tasks serves /v1/tasks/... A token that is malformed, forged or of another worker refuses the whole request.
type Tasks interface {
	Complete(ctx context.Context, c auth.Call, q wire.CompleteRequest) (wire.ReportResponse, error)
	Fail(ctx context.Context, c auth.Call, q wire.FailRequest) (wire.ReportResponse, error)
	Uncertain(ctx context.Context, c auth.Call, q wire.UncertainRequest) (wire.ReportResponse, error)
}

// Executions serves /v1/executions/...
type Executions interface {
	// Start tells by created whether the execution is new. It waits for the end no longer than q.WaitMS.
	Start(ctx context.Context, c auth.Call, q wire.StartRequest) (a wire.StartResponse, created bool, err error)
	ListExecutions(ctx context.Context, c auth.Call, q wire.ExecutionQuery) (wire.ExecutionList, error)
	GetExecution(ctx context.Context, c auth.Call, id string) (wire.ExecutionDetail, error)
	History(ctx context.Context, c auth.Call, id string, q wire.HistoryQuery) (wire.HistoryPage, error)
	// Result returns when the execution has ended, at the latest after q.WaitMS.
	Result(ctx context.Context, c auth.Call, id string, q wire.ResultQuery) (wire.Result, error)
	Signal(ctx context.Context, c auth.Call, id, signal string, q wire.SignalRequest) (wire.SignalResponse, error)
	Cancel(ctx context.Context, c auth.Call, id string, q wire.CancelRequest) (wire.CancelResponse, error)
	Redrive(ctx context.Context, c auth.Call, id string, q wire.RedriveRequest) (wire.RedriveResponse, error)
	Resolve(ctx context.Context, c auth.Call, id string, q wire.ResolveRequest) (wire.ResolveResponse, error)
}

// Workflows serves /v1/workflows/...
type Workflows interface {
	// Publish tells by created whether the version is new.
	Publish(ctx context.Context, c auth.Call, q wire.PublishRequest, dryRun bool) (w wire.Workflow, created bool, err error)
	ListWorkflows(ctx context.Context, c auth.Call, q wire.PageQuery) (wire.WorkflowList, error)
	// GetWorkflow returns one version with its document; version 0 is the newest, with the list of all versions.
	GetWorkflow(ctx context.Context, c auth.Call, name string, version int) (wire.Workflow, error)
	// SetAlias tells by created whether the alias is new.
	SetAlias(ctx context.Context, c auth.Call, workflow, alias string, q wire.AliasRequest) (a wire.Alias, created bool, err error)
	ListAliases(ctx context.Context, c auth.Call, workflow string) (wire.AliasList, error)
	GetAlias(ctx context.Context, c auth.Call, workflow, alias string) (wire.Alias, error)
	DeleteAlias(ctx context.Context, c auth.Call, workflow, alias string) (wire.Alias, error)
}

// Cluster serves what shows the whole system.
type Cluster interface {
	ListQueues(ctx context.Context, c auth.Call) (wire.QueueList, error)
	ListWorkers(ctx context.Context, c auth.Call) (wire.WorkerList, error)
	ListNodes(ctx context.Context, c auth.Call) (wire.NodeList, error)
	ListPartitions(ctx context.Context, c auth.Call) (wire.PartitionList, error)
	ListAttention(ctx context.Context, c auth.Call, q wire.AttentionQuery) (wire.AttentionList, error)
	// Health never fails on account of what it reports.
	Health(ctx context.Context, c auth.Call) (wire.Health, error)
}

// Readiness serves /v1/ready. It answers from memory.
type Readiness interface {
	Health() wire.Health
}

// Services are the areas that a process serves. A nil area has no routes.
type Services struct {
	Workers    Workers
	Tasks      Tasks
	Executions Executions
	Workflows  Workflows
	Cluster    Cluster
	Readiness  Readiness
}
