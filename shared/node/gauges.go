package node

import "sync/atomic"

// gauges are the counts that a node shows.
type gauges struct {
	owned  atomic.Int64 // partitions
	loaded atomic.Int64 // executions in memory with their state
	memory atomic.Int64 // what those take, in bytes, estimated
	calls  atomic.Int64 // calls and starts that wait for a commit
}

// set copies what the loop owns.
func (g *gauges) set(l *loop) {
	g.owned.Store(int64(len(l.owned)))
	g.loaded.Store(int64(len(l.names)))
	g.memory.Store(l.memory)
	g.calls.Store(int64(len(l.calls) + len(l.starts)))
}

// clear tells that nothing is owned: the incarnation whose loop did has ended.
func (g *gauges) clear() {
	g.owned.Store(0)
	g.loaded.Store(0)
	g.memory.Store(0)
	g.calls.Store(0)
}
