package cron

import (
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Counts count what a runner has done since it was made, or in one tick.
type Counts struct {
	Planned   int64 `json:"planned"` // schedules
	Started   int64 `json:"started"`
	Completed int64 `json:"completed"` // direct targets; executions end elsewhere
	Failed    int64 `json:"failed"`    // the same, and what was refused
	Cancelled int64 `json:"cancelled"`
	Deferred  int64 `json:"deferred"` // could not be started, and was given back
	Missed    int64 `json:"missed"`   // deadlines for a start
	Contended int64 `json:"contended"`
	Buffered  int64 `json:"buffered"`
	Skipped   int64 `json:"skipped"`
	Overrun   int64 `json:"overrun"`
	Misfired  int64 `json:"misfired"` // instants
	Lost      int64 `json:"lost"`     // runs whose end does not count
	// Failures of statements.
	NotRenewed int64 `json:"not_renewed"`
	NotSettled int64 `json:"not_settled"`
}

// since is what was counted after before.
func (c Counts) since(before Counts) Counts {
	return Counts{
		Planned: c.Planned - before.Planned, Started: c.Started - before.Started, Completed: c.Completed - before.Completed,
		Failed: c.Failed - before.Failed, Cancelled: c.Cancelled - before.Cancelled, Deferred: c.Deferred - before.Deferred,
		Missed: c.Missed - before.Missed, Contended: c.Contended - before.Contended, Buffered: c.Buffered - before.Buffered,
		Skipped: c.Skipped - before.Skipped, Overrun: c.Overrun - before.Overrun,
		Misfired: c.Misfired - before.Misfired, Lost: c.Lost - before.Lost,
		NotRenewed: c.NotRenewed - before.NotRenewed, NotSettled: c.NotSettled - before.NotSettled,
	}
}

// health is what a runner knows of itself.
type health struct {
	mu                  sync.Mutex
	counted             Counts
	lastPlan, lastClaim time.Time // that went well
	// What went wrong last, until it goes well.
	planFault, claimFault, startFault, readFault string
}

// Health shows how the runner stands, from memory. The ages are of the last pass that went well, -1 before the first.
func (r *Runner) Health() wire.SchedulerHealth {
	h := r.health
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.counted
	out := wire.SchedulerHealth{
		Running: r.options.Workers - r.runs.free(), Workers: r.options.Workers, PlannedAgeMS: age(h.lastPlan), ClaimedAgeMS: age(h.lastClaim),
		Planned: c.Planned, Started: c.Started, Completed: c.Completed, Failed: c.Failed, Deferred: c.Deferred, Missed: c.Missed,
		Contended: c.Contended, Buffered: c.Buffered, Skipped: c.Skipped, Overrun: c.Overrun,
		Misfired: c.Misfired, Lost: c.Lost,
		RenewalFailures: c.NotRenewed, Faults: []string{},
	}
	for _, fault := range []string{h.planFault, h.claimFault, h.startFault, h.readFault} {
		if fault != "" {
			out.Faults = append(out.Faults, fault)
		}
	}
	return out
}

func age(at time.Time) int64 {
	if at.IsZero() {
		return -1
	}
	return time.Since(at).Milliseconds()
}

func (h *health) counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counted
}

func (h *health) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// looked notes a look that found out what is due, be it nothing.
func (h *health) looked() {
	h.note(func() { h.lastPlan, h.planFault = time.Now(), "" })
}

func (h *health) plannedNow(n int, err error) {
	h.note(func() {
		h.counted.Planned += int64(n)
		if err != nil {
			h.planFault = "planning fails: " + err.Error()
			return
		}
		h.lastPlan, h.planFault = time.Now(), ""
	})
}

func (h *health) claimedNow(err error) {
	h.note(func() {
		if err != nil {
			h.claimFault = "claiming fails: " + err.Error()
			return
		}
		h.lastClaim, h.claimFault = time.Now(), ""
	})
}

func (h *health) unreadable(err error) { h.note(func() { h.readFault = err.Error() }) }

func (h *health) started() { h.note(func() { h.counted.Started++; h.startFault = "" }) }

func (h *health) notStarted(err error) {
	h.note(func() { h.startFault = "starting fails: " + err.Error() })
}

func (h *health) notRenewed() { h.note(func() { h.counted.NotRenewed++ }) }
func (h *health) notSettled() { h.note(func() { h.counted.NotSettled++ }) }

func (h *health) misfired(n int64) { h.note(func() { h.counted.Misfired += n }) }
func (h *health) missed(n int)     { h.note(func() { h.counted.Missed += int64(n) }) }
func (h *health) contended(n int)  { h.note(func() { h.counted.Contended += int64(n) }) }
func (h *health) lost()            { h.note(func() { h.counted.Lost++ }) }

func (h *health) judged(v store.Verdict) {
	h.note(func() {
		switch v {
		case store.Buffered:
			h.counted.Buffered++
		case store.Skipped:
			h.counted.Skipped++
		case store.Overrun:
			h.counted.Overrun++
		}
	})
}

func (h *health) ended(o store.RunOutcome) {
	h.note(func() {
		switch o {
		case store.RunCompleted:
			h.counted.Completed++
		case store.RunFailed, store.RunRefused:
			h.counted.Failed++
		case store.RunCancelled, store.RunArchived:
			h.counted.Cancelled++
		case store.RunDeferred:
			h.counted.Deferred++
		}
	})
}
