package frontend

import (
	"context"
	"strconv"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// mostLooks is how often a report looks whether its attempt is open, while turns of the execution follow each other.
const mostLooks = 4

// enter writes reports. Those of tasks whose rows are owed are unclear when their executions have moved on since the
// hand-over: only the state tells then whether the attempt is open.
func (f *Frontend) enter(ctx context.Context, rs []store.Report) ([]store.ReportOutcome, error) {
	outcomes, err := f.write(ctx, rs)
	if err != nil {
		return nil, err
	}
	for look := 1; ; look++ {
		open, err := f.clear(ctx, rs, outcomes)
		if err != nil || len(open) == 0 {
			return outcomes, err
		}
		again := make([]store.Report, len(open))
		for i, at := range open {
			again[i], outcomes[at] = rs[at], store.ReportRetry
		}
		if look > mostLooks {
			return outcomes, nil
		}
		got, err := f.write(ctx, again)
		if err != nil {
			return nil, err
		}
		for i, at := range open {
			outcomes[at] = got[i]
		}
	}
}

func (f *Frontend) write(ctx context.Context, rs []store.Report) (outcomes []store.ReportOutcome, err error) {
	// A repeat after an unknown outcome is answered as a duplicate.
	err = retried(ctx, true, func() (err error) { outcomes, err = f.store.Report(ctx, rs); return err })
	return outcomes, failed("report", err)
}

// clear finds out about the unclear ones. It gives the places of those whose attempts are open, as of their OpenAt.
func (f *Frontend) clear(ctx context.Context, rs []store.Report, outcomes []store.ReportOutcome) (open []int, err error) {
	for i := range rs {
		if outcomes[i] != store.ReportUnclear {
			continue
		}
		r := &rs[i]
		_, state, err := f.load(ctx, store.Execution{ID: r.Execution, Name: strconv.FormatInt(int64(r.Execution), 10)})
		if err != nil {
			return nil, err
		}
		if outcomes[i] = reportedIn(state, r.Row); outcomes[i] == store.ReportUnclear {
			r.OpenAt = state.LastSeq()
			open = append(open, i)
		}
	}
	return open, nil
}

// reportedIn tells how a report stands in a state; unclear is that its attempt is open.
func reportedIn(s *history.State, r history.RowRef) store.ReportOutcome {
	row, open := s.Row(r.Unit)
	switch {
	case open && row.Attempt == r.Attempt && r.Offer <= row.Offer:
		return store.ReportUnclear
	case s.Reported(r):
		return store.ReportDuplicate
	}
	return store.ReportStale
}
