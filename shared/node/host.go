package node

import (
	"context"

	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Frontend makes what serves the API in this process: the node itself where it owns what a call is about or holds the
// poll, else what every process does.
func (n *Node) Frontend(o frontend.Options) *frontend.Frontend {
	o.Host = n
	return frontend.New(hosted{n.store, n}, o)
}

// hosted is the store of the node's frontend: what the node serves itself does not reach the database by this way.
type hosted struct {
	Store
	node *Node
}

func (h hosted) Start(ctx context.Context, it store.Item) (store.Started, error) {
	return h.node.Start(ctx, it)
}

func (h hosted) Report(ctx context.Context, rs []store.Report) ([]store.ReportOutcome, error) {
	return h.node.Report(ctx, rs)
}

func (h hosted) Send(ctx context.Context, m store.Message) (store.Sent, error) {
	return h.node.Send(ctx, m)
}

func (h hosted) Touch(ctx context.Context, ts []store.Touch) (gone []string, err error) {
	return h.node.Touch(ctx, ts)
}

// AwaitEnd begins to wait for the end of an execution: whoever ends it finds the node's flag and rings.
func (n *Node) AwaitEnd(ctx context.Context, id history.ExecutionID) (rung <-chan struct{}, forget func(), err error) {
	rung, forget = n.ends.add(id)
	i := n.current.Load()
	if i == nil {
		return rung, forget, nil // nobody rings a node that is no member; its caller looks again by itself
	}
	if err := n.store.AwaitEnd(ctx, i.fence, id); err != nil {
		forget()
		return nil, nil, err
	}
	return rung, forget, nil
}

// AwaitReply begins to wait for the reply to an entry that this node has sent.
func (n *Node) AwaitReply(e store.EntryRef) (rung <-chan struct{}, forget func()) {
	return n.replies.add(e)
}

// Health is what the node knows of itself, without a look into the database.
func (n *Node) Health() wire.Health {
	h := wire.Health{Role: wire.RoleNode, Reason: n.notReady(), Nodes: []wire.Node{}, Node: &wire.NodeHealth{
		ID: n.config.ID, Partitions: int(n.gauges.owned.Load()), Loaded: int(n.gauges.loaded.Load()),
	}}
	h.Ready = h.Reason == ""
	if i := n.current.Load(); i != nil {
		h.Node.Incarnation = i.id
	}
	if age, ok := n.standing.age(); ok {
		h.Node.HeartbeatAgeMS = age.Milliseconds()
	}
	return h
}
