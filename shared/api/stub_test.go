package api_test

import (
	"context"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/wire"
)

// stub stands in for every area: it keeps what reached it and answers what it is told to.
type stub struct {
	mu    sync.Mutex
	calls []stubCall

	err       error
	created   bool
	confirmed bool
	status    wire.Status
	ready     bool
	poll      wire.PollResponse
	do        func(context.Context)
}

type stubCall struct {
	name string
	call auth.Call
	args []any
}

func (s *stub) note(ctx context.Context, name string, c auth.Call, args ...any) {
	s.mu.Lock()
	s.calls = append(s.calls, stubCall{name, c, args})
	s.mu.Unlock()
	if s.do != nil {
		s.do(ctx)
	}
}

func (s *stub) Register(ctx context.Context, c auth.Call, q wire.RegisterRequest) (wire.RegisterResponse, error) {
	s.note(ctx, "Register", c, q)
	return wire.RegisterResponse{SessionID: "s1"}, s.err
}

func (s *stub) Heartbeat(ctx context.Context, c auth.Call, q wire.HeartbeatRequest) (wire.HeartbeatResponse, error) {
	s.note(ctx, "Heartbeat", c, q)
	return wire.HeartbeatResponse{Cancelled: []string{}, Unknown: []string{}}, s.err
}

func (s *stub) Poll(ctx context.Context, c auth.Call, q wire.PollRequest) (wire.PollResponse, error) {
	s.note(ctx, "Poll", c, q)
	return s.poll, s.err
}

func (s *stub) Deregister(ctx context.Context, c auth.Call, q wire.DeregisterRequest) (wire.DeregisterResponse, error) {
	s.note(ctx, "Deregister", c, q)
	return wire.DeregisterResponse{Tokens: []string{}}, s.err
}

func (s *stub) Complete(ctx context.Context, c auth.Call, q wire.CompleteRequest) (wire.ReportResponse, error) {
	s.note(ctx, "Complete", c, q)
	return wire.ReportResponse{Results: []wire.ReportResult{}}, s.err
}

func (s *stub) Fail(ctx context.Context, c auth.Call, q wire.FailRequest) (wire.ReportResponse, error) {
	s.note(ctx, "Fail", c, q)
	return wire.ReportResponse{Results: []wire.ReportResult{}}, s.err
}

func (s *stub) Uncertain(ctx context.Context, c auth.Call, q wire.UncertainRequest) (wire.ReportResponse, error) {
	s.note(ctx, "Uncertain", c, q)
	return wire.ReportResponse{Results: []wire.ReportResult{}}, s.err
}

func (s *stub) Start(ctx context.Context, c auth.Call, q wire.StartRequest) (wire.StartResponse, bool, error) {
	s.note(ctx, "Start", c, q)
	return wire.StartResponse{Execution: wire.Execution{ID: "e1"}}, s.created, s.err
}

func (s *stub) ListExecutions(ctx context.Context, c auth.Call, q wire.ExecutionQuery) (wire.ExecutionList, error) {
	s.note(ctx, "ListExecutions", c, q)
	return wire.ExecutionList{Executions: []wire.Execution{}}, s.err
}

func (s *stub) GetExecution(ctx context.Context, c auth.Call, id string) (wire.ExecutionDetail, error) {
	s.note(ctx, "GetExecution", c, id)
	return wire.ExecutionDetail{Input: []byte("{}"), Units: []wire.Unit{}}, s.err
}

func (s *stub) History(ctx context.Context, c auth.Call, id string, q wire.HistoryQuery) (wire.HistoryPage, error) {
	s.note(ctx, "History", c, id, q)
	return wire.HistoryPage{Events: []wire.Event{}}, s.err
}

func (s *stub) Result(ctx context.Context, c auth.Call, id string, q wire.ResultQuery) (wire.Result, error) {
	s.note(ctx, "Result", c, id, q)
	return wire.Result{ID: id, Status: s.status}, s.err
}

func (s *stub) Signal(ctx context.Context, c auth.Call, id, signal string, q wire.SignalRequest) (wire.SignalResponse, error) {
	s.note(ctx, "Signal", c, id, signal, q)
	return wire.SignalResponse{Confirmed: s.confirmed}, s.err
}

func (s *stub) Redrive(ctx context.Context, c auth.Call, id string, q wire.RedriveRequest) (wire.RedriveResponse, error) {
	s.note(ctx, "Redrive", c, id, q)
	return wire.RedriveResponse{Confirmed: s.confirmed}, s.err
}

func (s *stub) Resolve(ctx context.Context, c auth.Call, id string, q wire.ResolveRequest) (wire.ResolveResponse, error) {
	s.note(ctx, "Resolve", c, id, q)
	return wire.ResolveResponse{Confirmed: s.confirmed}, s.err
}

