package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/orrery-dev/orrery/shared/history"
)

// Batch is one group commit: at most one turn per execution, and at most one start per name.
type Batch struct {
	Fence history.FenceNumber
	Items []Item
	// Bells are rung after the commit, in the same round trip; the zero value rings nobody.
	Bells Bells
}

// Item is one turn with the ownership under which its execution was loaded.
type Item struct {
	Partition history.Partition
	Epoch     history.Epoch
	Turn      *history.Turn
	// New is set on the first turn of a new execution. Turn.Execution is zero then; the commit tells the number.
	New *NewExecution
	// Ending marks an execution whose ending turn was skipped three times: inserts into its inbox are refused until a
	// turn of it has committed. Turn is nil then, and Execution names it.
	Ending    bool
	Execution history.ExecutionID
	// Children are what Turn.Children asks for, each with New and its first turn: they are written with the turn or not at
	// all. Epoch is zero where the partition need not be the node's.
	Children []Item
	// Owes says that the turn leaves something to be written: rows of tasks that it hands over, which are not among
	// Turn.Offers, or that were handed over before; and its timer. A turn that ends its execution owes nothing.
	Owes bool
	// Owed are rows that earlier turns have left; they are written before the turn changes any row.
	Owed []HandOut

	parent history.ExecutionID // of a child
}

// execution is the number of the item's execution, zero for a new one.
func (it *Item) execution() history.ExecutionID {
	if it.Turn != nil {
		return it.Turn.Execution
	}
	return it.Execution
}

// NewExecution is the part of an execution's row that its first turn does not have.
type NewExecution struct {
	Namespace  history.NamespaceID
	Name       string
	Definition history.DefinitionID
	// InputHash tells starts of the same name apart: 1 to 32 bytes of the caller's choice.
	InputHash []byte
	Trace     string // W3C traceparent, empty for none
	// Attributes are by what it is found besides its name, each name once.
	Attributes []Attribute
	// Occurrence is what a schedule has started it for, Token the fencing token of its key; zero for none.
	Occurrence history.OccurrenceID
	Token      int64
}

// Started is what became of the start of one execution.
type Started struct {
	// Execution is the new execution, or the one that has the name.
	Execution history.ExecutionID
	// Existing is set when the name was taken: nothing was written for the item.
	Existing *Execution
	// MaxActive is the namespace's limit of active executions, where that has refused the start; else zero.
	MaxActive int
}

// Committed is the result of a commit.
type Committed struct {
	// Started has an entry for each item with New, by the item's index.
	Started map[int]Started
	// Children has the numbers of each item's children, by the item's index.
	Children map[int][]history.ExecutionID
	// Debts are the numbers under which is noted what the items owe.
	Debts []int64
	// Wanted tells that occurrences of schedules may wait for keys that executions held which have ended.
	Wanted bool
	// BellsFailed is why the bells were not rung, nil when they were. The commit stands.
	BellsFailed error
}

var (
	lockEndingsSQL = query("lock_endings")
	turnsSQL       = query("turns")
	tellSQL        = query("tell")
	stopSQL        = query("stop")
	snapshotsSQL   = query("snapshots")
	settleSQL      = query("settle")
	offersSQL      = query("offers")
	consumeSQL     = query("consume")
	leftoversSQL   = query("leftovers")
	markEndingSQL  = query("mark_ending")
	blockSQL       = query("block")
	unblockSQL     = query("unblock")
)

