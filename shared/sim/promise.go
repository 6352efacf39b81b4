package sim

import (
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// answersFirst tells whether commits are answered before they are written.
func (w *world) answersFirst() bool { return w.breaks == AnswerFirst }

// whims gives the tasks of a batch the time that the node's life thinks fit.
func (l *link) whims(b store.Batch) {
	for _, it := range b.Items {
		for i := range eventsOf(it.Turn) {
			if ev := &it.Turn.Events[i]; ev.Type == history.EventScheduled && ev.Timeout > 0 {
				ev.Timeout += int64(l.process.life) - 1
			}
		}
	}
}

func eventsOf(t *history.Turn) []history.Event {
	if t == nil {
		return nil
	}
	return t.Events
}

// promise answers a commit as if it were written, and writes it a moment later. Only turns of executions that exist can be
// answered so.
func (w *world) promise(l *link, b store.Batch) (store.Committed, error) {
	for _, it := range b.Items {
		if it.New != nil || len(it.Children) > 0 || it.Turn == nil {
			return l.Store.Commit(l.process.ctx, b)
		}
	}
	w.wait(func() {
		time.Sleep(20 * time.Millisecond)
		_, _ = l.Store.Commit(l.process.ctx, b)
	})
	return store.Committed{Started: map[int]store.Started{}, Children: map[int][]history.ExecutionID{}}, nil
}
