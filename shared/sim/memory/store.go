package memory

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// Options are how a store begins.
type Options struct {
	// Partitions is their number; 256 when zero.
	Partitions int
	// Offset is how far the store's clock is ahead of that of the processes.
	Offset time.Duration
	// Committed, when set, is told of every transaction that has changed something, before anybody else can see it. It must not
	// call the store.
	Committed func(View, Change)
	// Refused, when set, is told of every transaction that was refused, as Committed is of the others.
	Refused func(View)
	// Break is a rule that the store does not keep, so that a test can show that it is missed.
	Break Break
}

// Change is what one transaction has done, for whoever watches.
type Change struct {
	// By is the fence of a commit or of a taker, zero for what anybody may do.
	By history.FenceNumber
	// Held are the epochs under which a commit was made.
	Held []store.Held
	// Turns are those that were written.
	Turns []Written
	// Taken are partitions that have changed owner.
	Taken []history.Partition
	// Executions are those of which a row, an entry or a turn was changed.
	Executions []history.ExecutionID
}

// Written is one turn.
type Written struct {
	Execution history.ExecutionID
	New       bool
	Turn      *history.Turn
}

// Store is the database. It serves as the stores of all processes of a test, and is safe for concurrent calls.
type Store struct {
	frontend.Store // the lists for people, which nobody calls here

	options Options

	mu          sync.Mutex // for all that follows
	shift       time.Duration
	last        int64 // the number that was given out last
	partitions  []store.Owner
	owners      int64 // generation
	published   int64 // generation
	nodes       map[history.FenceNumber]*member
	fences      map[history.FenceNumber]*fence
	definitions []store.Definition
	executions  []*execution // by number
	tasks       []*task      // by number
	inbox       []*entry     // by number
	debts       []*debt      // by number
	sessions    []*session   // by number
	keys        map[keyName]*key
	queueFlags  map[queueFlag]time.Time
	endFlags    map[endFlag]time.Time
	listeners   map[history.FenceNumber][]chan store.Bell
}

type member struct {
	store.Node
	beat  time.Time
	ended string // "", "fenced" or "left"
}

type execution struct {
	store.Execution
	token       int64 // fencing token
	ending      bool
	turns       []store.Row
	snapshot    []byte
	snapshotSeq history.Seq
}

type entry struct {
	store.Entry
	waiter history.FenceNumber
	key    string
	reply  *history.Reply
	at     time.Time // of the reply
}

type debt struct {
	store.Debt
	fence     history.FenceNumber
	inherited bool
}

type keyName struct {
	namespace history.NamespaceID
	key       string
}

type key struct {
	hash    string
	entry   store.EntryRef
	reply   *history.Reply
	expires time.Time
}

type queueFlag struct {
	contract history.Contract
	fence    history.FenceNumber
}

type endFlag struct {
	execution history.ExecutionID
	fence     history.FenceNumber
}

// Namespace is the number of the one namespace, whose name is "default".
const Namespace history.NamespaceID = 1

// New makes an empty database.
func New(o Options) *Store {
	if o.Partitions == 0 {
		o.Partitions = 256
	}
	m := &Store{
		options: o, owners: 1, published: 1,
		nodes: map[history.FenceNumber]*member{}, fences: map[history.FenceNumber]*fence{}, keys: map[keyName]*key{},
		queueFlags: map[queueFlag]time.Time{}, endFlags: map[endFlag]time.Time{},
		listeners: map[history.FenceNumber][]chan store.Bell{},
	}
	for p := range o.Partitions {
		m.partitions = append(m.partitions, store.Owner{Partition: history.Partition(p)})
	}
	return m
}

// Advance moves the store's clock.
func (m *Store) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shift += d
}

func (m *Store) clock() time.Time { return time.Now().Add(m.options.Offset + m.shift) }

func (m *Store) now() history.Time { return history.TimeOf(m.clock()) }

// next gives out a number. Like a sequence, it is not undone.
func (m *Store) next() int64 {
	m.last++
	return m.last
}

// tx is one transaction: what it has changed, and how to undo it.
type tx struct {
	*Store
	undo   []func()
	change Change
	bells  store.Bells
}

// transact runs a transaction and undoes it when it fails. Bells are rung after it.
func (m *Store) transact(f func(*tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := &tx{Store: m}
	if err := f(x); err != nil {
		if !m.broken(NoRaise) {
			for _, undo := range slices.Backward(x.undo) {
				undo()
			}
		}
		if m.options.Refused != nil {
			m.options.Refused(View{m})
		}
		return err
	}
	if len(x.undo) > 0 && m.options.Committed != nil {
		slices.Sort(x.change.Executions)
		x.change.Executions = slices.Compact(x.change.Executions)
		m.options.Committed(View{m}, x.change)
	}
	m.ring(x.bells)
	return nil
}

// read runs f on a state of the database in which no transaction is half done.
func (m *Store) read(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// set changes a value.
func set[T any](x *tx, place *T, value T) {
	old := *place
	x.undo = append(x.undo, func() { *place = old })
	*place = value
}

// put changes a value of a map.
func put[K comparable, V any](x *tx, m map[K]V, k K, v V) {
	old, there := m[k]
	x.undo = append(x.undo, func() {
		if there {
			m[k] = old
		} else {
			delete(m, k)
		}
	})
	m[k] = v
}

// add appends to a list.
func add[T any](x *tx, list *[]T, v T) {
	n := len(*list)
	set(x, list, append((*list)[:n:n], v))
}

// remove takes out of a list what is named.
func remove[T any](x *tx, list *[]T, named func(T) bool) (n int) {
	left := make([]T, 0, len(*list))
	for _, v := range *list {
		if !named(v) {
			left = append(left, v)
		}
	}
	if n = len(*list) - len(left); n > 0 {
		set(x, list, left)
	}
	return n
}

// touched notes that something of the execution has changed.
func (x *tx) touched(id history.ExecutionID) { x.change.Executions = append(x.change.Executions, id) }

func (m *Store) execution(id history.ExecutionID) *execution {
	i, ok := slices.BinarySearchFunc(m.executions, id, func(e *execution, id history.ExecutionID) int { return cmp.Compare(e.ID, id) })
	if !ok {
		return nil
	}
	return m.executions[i]
}

func (m *Store) named(ns history.NamespaceID, name string) *execution {
	for _, e := range m.executions {
		if e.Namespace == ns && e.Name == name {
			return e
		}
	}
	return nil
}

// open tells whether an entry may be put into the execution's inbox.
func (e *execution) open() bool { return e != nil && !e.Status.Ended() && !e.ending }

// missing is the error of a read that finds nothing.
func missing(what string) error { return fmt.Errorf("memory: %s: %w", what, store.ErrNotFound) }