func (s *stub) Cancel(ctx context.Context, c auth.Call, id string, q wire.CancelRequest) (wire.CancelResponse, error) {
	s.note(ctx, "Cancel", c, id, q)
	return wire.CancelResponse{Confirmed: s.confirmed}, s.err
}

func (s *stub) Publish(ctx context.Context, c auth.Call, q wire.PublishRequest, dryRun bool) (wire.Workflow, bool, error) {
	s.note(ctx, "Publish", c, q, dryRun)
	return wire.Workflow{Name: q.Name}, s.created, s.err
}

func (s *stub) ListWorkflows(ctx context.Context, c auth.Call, q wire.PageQuery) (wire.WorkflowList, error) {
	s.note(ctx, "ListWorkflows", c, q)
	return wire.WorkflowList{Workflows: []wire.Workflow{}}, s.err
}

func (s *stub) GetWorkflow(ctx context.Context, c auth.Call, name string, version int) (wire.Workflow, error) {
	s.note(ctx, "GetWorkflow", c, name, version)
	return wire.Workflow{Name: name}, s.err
}

func (s *stub) SetAlias(ctx context.Context, c auth.Call, workflow, alias string, q wire.AliasRequest) (wire.Alias, bool, error) {
	s.note(ctx, "SetAlias", c, workflow, alias, q)
	return wire.Alias{Alias: alias}, s.created, s.err
}

func (s *stub) ListAliases(ctx context.Context, c auth.Call, workflow string) (wire.AliasList, error) {
	s.note(ctx, "ListAliases", c, workflow)
	return wire.AliasList{Aliases: []wire.Alias{}}, s.err
}

func (s *stub) GetAlias(ctx context.Context, c auth.Call, workflow, alias string) (wire.Alias, error) {
	s.note(ctx, "GetAlias", c, workflow, alias)
	return wire.Alias{Alias: alias}, s.err
}

func (s *stub) DeleteAlias(ctx context.Context, c auth.Call, workflow, alias string) (wire.Alias, error) {
	s.note(ctx, "DeleteAlias", c, workflow, alias)
	return wire.Alias{Alias: alias}, s.err
}

func (s *stub) SetContract(ctx context.Context, c auth.Call, of wire.Contract, q wire.ContractRequest) (wire.ContractSchemas, bool, error) {
	s.note(ctx, "SetContract", c, of, q)
	return wire.ContractSchemas{Task: of.Task}, s.created, s.err
}

func (s *stub) ListContracts(ctx context.Context, c auth.Call) (wire.ContractList, error) {
	s.note(ctx, "ListContracts", c)
	return wire.ContractList{Contracts: []wire.ContractSchemas{}}, s.err
}

func (s *stub) GetContract(ctx context.Context, c auth.Call, of wire.Contract) (wire.ContractSchemas, error) {
	s.note(ctx, "GetContract", c, of)
	return wire.ContractSchemas{Task: of.Task}, s.err
}

func (s *stub) DeleteContract(ctx context.Context, c auth.Call, of wire.Contract) (wire.ContractSchemas, error) {
	s.note(ctx, "DeleteContract", c, of)
	return wire.ContractSchemas{Task: of.Task}, s.err
}

func (s *stub) CreateSchedule(ctx context.Context, c auth.Call, q wire.ScheduleDefinition) (wire.ScheduleDetail, bool, error) {
	s.note(ctx, "CreateSchedule", c, q)
	return wire.ScheduleDetail{}, s.created, s.err
}

func (s *stub) ReplaceSchedule(ctx context.Context, c auth.Call, id string, opts wire.ReplaceQuery, q wire.ScheduleDefinition) (wire.ScheduleDetail, error) {
	s.note(ctx, "ReplaceSchedule", c, id, opts, q)
	return wire.ScheduleDetail{}, s.err
}

func (s *stub) ListSchedules(ctx context.Context, c auth.Call, q wire.ScheduleQuery) (wire.ScheduleList, error) {
	s.note(ctx, "ListSchedules", c, q)
	return wire.ScheduleList{Schedules: []wire.Schedule{}}, s.err
}

func (s *stub) GetSchedule(ctx context.Context, c auth.Call, id string) (wire.ScheduleDetail, error) {
	s.note(ctx, "GetSchedule", c, id)
	return wire.ScheduleDetail{}, s.err
}

func (s *stub) ScheduleEvents(ctx context.Context, c auth.Call, id string, q wire.EventQuery) (wire.ScheduleEventList, error) {
	s.note(ctx, "ScheduleEvents", c, id, q)
	return wire.ScheduleEventList{Events: []wire.ScheduleEvent{}}, s.err
}

func (s *stub) PreviewDefinition(ctx context.Context, c auth.Call, q wire.PreviewRequest) (wire.Preview, error) {
	s.note(ctx, "PreviewDefinition", c, q)
	return wire.Preview{Instants: []wire.PreviewInstant{}}, s.err
}