// Commit writes the turns of a batch in one transaction and one round trip, under the fence:
//
//	begin
//	fence           lock it, shared
//	check_fence     the incarnation and the epochs (I1)
//	lock_endings    executions that end
//	turns, start    compare and set, history (I2)
//	tell, stop      the inboxes of parents and children
//	snapshots
//	owed            rows of earlier hand-overs
//	settle, offers  the task queue (I6, I7)
//	consume         the inbox (I6)
//	leftovers       the inboxes of executions that end
//	retake_keys     the occurrences of executions that go on after their end, and their keys, after lock_retakes
//	settle_runs     the occurrences that have started them, and their keys
//	debt            what is left to be written
//	commit
//	ring            who waits
//
// Statements that have nothing to do are left out. The error is a *CommitError; after any but an unknown outcome nothing
// was written.
func (s *Store) Commit(ctx context.Context, b Batch) (Committed, error) {
	items := withChildren(b.Items)
	c := columnsOfItems(b.Fence, items)
	p := s.pipeline()
	p.begin()
	p.check(b.Fence, items)
	w := c.write(p)
	p.commit()
	p.ring(b.Bells)
	if err := p.run(ctx); err != nil {
		return Committed{}, commitError(err, b.Items)
	}
	out := Committed{BellsFailed: p.after, Debts: w.debtNumbers(), Wanted: len(w.settled) > 0 && w.settled[0].Wanted}
	if len(c.starts.items) == 0 {
		return out, nil
	}
	all, err := s.startedOf(ctx, items, c.starts.items, w.started)
	if err != nil {
		// The commit stands, and yet the caller cannot be told what it did.
		return Committed{}, &CommitError{Kind: Unknown, Err: err}
	}
	out.started(b.Items, all)
	return out, nil
}

// withChildren lists the items and after them their children, in order.
func withChildren(items []Item) []Item {
	var children []Item
	for i := range items {
		for _, c := range items[i].Children {
			c.parent = items[i].execution()
			children = append(children, c)
		}
	}
	return slices.Concat(items, children)
}

// started deals out what became of the starts of withChildren.
func (c *Committed) started(items []Item, all map[int]Started) {
	c.Started, c.Children = map[int]Started{}, map[int][]history.ExecutionID{}
	next := len(items)
	for i := range items {
		if s, ok := all[i]; ok {
			c.Started[i] = s
		}
		for range items[i].Children {
			c.Children[i] = append(c.Children[i], all[next].Execution)
			next++
		}
	}
}

// check adds the lock of the fence and the checks under it.
func (p *pipeline) check(fence history.FenceNumber, items []Item) {
	epochs := map[history.Partition]history.Epoch{}
	var held []Held
	for _, it := range items {
		if it.parent != 0 && it.Epoch == 0 {
			continue
		}
		if known, ok := epochs[it.Partition]; !ok || known != it.Epoch {
			epochs[it.Partition] = it.Epoch
			held = append(held, Held{it.Partition, it.Epoch})
		}
	}
	partitions, numbers := make([]int16, len(held)), make([]int64, len(held))
	for i, h := range held {
		partitions[i], numbers[i] = int16(h.Partition), int64(h.Epoch)
	}
	p.exec(fenceSQL, args{"fence": int32(fence), "lock_timeout": lockTimeout})
	p.exec(checkFenceSQL, args{"fence": int32(fence), "partitions": partitions, "epochs": numbers})
}

// writes are the rows that the statements of a commit return.
type writes struct {
	started []startedRow
	debts   []debtRow
	settled []settledRow
}

type debtRow struct{ ID int64 }

func (w *writes) debtNumbers() (out []int64) {
	for _, d := range w.debts {
		out = append(out, d.ID)
	}
	if len(w.started) > 0 && w.started[0].Debt != 0 {
		out = append(out, w.started[0].Debt)
	}
	return out
}

