// Package frontend is what a process does that owns nothing: it starts executions, claims tasks, takes reports, sends
// signals and cancels to the owners, keeps workers' sessions, publishes and reads. A function does only this; a node does
// it for executions that another node owns. It knows no HTTP.
//
//	start ------------> first turn, decided here -----------> executions, history, queue rows
//	poll -------------> claimer (one per process) ----------> queue rows, session's contact
//	report -----------> token's signature ------------------> queue row done + inbox entry --+
//	signal, cancel ---> inbox entry, then its reply <------------------------------------+   |
//	reads ------------> snapshot + history, folded                                       |   v
//	                                                                                     +- owner
//
// What holds:
//
//   - Nothing here appends to an execution that exists (I1); a first turn is written with the execution's own row.
//   - A success answer is durable. What a lost connection leaves open is answered as OUTCOME_UNKNOWN, and repeating is safe.
//   - Times that are compared come from the database (I9); the process's clock only measures how long to wait.
//   - No call relies on a notification: it looks again, after pauses that grow. A [Host] makes the pauses long and rings.
package frontend

import (
	"context"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Store is what this package needs of the database; *store.Store is one.
type Store interface {
	clusterStore
	workflowStore
	executionStore
	workerStore
	scheduleStore
}

type clusterStore interface {
	Settings(ctx context.Context) (store.Settings, error)
	Namespace(ctx context.Context, name string) (history.NamespaceID, error)
	Queues(ctx context.Context, ns history.NamespaceID, sessionTimeout time.Duration) ([]store.QueueState, error)
	Workers(ctx context.Context, ns history.NamespaceID, sessionTimeout time.Duration) ([]store.Session, error)
	Nodes(ctx context.Context) ([]store.Node, error)
	Partitions(ctx context.Context) ([]store.Owner, int64, error)
	Depths(ctx context.Context, ps []history.Partition) (store.Depths, error)
	Attention(ctx context.Context, q store.AttentionQuery) (store.AttentionPage, error)
	DeadLetters(ctx context.Context, ns history.NamespaceID, after history.OccurrenceID, limit int) ([]store.DeadLetter, error)
}

type workflowStore interface {
	Publish(ctx context.Context, d store.Definition) (store.Definition, bool, error)
	Definition(ctx context.Context, ns history.NamespaceID, name string, version int) (store.Definition, history.Time, error)
	Versions(ctx context.Context, ns history.NamespaceID, name string) ([]int, error)
	Workflows(ctx context.Context, ns history.NamespaceID, after string, limit int) ([]store.Definition, error)
	SetAlias(ctx context.Context, a store.Alias) (store.Alias, bool, error)
	Alias(ctx context.Context, ns history.NamespaceID, workflow, name string) (store.Alias, error)
	Aliases(ctx context.Context, ns history.NamespaceID, workflow string) ([]store.Alias, error)
	DeleteAlias(ctx context.Context, ns history.NamespaceID, workflow, name string) (store.Alias, error)
	SetContract(ctx context.Context, c store.Contract) (store.Contract, bool, error)
	Contract(ctx context.Context, ns history.NamespaceID, c history.Contract) (store.Contract, error)
	Contracts(ctx context.Context, namespaces ...history.NamespaceID) ([]store.Contract, error)
	DeleteContract(ctx context.Context, ns history.NamespaceID, c history.Contract) (store.Contract, error)
}

type executionStore interface {
	Start(ctx context.Context, it store.Item) (store.Started, error)
	Send(ctx context.Context, m store.Message) (store.Sent, error)
	Reply(ctx context.Context, e store.EntryRef) (*history.Reply, error)
	Execution(ctx context.Context, ns history.NamespaceID, name string) (store.ExecutionDetail, error)
	Named(ctx context.Context, ns history.NamespaceID, names []string) ([]store.Execution, error)
	Executions(ctx context.Context, q store.ExecutionQuery) (store.ExecutionPage, error)
	Attributes(ctx context.Context, ids []history.ExecutionID) (map[history.ExecutionID][]store.Attribute, error)
	History(ctx context.Context, q store.HistoryQuery) ([]store.Row, error)
	Load(ctx context.Context, ids []history.ExecutionID, from store.LoadFrom) ([]store.Loaded, error)
}

type workerStore interface {
	Register(ctx context.Context, r store.Registration) (store.Session, error)
	Session(ctx context.Context, id string) (store.Session, error)
	Touch(ctx context.Context, ts []store.Touch) (gone []string, err error)
	WorkerBeat(ctx context.Context, b store.WorkerBeat) (store.WorkerBeatAnswer, error)
	Deregister(ctx context.Context, id string) ([]store.HeldTask, error)
	Claim(ctx context.Context, q store.ClaimRequest) (store.ClaimResult, error)
	Report(ctx context.Context, rs []store.Report) ([]store.ReportOutcome, error)
}

type scheduleStore interface {
	Schedule(ctx context.Context, ns history.NamespaceID, name string) (store.Schedule, time.Time, error)
	Schedules(ctx context.Context, q store.ScheduleQuery) ([]store.Schedule, error)
	ScheduleEvents(ctx context.Context, id history.ScheduleID, limit int) ([]store.ScheduleEvent, error)
	CreateSchedule(ctx context.Context, x store.Schedule, by string) (bool, error)
	EditSchedule(ctx context.Context, e store.ScheduleEdit) error
	Plan(ctx context.Context, plans []store.Planned) ([]history.ScheduleID, error)
	Trigger(ctx context.Context, q store.Trigger) (store.TriggerOutcome, history.OccurrenceID, error)
	Backfill(ctx context.Context, b store.Backfill) ([]time.Time, error)
	TakenInstants(ctx context.Context, id history.ScheduleID, instants []time.Time) ([]time.Time, error)
	Occurrences(ctx context.Context, q store.OccurrenceQuery) (store.OccurrencePage, error)
	Occurrence(ctx context.Context, ns history.NamespaceID, schedule string, id history.OccurrenceID) (store.Occurrence, error)
	Traces(ctx context.Context, id history.OccurrenceID, limit int) ([]store.Trace, error)
	CancelOccurrence(ctx context.Context, w store.OperatorWord) (store.OperatorOutcome, string, error)
	RetryOccurrence(ctx context.Context, w store.OperatorWord) (store.OperatorOutcome, error)
	CronDepths(ctx context.Context) (store.CronDepths, error)
}

// Host is a process that lives long, around a frontend: a node. It waits better than by looking again and again. The
// store of such a frontend is the host's as well, where the host serves what it owns itself.
type Host interface {
	// Open begins to poll: tasks may come to the poll from now on. The caller waits for them, or closes the poll. One that
	// comes first is given tasks before those that wait: its answer is on its way in any case.
	Open(p store.Poll, first bool) (OpenPoll, error)
	// Ended waits until the execution of the name has ended or until comes; nil is that it runs still. known is false where
	// the host cannot tell: look at the database.
	Ended(ctx context.Context, ns history.NamespaceID, name string, until time.Time) (ended *Ended, known bool)
	// AwaitEnd and AwaitReply begin to wait, before the caller looks: rung is closed when it is worth another look. The
	// caller calls forget in any case.
	AwaitEnd(ctx context.Context, id history.ExecutionID) (rung <-chan struct{}, forget func(), err error)
	AwaitReply(e store.EntryRef) (rung <-chan struct{}, forget func())
	// Health is the host's own part of it, known without a look into the database.
	Health() wire.Health
}

// OpenPoll is a poll that has begun.
type OpenPoll interface {
	// Wait waits for tasks until end, and looks once at least. No tasks and no error is an empty queue.
	Wait(ctx context.Context, end time.Time) ([]store.Assignment, error)
	// Close ends a poll that nobody waits for; what has come to it is offered again.
	Close()
}

// Ended is how an execution ended, and when.
type Ended struct {
	history.End
	At history.Time
}

// Options are the settings of a frontend.
type Options struct {
	// Host is nil in a function.
	Host Host
	// SessionTimeout and HeartbeatInterval are told to workers.
	SessionTimeout    time.Duration
	HeartbeatInterval time.Duration
	// NodeTimeout is the age of a heartbeat beyond which a node is not shown as live.
	NodeTimeout time.Duration
	// MaxPayload bounds the input of a schedule, in bytes; zero for wire.MaxPayload. That of other requests is checked before.
	MaxPayload int
	// Version is the build's, for health.
	Version string
	// NoHTTP, NoLambda and NoS3 refuse documents with such tasks, or Maps that read their items: no node does that.
	NoHTTP, NoLambda, NoS3 bool
}

// Frontend serves every area of the API but readiness. It is safe for concurrent use and holds nothing but caches.
type Frontend struct {
	store    Store
	options  Options
	machines *machines
	sessions *sessions
	host     Host
	pauses   pauses // between looks for an end or a reply

	mu         sync.Mutex // for what follows
	cluster    *cluster
	clusterAge time.Time
	namespaces map[string]history.NamespaceID
	contracts  map[history.NamespaceID]contractsAt
}

// New makes a frontend. It does not touch the database.
func New(s Store, o Options) *Frontend {
	f := &Frontend{
		store: s, options: o, machines: newMachines(), sessions: newSessions(s), host: o.Host,
		pauses: pauses{time.Second, 4 * time.Second}, namespaces: map[string]history.NamespaceID{},
		contracts: map[history.NamespaceID]contractsAt{},
	}
	if f.host == nil {
		f.host, f.pauses = function{newClaimer(s)}, pauses{10 * time.Millisecond, time.Second}
	}
	return f
}

// function is the host of a frontend that has none: it looks again, and nobody rings.
type function struct{ *claimer }

func (f function) Open(p store.Poll, _ bool) (OpenPoll, error) {
	return functionPoll{f.claimer, p}, nil
}

// functionPoll claims when it is waited for.
type functionPoll struct {
	claimer *claimer
	poll    store.Poll
}

func (p functionPoll) Wait(ctx context.Context, end time.Time) ([]store.Assignment, error) {
	return p.claimer.poll(ctx, p.poll, end)
}

func (functionPoll) Close() {}

func (function) Ended(context.Context, history.NamespaceID, string, time.Time) (*Ended, bool) {
	return nil, false
}

func (function) AwaitEnd(context.Context, history.ExecutionID) (<-chan struct{}, func(), error) {
	return nil, func() {}, nil
}

func (function) AwaitReply(store.EntryRef) (<-chan struct{}, func()) { return nil, func() {} }

func (function) Health() wire.Health { return wire.Health{Role: wire.RoleFunction} }

// cluster is what all processes share: the settings, and the signer of their key.
type cluster struct {
	store.Settings
	signer *Signer
}

// clusterTTL is how long the settings are believed: a new key after a restore is seen at the latest then.
const clusterTTL = time.Minute

func (f *Frontend) settings(ctx context.Context) (*cluster, error) {
	f.mu.Lock()
	c, age := f.cluster, time.Since(f.clusterAge)
	f.mu.Unlock()
	if c != nil && age < clusterTTL {
		return c, nil
	}
	settings, err := f.store.Settings(ctx)
	if err != nil {
		return nil, failed("read the settings", err)
	}
	c = &cluster{settings, NewSigner(settings.MACKey)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cluster, f.clusterAge = c, time.Now()
	return c, nil
}

// namespace finds the number of a call's namespace. Numbers never change, so they are kept.
func (f *Frontend) namespace(ctx context.Context, c auth.Call) (history.NamespaceID, error) {
	f.mu.Lock()
	id, ok := f.namespaces[c.Namespace]
	f.mu.Unlock()
	if ok {
		return id, nil
	}
	id, err := f.store.Namespace(ctx, c.Namespace)
	if err != nil {
		return 0, notFound(err, noNamespace, c.Namespace)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.namespaces[c.Namespace] = id
	return id, nil
}
