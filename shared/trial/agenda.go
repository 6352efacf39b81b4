package trial

import (
	"cmp"
	"container/heap"

	"github.com/orrery-dev/orrery/shared/history"
)

// rank orders what happens at the same time.
type rank int

const (
	claims  rank = iota // all of one time in one turn
	reports             // all of one time in one turn
	comings             // each in a turn of its own
)

// happening is a command that is filed for a time.
type happening struct {
	at    history.Time
	rank  rank
	order int // in which it was filed
	to    *member
	cmd   history.Command
}

// agenda is a heap of happenings: by time, then rank, then order.
type agenda struct {
	list  []happening
	filed int
}

func (a *agenda) file(at history.Time, r rank, to *member, cmd history.Command) {
	heap.Push(a, happening{at, r, a.filed, to, cmd})
	a.filed++
}

// next is the time of the first happening; false where there is none.
func (a *agenda) next() (history.Time, bool) {
	if len(a.list) == 0 {
		return 0, false
	}
	return a.list[0].at, true
}

// take gives the commands of the next turn, and whose turn that is; none where nothing is filed up to now.
func (a *agenda) take(now history.Time) (*member, []history.Command) {
	var to *member
	var cmds []history.Command
	for len(a.list) > 0 && a.list[0].at <= now {
		h := heap.Pop(a).(happening)
		to, cmds = h.to, append(cmds, h.cmd)
		if h.rank == comings || len(a.list) == 0 || a.list[0].rank != h.rank || a.list[0].to != to {
			break
		}
	}
	return to, cmds
}

func (a *agenda) Len() int { return len(a.list) }

func (a *agenda) Less(i, j int) bool {
	x, y := &a.list[i], &a.list[j]
	return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.rank, y.rank), cmp.Compare(x.order, y.order)) < 0
}

func (a *agenda) Swap(i, j int) { a.list[i], a.list[j] = a.list[j], a.list[i] }

func (a *agenda) Push(x any) { a.list = append(a.list, x.(happening)) }

func (a *agenda) Pop() any {
	last := len(a.list) - 1
	x := a.list[last]
	a.list = a.list[:last]
	return x
}
