package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// Node is a process that owns partitions. Run makes it one; its other methods may be called at any time, by any number
// of goroutines.
type Node struct {
	config  Config
	store   Store
	members Membership
	log     *slog.Logger

	// These outlive incarnations: requests wait in them.
	polls     *polls
	claims    *claims
	contacts  *contacts
	ends      waits[history.ExecutionID]
	replies   waits[store.EntryRef]
	machines  *machines
	contracts *contracts
	shared    atomic.Pointer[shared] // nil until a decision needed it

	definitions *definitions
	scheduler   Scheduler // set before Run

	clock    clock
	standing *standing
	gauges   gauges
	metrics  metrics

	current  atomic.Pointer[incarnation]             // nil while there is none
	kill     atomic.Pointer[context.CancelCauseFunc] // ends the incarnation at once
	stopping atomic.Bool
	// reason is why the node is not ready, for people.
	reason atomic.Pointer[string]
}

// New makes a node that works through s and sends its heartbeats through m. It does not touch the database.
func New(c Config, s Store, m Membership) (*Node, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Node{
		config: c, store: s, members: m, log: c.Log.With(telemetry.KeyNode, c.ID),
		polls: newPolls(), claims: newClaims(), contacts: newContacts(), machines: newMachines(s), contracts: newContracts(s),
		definitions: newDefinitions(), scheduler: noScheduler{},
		standing: &standing{hole: c.NodeTimeout / 2}, metrics: newMetrics(c.Metrics),
	}
	n.show(c.Metrics)
	n.because("not started")
	return n, nil
}

// Run is the node's life: it joins the cluster, serves as one incarnation after the other, and leaves it cleanly when the
// context ends. It returns nil after a clean stop, and an error when the node cannot start: another node runs under its
// id.
func (n *Node) Run(ctx context.Context) error {
	first := true
	for {
		joined, err := n.join(ctx, first)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		first = false
		switch err := n.serve(ctx, joined); {
		case err == nil:
			return nil
		case errors.Is(err, errKilled):
			return err
		case errors.Is(err, errDuplicate):
			n.because("another node runs under this id")
			n.log.Error("another node has taken this node's id; this one serves again when the other is gone", telemetry.KeyError, err)
		case errors.Is(err, errFenced):
			n.because("fenced")
			n.log.Warn("this incarnation was fenced; the node joins again", telemetry.KeyError, err)
		default:
			n.because("restarting")
			n.log.Error("an incarnation ended", telemetry.KeyError, err)
		}
	}
}

// joinPause is the pause between two tries to join.
const joinPause = 250 * time.Millisecond

// join registers an incarnation. An id whose other incarnation still heartbeats is waited for: by a node that starts, for
// three node timeouts, and by one that has served already, for as long as it takes.
func (n *Node) join(ctx context.Context, first bool) (store.Joined, error) {
	q := store.JoinRequest{Node: n.config.ID, Address: n.config.Address, Behaviour: n.config.Behaviour, Timeout: n.config.NodeTimeout}
	patience := time.Now().Add(3 * n.config.NodeTimeout)
	pause := min(joinPause, n.config.NodeTimeout/4)
	warned := false
	for {
		joined, err := n.members.Join(ctx, q)
		if err == nil {
			n.clock.set(joined.Now, time.Now())
			return joined, nil
		}
		if ctx.Err() != nil {
			return store.Joined{}, nil
		}
		var other *store.DuplicateNodeError
		duplicate := errors.As(err, &other)
		if duplicate && first && time.Now().After(patience) {
			return store.Joined{}, fmt.Errorf("node: join: give every node an id of its own: %w", err)
		}
		if !warned {
			n.log.Warn("the node cannot join yet", telemetry.KeyError, err)
			warned = true
		}
		if !sleep(ctx, pause) {
			return store.Joined{}, nil
		}
	}
}

// serving gives the loop that takes calls, nil when there is none.
func (n *Node) serving() *loop {
	if i := n.current.Load(); i != nil {
		return i.loop
	}
	return nil
}

func (n *Node) because(reason string) { n.reason.Store(&reason) }

// notReady says why the node is not ready, empty when it is: started, neither a duplicate nor fenced nor stopping, and with a
// heartbeat confirmed that was sent less than a node timeout ago.
func (n *Node) notReady() string {
	if n.stopping.Load() {
		return "stopping"
	}
	if i := n.current.Load(); i == nil || !i.started.Load() {
		return *n.reason.Load()
	}
	if age, ok := n.standing.age(); !ok || age >= n.config.NodeTimeout {
		return "the last confirmed heartbeat is too old"
	}
	return ""
}
