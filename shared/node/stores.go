package node

import (
	"context"
	"time"

	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// Store is what a node needs of the database for its work; *store.Store is one, opened directly and not through a
// pooler.
type Store interface {
	frontend.Store
	historyStore
	inboxStore
	ownerStore
	waitStore
	keepStore
}

// historyStore is where the loop's turns go and come from.
type historyStore interface {
	Commit(ctx context.Context, b store.Batch) (store.Committed, error)
	Block(ctx context.Context, fence history.FenceNumber, h store.Held, id history.ExecutionID, reason string) error
	BlockHere(ctx context.Context, fence history.FenceNumber, h store.Held, id history.ExecutionID, reason string) error
	Unblock(ctx context.Context, fence history.FenceNumber, h store.Held, id history.ExecutionID) error
	BlockedElsewhere(ctx context.Context, fence history.FenceNumber, ps []history.Partition, limit int) ([]store.Placed, error)
	TakeOwnFence(ctx context.Context, fence history.FenceNumber) error
	Load(ctx context.Context, ids []history.ExecutionID, from store.LoadFrom) ([]store.Loaded, error)
	Contracts(ctx context.Context, namespaces ...history.NamespaceID) ([]store.Contract, error)
	DefinitionsByID(ctx context.Context, ids []history.DefinitionID) ([]store.Definition, error)
}

// inboxStore is where commands come from.
type inboxStore interface {
	Inbox(ctx context.Context, q store.InboxQuery) ([]store.Entry, error)
	InboxOf(ctx context.Context, ids []history.ExecutionID, limit int) ([]store.Entry, error)
	Unnoticed(ctx context.Context, ps []history.Partition, from history.TaskID, limit int) ([]store.UnnoticedClaim, error)
	Due(ctx context.Context, ps []history.Partition, from, until history.Time, limit int) ([]store.DueExecution, error)
	LostClaims(ctx context.Context, q store.LostQuery) ([]store.LostClaim, error)
	Rowless(ctx context.Context, q store.RowlessQuery) (store.RowlessStep, error)
	Pending(ctx context.Context, ids []history.ExecutionID, limit int) (store.Pending, error)
	Heard(ctx context.Context, session string, hs []store.Holding) (map[store.Holding]history.Time, error)
	Look(ctx context.Context, b store.Beat) (store.Pulse, error)
}

// ownerStore moves partitions, and what is owed in them.
type ownerStore interface {
	Debts(ctx context.Context, fence history.FenceNumber, known []int64) ([]store.Debt, error)
	Paid(ctx context.Context, fence history.FenceNumber, debts []int64) error
	Partitions(ctx context.Context) ([]store.Owner, int64, error)
	Take(ctx context.Context, q store.TakeRequest) ([]store.Held, error)
	Release(ctx context.Context, by history.FenceNumber, to []store.Handover) ([]history.Partition, error)
}

// waitStore is how a node hears of others.
type waitStore interface {
	Listen(ctx context.Context, fence history.FenceNumber, hear func(store.Bell)) error
	AwaitEnd(ctx context.Context, fence history.FenceNumber, id history.ExecutionID) error
}

// keepStore keeps the database in order.
type keepStore interface {
	MakePartitions(ctx context.Context, days int) (int, error)
	Clean(ctx context.Context, c store.Cleaning) (store.Cleaned, error)
	Expire(ctx context.Context, q store.Expiry) (store.Expired, error)
	Days(ctx context.Context) ([]store.Day, error)
	KeepDay(ctx context.Context, day time.Time, most int) (int, error)
	DropDay(ctx context.Context, day time.Time) (bool, error)
	CountActive(ctx context.Context) (wrong int64, err error)
}

// Membership is the database for the node's heartbeats: a store of its own with a connection of its own, so that no
// amount of work delays them.
type Membership interface {
	Join(ctx context.Context, q store.JoinRequest) (store.Joined, error)
	Heartbeat(ctx context.Context, b store.Beat) (store.Pulse, error)
	Leave(ctx context.Context, fence history.FenceNumber) error
}
