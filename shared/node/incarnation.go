package node

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// errKilled ends a node as if its process had been killed; tests use it.
var errKilled = errors.New("node: killed")

// incarnation is one membership of the node, from join to fence or leave. Everything that rests on owning partitions
// lives in it and dies with it, so that a node which was fenced holds nothing of what it had.
//
//	heartbeat --pulses--> owners --gained, left--> loop <--messages-- requests, reads, bells, claimer
//	    |                                          |  ^
//	    +--pulses-------------------------------> |  +-- committed -- committer
//	                                               +---- batch ------>
type incarnation struct {
	node      *Node
	id        string // UUID
	fence     history.FenceNumber
	heartbeat *heartbeat
	loop      *loop
	owners    *owners
	committer *committer
	claimer   *claimer

	started atomic.Bool // a heartbeat was confirmed
}

// serve runs one incarnation. It returns nil after a clean stop, which the end of ctx asks for, and else why the
// incarnation is over.
func (n *Node) serve(ctx context.Context, j store.Joined) error {
	work, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	i := n.incarnate(work, j)
	n.standing.reset()
	n.shared.Store(nil) // after a restore the key is another one
	n.current.Store(i)
	n.kill.Store(&end)
	claiming, stopClaiming := context.WithCancel(work)
	defer stopClaiming()

	var running, claimers sync.WaitGroup
	begin := func(g *sync.WaitGroup, ctx context.Context, run func(context.Context) error) {
		g.Go(func() { end(run(ctx)) })
	}
	begin(&running, work, i.heartbeat.run)
	begin(&running, work, i.owners.run)
	begin(&running, work, i.loop.run)
	begin(&running, work, i.commit)
	begin(&running, work, (&listener{n, i.fence, i.loop, n.log}).run)
	begin(&running, work, (&upkeep{node: n, log: n.log}).run)
	claimers.Go(func() { _ = i.claimer.run(claiming) })
	claimers.Go(func() { n.scheduler.Run(claiming, func() bool { return n.notReady() == "" }) })

	select {
	case <-work.Done():
	case <-ctx.Done():
		i.stop(work, func() { stopClaiming(); claimers.Wait() })
		end(errStopped)
	}
	n.current.Store(nil)
	stopClaiming()
	claimers.Wait()
	running.Wait()
	n.gauges.clear()
	if err := context.Cause(work); !errors.Is(err, errStopped) {
		return err
	}
	return nil
}

// errStopped ends the goroutines of an incarnation that has stopped cleanly.
var errStopped = errors.New("node: stopped")

func (n *Node) incarnate(ctx context.Context, j store.Joined) *incarnation {
	i := &incarnation{node: n, id: j.Incarnation, fence: j.Fence}
	i.loop = newLoop(ctx, n, j.Fence)
	i.owners = newOwners(n, j.Fence, i.loop)
	i.loop.owners = i.owners
	i.committer = &committer{store: n.store, fence: j.Fence, log: n.log, metrics: &n.metrics, freed: n.scheduler.Ring}
	i.claimer = &claimer{node: n, fence: j.Fence, loop: i.loop, log: n.log}
	i.heartbeat = &heartbeat{node: n, store: n.members, fence: j.Fence, log: n.log, pulsed: i.pulsed}
	return i
}

// pulsed passes on what a heartbeat has brought. It never waits: who is busy finds the newest pulse later.
func (i *incarnation) pulsed(p store.Pulse, read bool) {
	if i.started.CompareAndSwap(false, true) {
		i.node.log.Info("the node serves", telemetry.KeyIncarnation, i.id)
		i.node.claims.rangAll()
	}
	newest(i.owners.pulses, p)
	if read {
		newest(i.loop.pulses, p)
		i.node.scheduled(p)
	}
}

// newest puts a value into a channel of capacity 1 that only the caller sends to, in the place of an older one.
func newest[T any](c chan T, x T) {
	select {
	case <-c:
	default:
	}
	c <- x
}

// commit runs the committer for the loop.
func (i *incarnation) commit(ctx context.Context) error {
	return i.committer.run(ctx, i.loop.batch, func(items []*item) { i.loop.send(ctx, committed{items}) })
}

// stop is the clean stop: not ready; claim nothing; answer open polls; commit what is in flight; release the partitions,
// naming their new owners; leave. What does not fit into the time is left to the others to take. Meanwhile the work of
// schedules that runs here ends, or is ended.
func (i *incarnation) stop(work context.Context, stopClaiming func()) {
	n := i.node
	n.stopping.Store(true)
	ctx, cancel := context.WithTimeout(work, n.config.StopTimeout)
	defer cancel()
	// A commit that hangs must not keep the node from giving its partitions away, nor that from saying that it leaves.
	draining, cancel := context.WithTimeout(ctx, n.config.StopTimeout/2)
	defer cancel()
	releasing, cancel := context.WithTimeout(ctx, n.config.StopTimeout*4/5)
	defer cancel()
	stopClaiming()
	defer n.drainSchedules()()
	n.polls.closeAll()
	drained := make(chan struct{})
	if i.loop.send(ctx, drain{drained}) {
		select {
		case <-drained:
		case <-draining.Done():
		}
	}
	if err := i.owners.stop(releasing); err != nil {
		n.log.Warn("partitions could not be released", telemetry.KeyError, err)
	}
	if err := n.members.Leave(ctx, i.fence); err != nil {
		n.log.Warn("the node could not say that it leaves", telemetry.KeyError, err)
		return
	}
	n.log.Info("the node has left the cluster")
}

// drain asks the loop to take no more work; done is closed when nothing is left to write.
type drain struct{ done chan struct{} }

func (m drain) apply(l *loop) { l.draining, l.drained = true, m.done }