// write adds the statements that have something to do, in the order of locks (I12), and returns where their rows will be.
func (c *itemColumns) write(p *pipeline) *writes {
	w := &writes{}
	if len(c.endings) > 0 {
		p.exec(lockEndingsSQL, args{"executions": c.endings})
	}
	if len(c.marked) > 0 {
		p.exec(markEndingSQL, args{"executions": c.marked})
	}
	if len(c.turns.executions) > 0 {
		p.exec(turnsSQL, c.turns.args(c.fence))
	}
	if len(c.starts.items) > 0 {
		collect(p, startSQL, c.starts.args(c.fence), &w.started)
	}
	if len(c.told.parents) > 0 {
		p.exec(tellSQL, c.told.args())
	}
	if len(c.stopped.parents) > 0 {
		p.exec(stopSQL, c.stopped.args())
	}
	if len(c.snapshots.executions) > 0 {
		p.exec(snapshotsSQL, c.snapshots.args())
	}
	c.queue(p)
	if len(c.consumed.entries) > 0 {
		p.exec(consumeSQL, c.consumed.args(p.store))
	}
	if len(c.endings) > 0 {
		p.exec(leftoversSQL, args{"executions": c.endings, "now": p.store.now()})
	}
	if len(c.retaken.occurrences) > 0 {
		p.exec(lockRetakesSQL, c.retaken.args())
		p.exec(retakeKeysSQL, c.retaken.args())
	}
	if len(c.occurrences.occurrences) > 0 {
		collect(p, settleRunsSQL, c.occurrences.args(p.store), &w.settled)
	}
	if len(c.owing) > 0 {
		collect(p, debtSQL, args{"fence": int32(c.fence), "executions": c.owing}, &w.debts)
	}
	return w
}

// queue adds the statements that change the task queue.
func (c *itemColumns) queue(p *pipeline) {
	if len(c.owed.places) > 0 {
		p.exec(owedSQL, c.owed.args())
	}
	if c.settled.any() {
		p.exec(settleSQL, c.settled.args(c.consumed.entries))
	}
	if len(c.offers.places) > 0 {
		p.exec(offersSQL, c.offers.args(c.fence))
	}
}

// Block takes an execution out of service with an error for people to read: its inbox and its timers wait. It is a
// commit of its own under the fence.
func (s *Store) Block(ctx context.Context, fence history.FenceNumber, h Held, id history.ExecutionID, reason string) error {
	return s.aside(ctx, fence, h, id, blockSQL, args{"execution": int64(id), "reason": reason, "here": false, "fence": int32(fence)})
}

// BlockHere does so for the incarnation alone: another one that owns the partition tries again.
func (s *Store) BlockHere(ctx context.Context, fence history.FenceNumber, h Held, id history.ExecutionID, reason string) error {
	return s.aside(ctx, fence, h, id, blockSQL, args{"execution": int64(id), "reason": reason, "here": true, "fence": int32(fence)})
}

// Unblock takes back what another incarnation has said by BlockHere.
func (s *Store) Unblock(ctx context.Context, fence history.FenceNumber, h Held, id history.ExecutionID) error {
	return s.aside(ctx, fence, h, id, unblockSQL, args{"execution": int64(id)})
}

// aside commits one statement about an execution of the incarnation.
func (s *Store) aside(ctx context.Context, fence history.FenceNumber, h Held, id history.ExecutionID, sql string, a args) error {
	items := []Item{{Partition: h.Partition, Epoch: h.Epoch, Execution: id}}
	p := s.pipeline()
	p.begin()
	p.check(fence, items)
	p.exec(sql, a)
	p.commit()
	if err := p.run(ctx); err != nil {
		return commitError(err, items)
	}
	return nil
}

// sortedItems are the indexes of the items by number of their executions, those to start last, by name: the order in
// which rows are written and locked.
func sortedItems(items []Item) []int {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareItems(&items[a], &items[b]) })
	return order
}

// compareItems orders by number, and by name those that have none yet.
func compareItems(a, b *Item) int {
	switch {
	case a.New == nil && b.New == nil:
		return cmp.Compare(a.execution(), b.execution())
	case a.New == nil:
		return -1
	case b.New == nil:
		return 1
	}
	return cmp.Or(cmp.Compare(a.New.Namespace, b.New.Namespace), cmp.Compare(a.New.Name, b.New.Name))
}
