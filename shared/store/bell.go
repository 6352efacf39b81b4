package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/shared/history"
)

// Bells are what a commit has to tell others. They are rung after it, only to who waits, and a process joins those of
// several commits: at most one ringing in 2 ms.
type Bells struct {
	From        history.FenceNumber   // the node that rings, which is not rung itself; zero for a function
	Tasks       []history.Contract    // rows were queued
	Ended       []history.ExecutionID // executions have ended
	Replies     []EntryRef            // awaited entries were answered
	Inbox       []history.Partition   // an entry, a timer or the partition itself is there for its owner
	InboxOf     []history.ExecutionID // the same, for the owners of the partitions of executions
	Definitions bool                  // a version was published
	Schedules   bool                  // there is something to do for schedules
}

var (
	ringSQL     = query("ring")
	awaitEndSQL = query("await_end")
)

// Add joins what an item's commit has to tell others.
func (b *Bells) Add(it Item) {
	t := it.Turn
	if t == nil {
		return
	}
	for _, o := range t.Offers {
		if o.Claim == nil && !o.TokenTask {
			b.Tasks = append(b.Tasks, o.Contract)
		}
	}
	if t.End != nil && it.New == nil {
		b.Ended = append(b.Ended, t.Execution)
	}
	if t.End != nil && t.Told != nil {
		b.InboxOf = append(b.InboxOf, t.Told.Execution)
	}
	for _, c := range it.Children {
		b.Add(c)
		if c.Epoch == 0 && c.Turn.WakeAt != 0 {
			b.Inbox = append(b.Inbox, c.Partition)
		}
	}
	for _, c := range t.Consumed {
		if c.Reply != nil {
			b.Replies = append(b.Replies, EntryRef{t.Execution, c.ID})
		}
	}
}

// Join adds the bells of another.
func (b *Bells) Join(o Bells) {
	b.Tasks = append(b.Tasks, o.Tasks...)
	b.Ended = append(b.Ended, o.Ended...)
	b.Replies = append(b.Replies, o.Replies...)
	b.Inbox = append(b.Inbox, o.Inbox...)
	b.InboxOf = append(b.InboxOf, o.InboxOf...)
	b.Definitions = b.Definitions || o.Definitions
	b.Schedules = b.Schedules || o.Schedules
}

// Empty tells whether there is nothing to ring.
func (b *Bells) Empty() bool {
	return len(b.Tasks)+len(b.Ended)+len(b.Replies)+len(b.Inbox)+len(b.InboxOf) == 0 && !b.Definitions && !b.Schedules
}

// Ring rings bells that no commit carries.
func (s *Store) Ring(ctx context.Context, b Bells) error {
	if b.Empty() {
		return nil
	}
	p := s.pipeline()
	p.ring(b)
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("store: ring: %w", translateWrite(err))
	}
	return nil
}

// ring adds the statement that notifies who waits, where there is something to tell. It follows the COMMIT.
func (p *pipeline) ring(b Bells) {
	if b.Empty() {
		return
	}
	tasks, versions := contractColumns(b.Tasks)
	executions, entries := entryColumns(b.Replies)
	p.exec(ringSQL, args{
		"fence": int32(b.From), "tasks": tasks, "versions": versions,
		"partitions": int16s(b.Inbox), "executions": int64s(b.InboxOf), "ended": int64s(b.Ended),
		"reply_executions": executions, "reply_entries": entries, "definitions": b.Definitions, "schedules": b.Schedules,
		"now": p.store.now(),
	})
}

func contractColumns(contracts []history.Contract) (tasks []string, versions []int32) {
	for _, c := range contracts {
		tasks = append(tasks, c.Task)
		versions = append(versions, int32(c.Version))
	}
	return tasks, versions
}

func contractsOf(queues []Queue) []history.Contract {
	var out []history.Contract
	for _, q := range queues {
		out = append(out, q.Contract)
	}
	return out
}

func entryColumns(refs []EntryRef) (executions, entries []int64) {
	for _, r := range refs {
		executions = append(executions, int64(r.Execution))
		entries = append(entries, int64(r.ID))
	}
	return executions, entries
}

// AwaitEnd leaves the node's flag at an execution, so that its end rings the node: commit the flag, look, then wait. The
// flag holds for a minute.
func (s *Store) AwaitEnd(ctx context.Context, fence history.FenceNumber, id history.ExecutionID) error {
	return s.exec(ctx, "await an end", awaitEndSQL, args{"execution": int64(id), "fence": int32(fence), "now": s.now()})
}

// BellKind says what a bell tells.
type BellKind int

const (
	// BellConnected: LISTEN has begun, or begun again: look at everything once.
	BellConnected   BellKind = iota
	BellInbox                // look at the inbox, the timers and the ownership
	BellTasks                // look at the queues that polls wait for
	BellEnded                // Execution has ended
	BellReply                // Entry was answered
	BellDefinitions          // look at the generation of the definitions
	BellSchedules            // look at what is due for schedules
)

// Bell is one notification for this node.
type Bell struct {
	Kind      BellKind
	Execution history.ExecutionID
	Entry     EntryRef
}

// channels are the names that NOTIFY uses, with what they tell. A payload is the fence number of the node that is meant and,
// after a blank, what it is about.
var channels = map[string]BellKind{
	"orrery_inbox": BellInbox, "orrery_tasks": BellTasks, "orrery_done": BellEnded, "orrery_definitions": BellDefinitions,
	"orrery_schedules": BellSchedules,
}

// Listen hears the bells for a node until the context ends or the connection breaks; it returns the cause. It needs a
// direct connection, which it opens beside the pool. Bells are lost while nobody listens: BellConnected comes first.
func (s *Store) Listen(ctx context.Context, fence history.FenceNumber, hear func(Bell)) error {
	if !s.options.Direct {
		return fmt.Errorf("store: listen: %w", ErrDirectOnly)
	}
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("store: listen: %w", translateRead(err))
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for channel := range channels {
		if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return fmt.Errorf("store: listen: %w", translateRead(err))
		}
	}
	hear(Bell{Kind: BellConnected})
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("store: listen: %w", translateRead(err))
		}
		if bell, err := readBell(n.Channel, n.Payload, fence); err == nil {
			hear(bell)
		}
	}
}

var errNotMine = errors.New("not for this node")

// readBell reads a notification. A payload that is not ours is an error, and so is one for another node.
func readBell(channel, payload string, fence history.FenceNumber) (Bell, error) {
	fields := strings.Fields(payload)
	if len(fields) == 0 || fields[0] != strconv.FormatInt(int64(fence), 10) {
		return Bell{}, errNotMine
	}
	bell := Bell{Kind: channels[channel]}
	var ids []int64
	for _, f := range fields[1:] {
		id, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return Bell{}, err
		}
		ids = append(ids, id)
	}
	switch {
	case bell.Kind == BellEnded && len(ids) == 2:
		bell.Kind = BellReply
		bell.Entry = EntryRef{history.ExecutionID(ids[0]), history.InboxID(ids[1])}
	case bell.Kind == BellEnded && len(ids) == 1:
		bell.Execution = history.ExecutionID(ids[0])
	}
	return bell, nil
}
