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

// Workflows serves /v1/workflows/... and /v1/contracts/...
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
	// SetContract tells by created whether the version of the contract is new.
	SetContract(ctx context.Context, c auth.Call, of wire.Contract, q wire.ContractRequest) (a wire.ContractSchemas, created bool, err error)
	ListContracts(ctx context.Context, c auth.Call) (wire.ContractList, error)
	GetContract(ctx context.Context, c auth.Call, of wire.Contract) (wire.ContractSchemas, error)
	DeleteContract(ctx context.Context, c auth.Call, of wire.Contract) (wire.ContractSchemas, error)
}

// Schedules serves /v1/schedules/... What changes a schedule answers how it stands then.
type Schedules interface {
	// CreateSchedule tells by created whether the schedule is new.
	CreateSchedule(ctx context.Context, c auth.Call, q wire.ScheduleDefinition) (a wire.ScheduleDetail, created bool, err error)
	ReplaceSchedule(ctx context.Context, c auth.Call, id string, opts wire.ReplaceQuery, q wire.ScheduleDefinition) (wire.ScheduleDetail, error)
	ListSchedules(ctx context.Context, c auth.Call, q wire.ScheduleQuery) (wire.ScheduleList, error)
	GetSchedule(ctx context.Context, c auth.Call, id string) (wire.ScheduleDetail, error)
	ScheduleEvents(ctx context.Context, c auth.Call, id string, q wire.EventQuery) (wire.ScheduleEventList, error)
	PreviewDefinition(ctx context.Context, c auth.Call, q wire.PreviewRequest) (wire.Preview, error)
	PreviewSchedule(ctx context.Context, c auth.Call, id string, q wire.PreviewQuery) (wire.Preview, error)
	PauseSchedule(ctx context.Context, c auth.Call, id string, q wire.PauseRequest) (wire.ScheduleDetail, error)
	ResumeSchedule(ctx context.Context, c auth.Call, id string, q wire.ResumeRequest) (wire.ScheduleDetail, error)
	ArchiveSchedule(ctx context.Context, c auth.Call, id string, q wire.ArchiveRequest) (wire.ScheduleDetail, error)
	// TriggerSchedule tells by created whether the occurrence is new.
	TriggerSchedule(ctx context.Context, c auth.Call, id string, q wire.TriggerRequest) (a wire.Occurrence, created bool, err error)
	BackfillSchedule(ctx context.Context, c auth.Call, id string, q wire.BackfillRequest) (wire.BackfillResponse, error)

	ListOccurrences(ctx context.Context, c auth.Call, id string, q wire.OccurrenceQuery) (wire.OccurrenceList, error)
	GetOccurrence(ctx context.Context, c auth.Call, id string, occurrence int64) (wire.OccurrenceDetail, error)
	CancelOccurrence(ctx context.Context, c auth.Call, id string, occurrence int64, q wire.OccurrenceRequest) (wire.OccurrenceResponse, error)
	RetryOccurrence(ctx context.Context, c auth.Call, id string, occurrence int64, q wire.OccurrenceRequest) (wire.OccurrenceResponse, error)
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
	Schedules  Schedules
	Cluster    Cluster
	Readiness  Readiness
}
