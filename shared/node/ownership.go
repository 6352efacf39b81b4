package node

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// owners moves partitions to whom they belong to: each to the node that rendezvous hashing gives it among the live ones.
// It has a goroutine of its own, because taking waits for fences, and a heartbeat must not wait for that.
//
//	heartbeat --pulse--> owners --gained, left--> loop
//	                       |
//	                       +-- Take: from nobody, from an ended incarnation, from one that is dead and that this node may judge
//	                       +-- Release: to another live node, one at a time
type owners struct {
	node  *Node
	fence history.FenceNumber
	loop  *loop
	log   *slog.Logger

	pulses chan store.Pulse // capacity 1, the newest wins
	again  chan struct{}    // capacity 1: look although nothing seems to have changed
	stops  chan chan error  // a clean stop: release everything, and answer

	// What follows is the goroutine's own.

	list       []store.Owner
	generation int64
	held       map[history.Partition]history.Epoch // as the loop was told
	came       map[history.Partition]time.Time     // when each came
	offered    map[history.Partition]bool          // left, and not known to be somebody else's
	checked    time.Time                           // when list was read last
}

// checkEvery is the time between two comparisons of what is held with what the database says is owned.
const checkEvery = 10 * time.Second

// lookGap is the least time between two reads of the list that others ask for; the heartbeat tells of changes anyway.
const lookGap = 100 * time.Millisecond

func newOwners(n *Node, fence history.FenceNumber, l *loop) *owners {
	return &owners{
		node: n, fence: fence, loop: l, log: n.log,
		pulses: make(chan store.Pulse, 1), again: make(chan struct{}, 1), stops: make(chan chan error),
		held: map[history.Partition]history.Epoch{}, came: map[history.Partition]time.Time{}, offered: map[history.Partition]bool{},
	}
}

// look asks for a look at the owners before anything seems to have changed.
func (o *owners) look() {
	select {
	case o.again <- struct{}{}:
	default:
	}
}

