package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// birth makes items of the children that a turn starts. They are written with the turn or not at all, and share its
// outcome.
func (l *loop) birth(e *execution, it *item) error {
	for i := range it.Turn.Children {
		child, err := l.child(e, &it.Turn.Children[i])
		if err != nil {
			return err
		}
		it.children = append(it.children, child)
		it.Children = append(it.Children, child.Item)
	}
	return nil
}

func (l *loop) child(parent *execution, c *history.Child) (*item, error) {
	e := &execution{
		partition: parent.partition, epoch: parent.epoch, namespace: parent.namespace, name: c.Start.Name, phase: writing,
		state: history.New(), definition: c.Definition,
	}
	var err error
	if e.definition == 0 {
		e.definition, e.machine = parent.definition, parent.machine.Run(c.Start.Processor)
	} else if e.machine, err = l.node.machines.known(e.definition); err != nil {
		return nil, err
	}
	if c.Anywhere {
		e.partition, e.epoch = l.anywhere(), 0
	}
	first := c.First
	if err := e.state.Apply(first.Seq, first.At, first.FirstEvent, first.Events); err != nil {
		return nil, fmt.Errorf("node: start child %s: %w", e.name, err)
	}
	hash := sha256.Sum256(e.state.Input())
	it := &item{execution: e}
	it.Item = store.Item{Partition: e.partition, Epoch: e.epoch, Turn: &first, New: &store.NewExecution{
		Namespace: e.namespace, Name: e.name, Definition: e.definition, InputHash: hash[:], Trace: c.Start.Trace, Attributes: c.Start.Attributes,
	}}
	l.handOver(e, it)
	if !c.Anywhere { // its partition is this node's for certain
		l.owe(e, it)
	}
	return it, nil
}

// anywhere picks a partition for an execution that may be in any. The decision that starts it knew how many there are.
func (l *loop) anywhere() history.Partition {
	return history.Partition(rand.IntN(l.node.shared.Load().partitions))
}

// alone leaves an item out of the batch that gives a child a name which the batch gives away already: the database
// would not say whose it is. It is decided again, and then the name is taken.
func (l *loop) alone(it *item, names map[name]bool) *item {
	if it == nil || it.Turn == nil {
		return it
	}
	for i, c := range it.Turn.Children {
		k := it.children[i].execution.key()
		if c.Named && names[k] {
			l.free(it)
			l.reload(it.execution, it.commands)
			return nil
		}
		names[k] = c.Named
	}
	return it
}

// born takes in the children of a written item.
func (l *loop) born(it *item) {
	for i, child := range it.children {
		e := child.execution
		child.Turn.Execution = it.born[i]
		e.epoch = l.owned[e.partition]
		l.adopt(e, it.born[i])
		l.node.metrics.turned(child)
		l.ring(e, child.Turn)
		if l.executions[e.id] == e {
			child.debts = it.debts
			l.goOn(e, child)
		}
		l.deliver(child)
	}
}

// findChildren loads the children that a commit with an unknown outcome has written and that owe rows: nobody else does, while
// the partition stays here, and their timers are not on their rows.
func (l *loop) findChildren(it *item) {
	owing := map[string][]handover{}
	for _, c := range it.children {
		if len(c.lost) > 0 {
			owing[c.New.Name] = c.lost
		}
	}
	if len(owing) == 0 {
		return
	}
	l.unclear++
	ns := it.execution.namespace
	l.spawn(func(ctx context.Context) message {
		m := foundChildren{lost: owing}
		for name := range owing {
			if d, ok := l.node.findChild(ctx, ns, name); ok {
				m.rows = append(m.rows, d.Execution)
			}
		}
		return m
	})
}

// findChild reads an execution by its name, for as long as it takes.
func (n *Node) findChild(ctx context.Context, ns history.NamespaceID, name string) (store.ExecutionDetail, bool) {
	for pause := (backoff{next: firstRetry, most: mostRetry}); ; {
		d, err := n.store.Execution(ctx, ns, name)
		if err == nil || errors.Is(err, store.ErrNotFound) || !pause.wait(ctx) {
			return d, err == nil
		}
	}
}

// foundChildren are the rows of children, with what was handed over of each.
type foundChildren struct {
	rows []store.Execution
	lost map[string][]handover
}

func (m foundChildren) apply(l *loop) {
	l.unclear--
	for i := range m.rows {
		l.resume(&m.rows[i], m.lost[m.rows[i].Name])
	}
}

// lookAtFamily has the inboxes looked at soon where the turn has put something into one, perhaps of this node.
func (l *loop) lookAtFamily(t *history.Turn) {
	told := len(t.Stops) > 0 || t.Told != nil
	for i := range t.Children {
		told = told || t.Children[i].First.Told != nil
	}
	if told {
		l.looks.inbox.wanted = true
	}
}

// askNames finds out which of the names are taken that a turn wanted for its children. Until it is known the execution
// stays in phase writing.
func (l *loop) askNames(it *item) {
	e := it.execution
	var names []string
	for _, c := range it.Turn.Children {
		if c.Named {
			names = append(names, c.Start.Name)
		}
	}
	l.spawn(func(ctx context.Context) message {
		m := askedNames{item: it, taken: map[string]bool{}}
		for _, name := range names {
			_, err := l.node.store.Execution(ctx, e.namespace, name)
			if err == nil {
				m.taken[name] = true
			} else if !errors.Is(err, store.ErrNotFound) {
				m.err = err
			}
		}
		return m
	})
}

type askedNames struct {
	item  *item
	taken map[string]bool
	err   error
}

func (m askedNames) apply(l *loop) {
	e := m.item.execution
	if l.executions[e.id] != e {
		l.unowned(m.item)
		return
	}
	if m.err != nil {
		l.log.Warn("names of children could not be looked up", "execution", e.id, "error", m.err)
	}
	e.taken = m.taken
	l.slowDown(e)
	l.reload(e, m.item.commands)
}
