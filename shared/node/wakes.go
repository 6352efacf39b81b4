package node

import (
	"container/heap"

	"github.com/orrery-dev/orrery/shared/history"
)

// wakes holds the wake-up times of the executions of this node's partitions that come within the horizon, loaded or
// not. Later ones stay in the database. It serves one goroutine, the loop.
type wakes struct {
	heap wakeHeap
	at   map[history.ExecutionID]*wake
}

type wake struct {
	at        history.Time
	execution history.ExecutionID
	partition history.Partition
	slot      int // index in the heap
}

func newWakes() *wakes { return &wakes{at: map[history.ExecutionID]*wake{}} }

// set gives the execution its one wake-up time; zero takes it out.
func (w *wakes) set(id history.ExecutionID, p history.Partition, at history.Time) {
	old, ok := w.at[id]
	switch {
	case at == 0 && ok:
		heap.Remove(&w.heap, old.slot)
		delete(w.at, id)
	case at == 0:
	case ok:
		old.at = at
		heap.Fix(&w.heap, old.slot)
	default:
		n := &wake{at: at, execution: id, partition: p}
		w.at[id] = n
		heap.Push(&w.heap, n)
	}
}

// next gives the earliest time; zero when there is none.
func (w *wakes) next() history.Time {
	if len(w.heap) == 0 {
		return 0
	}
	return w.heap[0].at
}

// pop takes out the execution that is due first at now; nil when none is.
func (w *wakes) pop(now history.Time) *wake {
	if len(w.heap) == 0 || w.heap[0].at > now {
		return nil
	}
	n := heap.Pop(&w.heap).(*wake)
	delete(w.at, n.execution)
	return n
}

// forget takes out every execution of the partition.
func (w *wakes) forget(p history.Partition) {
	for id, n := range w.at {
		if n.partition == p {
			w.set(id, p, 0)
		}
	}
}

// wakeHeap orders by time, then by execution, so that equal times come out in one order.
type wakeHeap []*wake

func (h wakeHeap) Len() int { return len(h) }
func (h wakeHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].execution < h[j].execution
}
func (h wakeHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}
func (h *wakeHeap) Push(x any) {
	n := x.(*wake)
	n.slot = len(*h)
	*h = append(*h, n)
}
func (h *wakeHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return n
}
