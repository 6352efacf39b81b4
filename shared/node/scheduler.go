package node

import (
	"context"
	"time"

	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Scheduler makes schedules happen; *cron.Runner is one. It sends nothing by itself while nothing is due: the node tells it
// what its heartbeats and bells bring.
type Scheduler interface {
	// Run plans, claims and starts what is due while ready, until the context ends. One Run follows another, as one incarnation
	// the other; what they have started goes on.
	Run(ctx context.Context, ready func() bool)
	// Ring has it look at once, DueIn after a time.
	Ring()
	DueIn(d time.Duration)
	// Drain waits for what runs here, after Run has ended, for a bounded time, and tells how many runs are left.
	Drain() int
	// Level is what it knows of the definitions of schedules, from 1.
	Level() int
	Health() wire.SchedulerHealth
}

// UseScheduler has the node run schedules, as long as it is ready. Without one it leaves them to others. It is called before
// Run.
func (n *Node) UseScheduler(s Scheduler) { n.scheduler = s }

// scheduled tells the scheduler what a heartbeat has found.
func (n *Node) scheduled(p store.Pulse) {
	if p.SchedulesAt != 0 {
		n.scheduler.DueIn(time.Duration(p.SchedulesAt-p.Now) * time.Millisecond)
	}
}

// drainSchedules begins to wait for the work of schedules; the function that it returns waits for the end of that.
func (n *Node) drainSchedules() (wait func()) {
	drained := make(chan int, 1)
	go func() { drained <- n.scheduler.Drain() }()
	return func() {
		if left := <-drained; left > 0 {
			n.log.Warn("runs of schedules have not ended; others take them when their leases are over", telemetry.KeyCount, left)
		}
	}
}

// noScheduler leaves schedules to others.
type noScheduler struct{}

func (noScheduler) Run(context.Context, func() bool) {}
func (noScheduler) Ring()                            {}
func (noScheduler) DueIn(time.Duration)              {}
func (noScheduler) Drain() int                       { return 0 }
func (noScheduler) Level() int                       { return 0 }
func (noScheduler) Health() (h wire.SchedulerHealth) { return h }