func (s *stub) PreviewSchedule(ctx context.Context, c auth.Call, id string, q wire.PreviewQuery) (wire.Preview, error) {
	s.note(ctx, "PreviewSchedule", c, id, q)
	return wire.Preview{Instants: []wire.PreviewInstant{}}, s.err
}

func (s *stub) PauseSchedule(ctx context.Context, c auth.Call, id string, q wire.PauseRequest) (wire.ScheduleDetail, error) {
	s.note(ctx, "PauseSchedule", c, id, q)
	return wire.ScheduleDetail{}, s.err
}

func (s *stub) ResumeSchedule(ctx context.Context, c auth.Call, id string, q wire.ResumeRequest) (wire.ScheduleDetail, error) {
	s.note(ctx, "ResumeSchedule", c, id, q)
	return wire.ScheduleDetail{}, s.err
}

func (s *stub) ArchiveSchedule(ctx context.Context, c auth.Call, id string, q wire.ArchiveRequest) (wire.ScheduleDetail, error) {
	s.note(ctx, "ArchiveSchedule", c, id, q)
	return wire.ScheduleDetail{}, s.err
}

func (s *stub) TriggerSchedule(ctx context.Context, c auth.Call, id string, q wire.TriggerRequest) (wire.Occurrence, bool, error) {
	s.note(ctx, "TriggerSchedule", c, id, q)
	return wire.Occurrence{}, s.created, s.err
}

func (s *stub) BackfillSchedule(ctx context.Context, c auth.Call, id string, q wire.BackfillRequest) (wire.BackfillResponse, error) {
	s.note(ctx, "BackfillSchedule", c, id, q)
	return wire.BackfillResponse{Instants: []time.Time{}}, s.err
}

func (s *stub) ListOccurrences(ctx context.Context, c auth.Call, id string, q wire.OccurrenceQuery) (wire.OccurrenceList, error) {
	s.note(ctx, "ListOccurrences", c, id, q)
	return wire.OccurrenceList{Occurrences: []wire.Occurrence{}}, s.err
}

func (s *stub) GetOccurrence(ctx context.Context, c auth.Call, id string, occurrence int64) (wire.OccurrenceDetail, error) {
	s.note(ctx, "GetOccurrence", c, id, occurrence)
	return wire.OccurrenceDetail{Attempts: []wire.OccurrenceAttempt{}}, s.err
}

func (s *stub) CancelOccurrence(ctx context.Context, c auth.Call, id string, occurrence int64, q wire.OccurrenceRequest) (wire.OccurrenceResponse, error) {
	s.note(ctx, "CancelOccurrence", c, id, occurrence, q)
	return wire.OccurrenceResponse{Confirmed: s.confirmed}, s.err
}

func (s *stub) RetryOccurrence(ctx context.Context, c auth.Call, id string, occurrence int64, q wire.OccurrenceRequest) (wire.OccurrenceResponse, error) {
	s.note(ctx, "RetryOccurrence", c, id, occurrence, q)
	return wire.OccurrenceResponse{Confirmed: s.confirmed}, s.err
}

func (s *stub) ListQueues(ctx context.Context, c auth.Call) (wire.QueueList, error) {
	s.note(ctx, "ListQueues", c)
	return wire.QueueList{Queues: []wire.Queue{}}, s.err
}

func (s *stub) ListWorkers(ctx context.Context, c auth.Call) (wire.WorkerList, error) {
	s.note(ctx, "ListWorkers", c)
	return wire.WorkerList{Workers: []wire.Worker{}}, s.err
}

func (s *stub) ListNodes(ctx context.Context, c auth.Call) (wire.NodeList, error) {
	s.note(ctx, "ListNodes", c)
	return wire.NodeList{Nodes: []wire.Node{}}, s.err
}

func (s *stub) ListPartitions(ctx context.Context, c auth.Call) (wire.PartitionList, error) {
	s.note(ctx, "ListPartitions", c)
	return wire.PartitionList{Partitions: []wire.Partition{}}, s.err
}

func (s *stub) ListAttention(ctx context.Context, c auth.Call, q wire.AttentionQuery) (wire.AttentionList, error) {
	s.note(ctx, "ListAttention", c, q)
	return wire.AttentionList{Items: []wire.Attention{}}, s.err
}

func (s *stub) Health(ctx context.Context, c auth.Call) (wire.Health, error) {
	s.note(ctx, "Health", c)
	return wire.Health{Nodes: []wire.Node{}}, s.err
}

// readiness is the stub as a node's: it cannot have two methods of one name.
type readiness struct{ *stub }

func (s readiness) Health() wire.Health {
	s.note(context.Background(), "Ready", auth.Call{})
	return wire.Health{Ready: s.ready, Nodes: []wire.Node{}}
}
