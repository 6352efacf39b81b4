package node

import (
	"context"
	"errors"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// shared is what all nodes share and what decisions may need: how tokens are signed, and over how many partitions
// executions are spread.
type shared struct {
	signer     *frontend.Signer
	partitions int
}

// world is what the loop can tell a decision without asking the database: nothing before the node knows what all share.
func (l *loop) world(e *execution) decide.World {
	c := l.node.shared.Load()
	contract := func(key history.Contract) definition.Contract { return l.node.contracts.of(e.namespace, key) }
	if c == nil {
		return decide.World{KeyHeld: e.keyHeld, Contract: contract}
	}
	return decide.World{
		Execution: e.id,
		Workflow:  func(ref history.WorkflowRef) decide.Answer { return l.workflow(e, ref) },
		Taken:     func(name string) bool { return e.taken[name] },
		KeyHeld:   e.keyHeld,
		Contract:  contract,
		Token: func(row history.RowRef) string {
			return c.signer.Sign(frontend.Token{Namespace: e.namespace, Execution: e.id, Row: row})
		},
	}
}

func (l *loop) workflow(e *execution, ref history.WorkflowRef) decide.Answer {
	if a, ok := e.supplied[ref]; ok {
		return a
	}
	if ref.Alias != "" {
		a, ok := l.node.definitions.alias(aliasKey{e.namespace, ref.Name, ref.Alias})
		return decide.Answer{Known: ok, Routes: a.Routes}
	}
	d, ok := l.node.definitions.get(definitionKey{e.namespace, ref.Name, ref.Version})
	if !ok {
		return decide.Answer{}
	}
	machine, err := l.node.machines.known(d.ID)
	if err != nil {
		return decide.Answer{}
	}
	return answerOf(d, machine)
}

func answerOf(d store.Definition, m *definition.Machine) decide.Answer {
	return decide.Answer{Known: true, Workflow: &decide.Workflow{
		Name: d.Name, Version: d.Version, Hash: d.Hash, Definition: d.ID, Machine: m,
	}}
}

// supply reads what a decision lacked, and gives the execution another turn then.
func (l *loop) supply(e *execution, wants []history.WorkflowRef) {
	if e.supplying {
		return
	}
	e.supplying = true
	l.spawn(func(ctx context.Context) message {
		m := supplied{execution: e, answers: map[history.WorkflowRef]decide.Answer{}}
		m.err = l.node.learnCluster(ctx)
		for _, ref := range wants {
			if m.err == nil {
				m.err = l.node.find(ctx, e.namespace, ref, m.answers)
			}
		}
		return m
	})
}

// learnCluster reads what all nodes share, once for an incarnation.
func (n *Node) learnCluster(ctx context.Context) error {
	if n.shared.Load() != nil {
		return nil
	}
	s, err := n.store.Settings(ctx)
	if err == nil {
		n.shared.Store(&shared{frontend.NewSigner(s.MACKey), s.Partitions})
	}
	return err
}

// find reads a published workflow into answers, all versions of an alias. That there is none is an answer too.
func (n *Node) find(ctx context.Context, ns history.NamespaceID, ref history.WorkflowRef, answers map[history.WorkflowRef]decide.Answer) error {
	if ref.Alias != "" {
		return n.findAlias(ctx, ns, ref, answers)
	}
	d, _, err := local{n.store, n}.Definition(ctx, ns, ref.Name, ref.Version)
	switch {
	case errors.Is(err, store.ErrNotFound):
		answers[ref] = decide.Answer{Known: true}
		return nil
	case err != nil:
		return err
	}
	machine, err := n.machines.get(ctx, d.ID)
	if err != nil {
		return err
	}
	answers[ref] = answerOf(d, machine)
	return nil
}

func (n *Node) findAlias(ctx context.Context, ns history.NamespaceID, ref history.WorkflowRef, answers map[history.WorkflowRef]decide.Answer) error {
	a, err := local{n.store, n}.Alias(ctx, ns, ref.Name, ref.Alias)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	answers[ref] = decide.Answer{Known: true, Routes: a.Routes}
	for _, r := range a.Routes {
		if err := n.find(ctx, ns, history.WorkflowRef{Name: ref.Name, Version: r.Version}, answers); err != nil {
			return err
		}
	}
	return nil
}

// supplied is what was read for a decision.
type supplied struct {
	execution *execution
	answers   map[history.WorkflowRef]decide.Answer
	err       error
}

func (m supplied) apply(l *loop) {
	e := m.execution
	e.supplying = false
	if l.executions[e.id] != e {
		return
	}
	if m.err != nil {
		l.log.Warn("a decision waits for what cannot be read", "execution", e.id, "error", m.err)
		l.wakes.set(e.id, e.partition, l.now().Add(time.Second))
		return
	}
	e.supplied, e.timer = m.answers, true
	l.need(e)
}