// run serves until the context ends or the incarnation is fenced.
func (o *owners) run(ctx context.Context) error {
	var pulse store.Pulse
	for {
		forced := false
		select {
		case pulse = <-o.pulses:
		case <-o.again:
			forced = time.Since(o.checked) >= lookGap
		case answer := <-o.stops:
			answer <- o.releaseAll(ctx, pulse)
			<-ctx.Done()
			return context.Cause(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if pulse.Now == 0 {
			continue
		}
		switch err := o.settle(ctx, pulse, forced); {
		case errors.Is(err, store.ErrFenced):
			return errFenced
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			o.log.Warn("partitions could not be moved", telemetry.KeyError, err)
		}
	}
}

// settle brings what this node owns to what it should own.
func (o *owners) settle(ctx context.Context, pulse store.Pulse, forced bool) error {
	announced := true
	if forced || pulse.Owners != o.generation || time.Since(o.checked) >= checkEvery {
		list, generation, err := o.node.store.Partitions(ctx)
		if err != nil {
			return err
		}
		announced = generation != o.generation
		o.list, o.generation, o.checked = list, generation, time.Now()
	}
	if n := o.compare(); n > 0 && !announced {
		o.node.metrics.ownership.Add(float64(n))
		o.log.Error("partitions had another owner than this node thought, and nothing had said so", telemetry.KeyCount, n)
	}
	plan := o.plan(pulse)
	for _, t := range plan.takes {
		if err := o.take(ctx, t); err != nil {
			return err
		}
	}
	for _, h := range plan.releases {
		if err := o.release(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// compare tells the loop what the list says is this node's, where that is news, and counts the news.
func (o *owners) compare() (news int) {
	var gained []store.Held
	for _, x := range o.list {
		epoch, held := o.held[x.Partition]
		switch mine := x.Fence == o.fence; {
		case mine && (!held || epoch != x.Epoch):
			gained = append(gained, store.Held{Partition: x.Partition, Epoch: x.Epoch})
		case !mine && held:
			o.leave(x.Partition)
			o.gone(x.Partition)
			news++
		case !mine && o.offered[x.Partition]:
			o.gone(x.Partition)
		}
	}
	o.gain(gained, partReceived)
	return news + len(gained)
}

// gain tells the loop of partitions that are this node's now.
func (o *owners) gain(list []store.Held, how string) {
	if len(list) == 0 {
		return
	}
	o.node.metrics.partitions.Of(how).Add(float64(len(list)))
	for _, h := range list {
		o.held[h.Partition], o.came[h.Partition] = h.Epoch, time.Now()
		delete(o.offered, h.Partition)
	}
	o.loop.send(o.loop.ctx, gained{list, how == partTakenOver})
}

// leave has the loop drop the partition, and waits for that.
func (o *owners) leave(p history.Partition) {
	delete(o.held, p)
	delete(o.came, p)
	dropped := make(chan struct{})
	if o.loop.send(o.loop.ctx, left{p, dropped}) {
		select {
		case <-dropped:
		case <-o.loop.done:
		}
	}
}

// gone tells the loop that somebody else has the partition, and has inherited what was owed in it.
func (o *owners) gone(p history.Partition) {
	delete(o.offered, p)
	o.loop.send(o.loop.ctx, gone(p))
}

// plan is what must move.
type plan struct {
	takes    []store.TakeRequest
	releases []store.Handover
}

// plan compares the list with where the partitions belong. A node counts as live until somebody may call it dead, so that
// nothing moves while nobody may. What has just come stays for two heartbeats: whoever gave it may be about to leave, and
// still looks live.
func (o *owners) plan(pulse store.Pulse) plan {
	timeout := o.node.config.NodeTimeout
	judge := o.node.standing.steady(timeout)
	running := map[history.FenceNumber]bool{}
	fences := map[string]history.FenceNumber{} // of those that were heard of in time
	for _, n := range pulse.Nodes {
		fresh := n.Fence == o.fence || n.Age < timeout
		running[n.Fence] = fresh || !judge
		if fresh {
			fences[n.ID] = n.Fence
		}
	}
	ids := eligible(pulse, running)
	takes := map[history.FenceNumber][]history.Partition{}
	var out plan
	for _, x := range o.list {
		to := fences[rendezvous(x.Partition, ids)]
		switch {
		case x.Fence == o.fence && to != o.fence && to != 0 && time.Since(o.came[x.Partition]) > 2*o.node.config.Heartbeat:
			out.releases = append(out.releases, store.Handover{Partition: x.Partition, To: to})
		case x.Fence != o.fence && to == o.fence && !running[x.Fence]:
			takes[x.Fence] = append(takes[x.Fence], x.Partition)
		}
	}
	for from, ps := range takes {
		out.takes = append(out.takes, store.TakeRequest{By: o.fence, From: from, Partitions: ps, Timeout: timeout})
	}
	return out
}

// eligible lists the running nodes that can make all decisions of the cluster's level, or all where none can: what they
// cannot fold then waits.
func eligible(pulse store.Pulse, running map[history.FenceNumber]bool) []string {
	var able, all []string
	for _, n := range pulse.Nodes {
		if !running[n.Fence] {
			continue
		}
		all = append(all, n.ID)
		if n.Behaviour >= pulse.Behaviour {
			able = append(able, n.ID)
		}
	}
	if len(able) == 0 {
		return all
	}
	return able
}

// take takes partitions and tells the loop which ones it got.
func (o *owners) take(ctx context.Context, q store.TakeRequest) error {
	got, err := o.node.store.Take(ctx, q)
	if err != nil {
		return err
	}
	if q.From != 0 && len(got) > 0 {
		o.log.Warn("partitions were taken over from a node that is gone", telemetry.KeyCount, len(got))
	}
	o.note(got, o.fence)
	how := partTaken
	if q.From != 0 {
		how = partTakenOver
	}
	o.gain(got, how)
	return nil
}

// note brings the list up to date with what this node has done itself.
func (o *owners) note(moved []store.Held, to history.FenceNumber) {
	epochs := map[history.Partition]history.Epoch{}
	for _, h := range moved {
		epochs[h.Partition] = h.Epoch
	}
	for i := range o.list {
		if epoch, ok := epochs[o.list[i].Partition]; ok {
			o.list[i].Fence, o.list[i].Epoch = to, epoch
		}
	}
}

// release gives one partition away. The loop drops it first, so that no new turn is decided under the old epoch; one that
// is being written is waited for by the release itself, which needs the fence.
func (o *owners) release(ctx context.Context, h store.Handover) error {
	epoch := o.held[h.Partition]
	o.leave(h.Partition)
	o.offered[h.Partition] = true
	given, err := o.node.store.Release(ctx, o.fence, []store.Handover{h})
	if err != nil || len(given) == 0 {
		o.generation = 0 // whether it was given shows the next look at the list
		return err
	}
	o.node.metrics.partitions.Of(partGiven).Inc()
	o.note([]store.Held{{Partition: h.Partition, Epoch: epoch + 1}}, h.To)
	o.gone(h.Partition)
	return nil
}

// stop releases everything and takes nothing more.
func (o *owners) stop(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case o.stops <- answer:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// releaseAll gives every partition away at a clean stop, each to the node that it belongs to without this one. What
// cannot be given is taken once this node has left.
func (o *owners) releaseAll(ctx context.Context, pulse store.Pulse) error {
	running := map[history.FenceNumber]bool{}
	fences := map[string]history.FenceNumber{}
	for _, n := range pulse.Nodes {
		if n.Fence != o.fence && n.Age < o.node.config.NodeTimeout {
			running[n.Fence] = true
			fences[n.ID] = n.Fence
		}
	}
	ids := eligible(pulse, running)
	var to []store.Handover
	for p := range o.held {
		if fence := fences[rendezvous(p, ids)]; fence != 0 {
			to = append(to, store.Handover{Partition: p, To: fence})
		}
	}
	if len(to) == 0 {
		return nil
	}
	given, err := o.node.store.Release(ctx, o.fence, to)
	o.node.metrics.partitions.Of(partGiven).Add(float64(len(given)))
	return err
}

// gained tells the loop of partitions that are this node's; dead, that their owner died.
type gained struct {
	list []store.Held
	dead bool
}

func (m gained) apply(l *loop) {
	for _, h := range m.list {
		if old, ok := l.owned[h.Partition]; ok && old != h.Epoch {
			l.dropPartition(h.Partition)
		}
		l.owned[h.Partition] = h.Epoch
		l.unpark(h.Partition)
	}
	if m.dead {
		c := l.node.config
		l.looks.lostUntil = time.Now().Add(c.SessionTimeout + c.NodeTimeout + lostRarely)
	}
	l.looks.inboxFrom.reset()
	l.looks.claimsFrom.reset()
	l.looks.debts.wanted, l.looks.blocked.wanted = true, true
	l.wantAll()
}

// left tells the loop that a partition goes to somebody else; done is closed when nothing of it is in memory.
type left struct {
	partition history.Partition
	done      chan struct{}
}

func (m left) apply(l *loop) {
	for _, e := range l.executions {
		if e.partition == m.partition {
			l.park(e)
		}
	}
	l.dropPartition(m.partition)
	delete(l.owned, m.partition)
	close(m.done)
}

// gone tells the loop that a partition which it has left is somebody else's.
type gone history.Partition

func (m gone) apply(l *loop) { l.releaseParked(history.Partition(m)) }

// dropPartition forgets every execution of the partition. Calls for them go to the inbox, and so to the new owner.
func (l *loop) dropPartition(p history.Partition) {
	for _, e := range l.executions {
		if e.partition == p {
			l.forget(e, errElsewhere)
			delete(l.held, e.id)
			l.node.ends.rang(e.id) // who waits for its end looks again, and leaves a flag for the new owner
		}
	}
	l.results.forgetEnds()
	l.wakes.forget(p)
}
