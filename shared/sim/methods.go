package sim

import (
	"context"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// The methods of the store, each through the link.

func (l *link) Join(ctx context.Context, q store.JoinRequest) (store.Joined, error) {
	return write(l, ctx, "Join", func() (store.Joined, error) { return l.Store.Join(ctx, q) })
}

func (l *link) Heartbeat(ctx context.Context, b store.Beat) (store.Pulse, error) {
	return write(l, ctx, "Heartbeat", func() (store.Pulse, error) { return l.Store.Heartbeat(ctx, b) })
}

func (l *link) Look(ctx context.Context, b store.Beat) (store.Pulse, error) {
	return read(l, ctx, "Look", func() (store.Pulse, error) { return l.Store.Look(ctx, b) })
}

func (l *link) Leave(ctx context.Context, f history.FenceNumber) error {
	return writeOnly(l, ctx, "Leave", func() error { return l.Store.Leave(ctx, f) })
}

func (l *link) Take(ctx context.Context, q store.TakeRequest) ([]store.Held, error) {
	return write(l, ctx, "Take", func() ([]store.Held, error) { return l.Store.Take(ctx, q) })
}

func (l *link) Release(ctx context.Context, by history.FenceNumber, to []store.Handover) ([]history.Partition, error) {
	return write(l, ctx, "Release", func() ([]history.Partition, error) { return l.Store.Release(ctx, by, to) })
}

func (l *link) TakeOwnFence(ctx context.Context, f history.FenceNumber) error {
	return writeOnly(l, ctx, "TakeOwnFence", func() error { return l.Store.TakeOwnFence(ctx, f) })
}

func (l *link) Block(ctx context.Context, f history.FenceNumber, h store.Held, id history.ExecutionID, reason string) error {
	l.world.blocked(id, reason)
	return writeOnly(l, ctx, "Block", func() error { return l.Store.Block(ctx, f, h, id, reason) })
}

func (l *link) Paid(ctx context.Context, f history.FenceNumber, debts []int64) error {
	return writeOnly(l, ctx, "Paid", func() error { return l.Store.Paid(ctx, f, debts) })
}

func (l *link) AwaitEnd(ctx context.Context, f history.FenceNumber, id history.ExecutionID) error {
	return writeOnly(l, ctx, "AwaitEnd", func() error { return l.Store.AwaitEnd(ctx, f, id) })
}

func (l *link) Clean(ctx context.Context, c store.Cleaning) (store.Cleaned, error) {
	return write(l, ctx, "Clean", func() (store.Cleaned, error) { return l.Store.Clean(ctx, c) })
}

func (l *link) Start(ctx context.Context, it store.Item) (store.Started, error) {
	// A function draws the partition; here it follows from the seed.
	it.Partition = history.Partition(l.world.chance(1<<30, "partition", it.New.Name) % 8)
	return write(l, ctx, "Start", func() (store.Started, error) { return l.Store.Start(ctx, it) })
}

func (l *link) Send(ctx context.Context, m store.Message) (store.Sent, error) {
	return write(l, ctx, "Send", func() (store.Sent, error) { return l.Store.Send(ctx, m) })
}

func (l *link) Reply(ctx context.Context, e store.EntryRef) (*history.Reply, error) {
	return write(l, ctx, "Reply", func() (*history.Reply, error) { return l.Store.Reply(ctx, e) })
}

func (l *link) Report(ctx context.Context, rs []store.Report) ([]store.ReportOutcome, error) {
	return write(l, ctx, "Report", func() ([]store.ReportOutcome, error) { return l.Store.Report(ctx, rs) })
}

func (l *link) Claim(ctx context.Context, q store.ClaimRequest) (store.ClaimResult, error) {
	return write(l, ctx, "Claim", func() (store.ClaimResult, error) { return l.Store.Claim(ctx, q) })
}

func (l *link) Register(ctx context.Context, r store.Registration) (store.Session, error) {
	return write(l, ctx, "Register", func() (store.Session, error) { return l.Store.Register(ctx, r) })
}

func (l *link) Touch(ctx context.Context, ts []store.Touch) ([]string, error) {
	return write(l, ctx, "Touch", func() ([]string, error) { return l.Store.Touch(ctx, ts) })
}

func (l *link) WorkerBeat(ctx context.Context, b store.WorkerBeat) (store.WorkerBeatAnswer, error) {
	return write(l, ctx, "WorkerBeat", func() (store.WorkerBeatAnswer, error) { return l.Store.WorkerBeat(ctx, b) })
}

func (l *link) Deregister(ctx context.Context, id string) ([]store.HeldTask, error) {
	return write(l, ctx, "Deregister", func() ([]store.HeldTask, error) { return l.Store.Deregister(ctx, id) })
}

func (l *link) Settings(ctx context.Context) (store.Settings, error) {
	return read(l, ctx, "Settings", func() (store.Settings, error) { return l.Store.Settings(ctx) })
}

func (l *link) Session(ctx context.Context, id string) (store.Session, error) {
	return read(l, ctx, "Session", func() (store.Session, error) { return l.Store.Session(ctx, id) })
}

func (l *link) Load(ctx context.Context, ids []history.ExecutionID, from store.LoadFrom) ([]store.Loaded, error) {
	return read(l, ctx, "Load", func() ([]store.Loaded, error) { return l.Store.Load(ctx, ids, from) })
}

func (l *link) Pending(ctx context.Context, ids []history.ExecutionID, limit int) (store.Pending, error) {
	return read(l, ctx, "Pending", func() (store.Pending, error) { return l.Store.Pending(ctx, ids, limit) })
}

func (l *link) Inbox(ctx context.Context, q store.InboxQuery) ([]store.Entry, error) {
	return read(l, ctx, "Inbox", func() ([]store.Entry, error) { return l.Store.Inbox(ctx, q) })
}

func (l *link) InboxOf(ctx context.Context, ids []history.ExecutionID, limit int) ([]store.Entry, error) {
	return read(l, ctx, "InboxOf", func() ([]store.Entry, error) { return l.Store.InboxOf(ctx, ids, limit) })
}

func (l *link) Unnoticed(ctx context.Context, ps []history.Partition, from history.TaskID, limit int) ([]store.UnnoticedClaim, error) {
	return read(l, ctx, "Unnoticed", func() ([]store.UnnoticedClaim, error) { return l.Store.Unnoticed(ctx, ps, from, limit) })
}

func (l *link) Due(ctx context.Context, ps []history.Partition, from, until history.Time, limit int) ([]store.DueExecution, error) {
	return read(l, ctx, "Due", func() ([]store.DueExecution, error) { return l.Store.Due(ctx, ps, from, until, limit) })
}

func (l *link) LostClaims(ctx context.Context, q store.LostQuery) ([]store.LostClaim, error) {
	return read(l, ctx, "LostClaims", func() ([]store.LostClaim, error) { return l.Store.LostClaims(ctx, q) })
}

func (l *link) Heard(ctx context.Context, session string, hs []store.Holding) (map[store.Holding]history.Time, error) {
	return read(l, ctx, "Heard", func() (map[store.Holding]history.Time, error) { return l.Store.Heard(ctx, session, hs) })
}

func (l *link) Debts(ctx context.Context, f history.FenceNumber, known []int64) ([]store.Debt, error) {
	return read(l, ctx, "Debts", func() ([]store.Debt, error) { return l.Store.Debts(ctx, f, known) })
}

// owners are the partitions with their generation.
type owners struct {
	list       []store.Owner
	generation int64
}

func (l *link) Partitions(ctx context.Context) ([]store.Owner, int64, error) {
	o, err := read(l, ctx, "Partitions", func() (owners, error) {
		list, generation, err := l.Store.Partitions(ctx)
		return owners{list, generation}, err
	})
	return o.list, o.generation, err
}

// dated is a definition with the time of its read.
type dated struct {
	definition store.Definition
	now        history.Time
}

func (l *link) Definition(ctx context.Context, ns history.NamespaceID, name string, version int) (store.Definition, history.Time, error) {
	d, err := read(l, ctx, "Definition", func() (dated, error) {
		d, now, err := l.Store.Definition(ctx, ns, name, version)
		return dated{d, now}, err
	})
	return d.definition, d.now, err
}

func (l *link) Contracts(ctx context.Context, namespaces ...history.NamespaceID) ([]store.Contract, error) {
	return read(l, ctx, "Contracts", func() ([]store.Contract, error) { return l.Store.Contracts(ctx, namespaces...) })
}

func (l *link) DefinitionsByID(ctx context.Context, ids []history.DefinitionID) ([]store.Definition, error) {
	return read(l, ctx, "DefinitionsByID", func() ([]store.Definition, error) { return l.Store.DefinitionsByID(ctx, ids) })
}

func (l *link) Execution(ctx context.Context, ns history.NamespaceID, name string) (store.ExecutionDetail, error) {
	return read(l, ctx, "Execution", func() (store.ExecutionDetail, error) { return l.Store.Execution(ctx, ns, name) })
}

func (l *link) History(ctx context.Context, q store.HistoryQuery) ([]store.Row, error) {
	return read(l, ctx, "History", func() ([]store.Row, error) { return l.Store.History(ctx, q) })
}
