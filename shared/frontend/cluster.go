package frontend

import (
	"context"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// ListQueues shows what waits for workers, by contract.
func (f *Frontend) ListQueues(ctx context.Context, c auth.Call) (wire.QueueList, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.QueueList{}, err
	}
	list, err := f.store.Queues(ctx, ns, f.options.SessionTimeout)
	if err != nil {
		return wire.QueueList{}, failed("list queues", err)
	}
	a := wire.QueueList{Queues: make([]wire.Queue, len(list))}
	for i, q := range list {
		a.Queues[i] = wire.Queue{
			Task: q.Contract.Task, Version: q.Contract.Version, Queued: q.Queued, Claimed: q.Claimed,
			OldestAgeMS: q.OldestAge.Milliseconds(), Workers: q.Workers,
		}
	}
	return a, nil
}

// ListWorkers shows the live workers with their sessions.
func (f *Frontend) ListWorkers(ctx context.Context, c auth.Call) (wire.WorkerList, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.WorkerList{}, err
	}
	list, err := f.store.Workers(ctx, ns, f.options.SessionTimeout)
	if err != nil {
		return wire.WorkerList{}, failed("list workers", err)
	}
	a := wire.WorkerList{Workers: []wire.Worker{}}
	for _, s := range list {
		if n := len(a.Workers); n == 0 || a.Workers[n-1].ID != s.Worker {
			a.Workers = append(a.Workers, wire.Worker{ID: s.Worker, Language: s.Language})
		}
		last := &a.Workers[len(a.Workers)-1]
		last.Sessions = append(last.Sessions, sessionOf(s))
	}
	return a, nil
}

func sessionOf(s store.Session) wire.WorkerSession {
	w := wire.WorkerSession{
		ID: s.ID, Contracts: make([]wire.Contract, len(s.Contracts)), RegisteredAt: s.RegisteredAt.Time(),
		ContactAgeMS: s.Age.Milliseconds(), InFlight: int64(s.InFlight),
	}
	for i, c := range s.Contracts {
		w.Contracts[i] = wire.Contract{Task: c.Task, Version: c.Version}
	}
	return w
}

// ListNodes shows the nodes that run.
func (f *Frontend) ListNodes(ctx context.Context, _ auth.Call) (wire.NodeList, error) {
	list, err := f.store.Nodes(ctx)
	if err != nil {
		return wire.NodeList{}, failed("list nodes", err)
	}
	return wire.NodeList{Nodes: f.nodesOf(list)}, nil
}

func (f *Frontend) nodesOf(list []store.Node) []wire.Node {
	nodes := make([]wire.Node, len(list))
	for i, n := range list {
		nodes[i] = wire.Node{
			ID: n.ID, Incarnation: n.Incarnation, Address: n.Address, StartedAt: n.StartedAt.Time(),
			HeartbeatAgeMS: n.Age.Milliseconds(), Live: n.Age < f.options.NodeTimeout, Behaviour: n.Behaviour, Partitions: n.Partitions,
		}
	}
	return nodes
}

// ListPartitions shows who owns what.
func (f *Frontend) ListPartitions(ctx context.Context, _ auth.Call) (wire.PartitionList, error) {
	list, _, err := f.store.Partitions(ctx)
	if err != nil {
		return wire.PartitionList{}, failed("list partitions", err)
	}
	a := wire.PartitionList{Partitions: make([]wire.Partition, len(list))}
	for i, o := range list {
		a.Partitions[i] = wire.Partition{Partition: int(o.Partition), Epoch: int64(o.Epoch), Owner: ownerOf(o)}
	}
	return a, nil
}

func ownerOf(o store.Owner) *wire.Owner {
	if o.Fence == 0 {
		return nil
	}
	return &wire.Owner{Node: o.Node, Incarnation: o.Incarnation}
}

// Health shows the process and the cluster around it. A function is ready when a node is live: without one, executions
// start and reports are taken, and nothing else proceeds. A database that cannot be read makes every process unready.
func (f *Frontend) Health(ctx context.Context, _ auth.Call) (wire.Health, error) {
	h := f.host.Health()
	h.Version, h.Nodes = f.options.Version, []wire.Node{}
	owned, err := f.owned(ctx, h.Node)
	if err != nil {
		return unhealthy(h, "the database cannot be read"), nil
	}
	depths, err := f.store.Depths(ctx, owned)
	if err != nil {
		return unhealthy(h, "the database cannot be read"), nil
	}
	schedules, err := f.store.CronDepths(ctx)
	if err != nil {
		return unhealthy(h, "the database cannot be read"), nil
	}
	nodes, err := f.store.Nodes(ctx)
	if err != nil {
		return unhealthy(h, "the database cannot be read"), nil
	}
	h.Schedules = wire.ScheduleHealth{
		Due: schedules.Due, OldestAgeMS: schedules.OldestAge.Milliseconds(), Buffered: schedules.Buffered, DeadLetters: schedules.DeadLetters,
	}
	h.QueueDepth, h.InboxDepth, h.InboxOldestAgeMS = depths.Queued, depths.Inbox, depths.InboxOldestAge.Milliseconds()
	for _, n := range f.nodesOf(nodes) {
		if n.Live {
			h.Nodes = append(h.Nodes, n)
		}
	}
	switch {
	case h.Node != nil:
		h.Node.Executions, h.Node.Claimed = depths.Running, depths.Claimed
	case len(h.Nodes) == 0:
		return unhealthy(h, "no node is live: executions start and reports are taken, and nothing else proceeds"), nil
	default:
		h.Ready = true
	}
	return h, nil
}

// owned are the partitions of a node, none where there is none.
func (f *Frontend) owned(ctx context.Context, n *wire.NodeHealth) ([]history.Partition, error) {
	if n == nil {
		return nil, nil
	}
	owners, _, err := f.store.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	var ps []history.Partition
	for _, o := range owners {
		if o.Fence != 0 && o.Incarnation == n.Incarnation {
			ps = append(ps, o.Partition)
		}
	}
	return ps, nil
}

func unhealthy(h wire.Health, reason string) wire.Health {
	h.Ready, h.Reason = false, reason
	return h
}
