package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// longAgo moves an execution to a day so many days ago, which gets its partitions.
func (w *world) longAgo(e *execution, days int) time.Time {
	w.t.Helper()
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -days)
	for _, parent := range []string{"history", "snapshot"} {
		child := parent + day.Format("_20060102")
		w.exec(strings.NewReplacer("CHILD", child, "PARENT", parent, "DAY", day.Format(time.DateOnly), "NEXT", day.AddDate(0, 0, 1).Format(time.DateOnly)).Replace(
			"create table if not exists orrery.CHILD partition of orrery.PARENT for values from ('DAY') to ('NEXT')"))
		w.exec("update orrery."+parent+" set born = $2 where execution = $1", int64(e.id), day)
	}
	w.exec(`update orrery.execution set born = $2::date, started_at = $2::date, ended_at = ended_at - $3::integer * interval '1 day' where id = $1`, int64(e.id), day, days-1)
	return day
}

// TestRetention: what has ended long enough ago is gone for whoever asks, at once; its history goes with its day; what runs
// from that day goes on.
func TestRetention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n", 2, 0)
	runs, ended, recent := w.start("runs", 0), w.start("ended", 0), w.start("recent", 1)
	for _, e := range []*execution{ended, recent} {
		w.mustCommit(n, e.turn(n, end))
		w.exec("update orrery.execution set ended_at = now() where id = $1", int64(e.id))
	}
	for _, e := range []*execution{ended, recent} {
		w.exec(`insert into orrery.attribute (execution, namespace, name, value) values ($1, 1, 'a', '1')`, int64(e.id))
	}
	day := w.longAgo(runs, 40)
	w.longAgo(ended, 40)
	expire := func(want int) {
		t.Helper()
		got, err := w.db.Expire(ctx(t), store.Expiry{Window: 100})
		if err != nil || got.Removed != want || got.Last != 0 {
			t.Errorf("%+v, %v; want %d removed", got, err, want)
		}
	}
	expire(0) // nothing goes from a namespace that keeps all
	w.exec("update orrery.namespace set retention_days = 30")
	if got, err := w.db.Expire(ctx(t), store.Expiry{Window: 1}); err != nil || got.Last == 0 {
		t.Errorf("a step of one: %+v, %v; the walk is not over", got, err)
	}
	expire(1)
	if _, err := w.db.Execution(ctx(t), namespace, "ended"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the execution that is not kept: %v", err)
	}
	if left, err := w.db.Attributes(ctx(t), []history.ExecutionID{ended.id, recent.id}); err != nil || len(left) != 1 || len(left[recent.id]) != 1 {
		t.Errorf("attributes %v, %v", left, err)
	}
	if _, err := w.db.Execution(ctx(t), namespace, "recent"); err != nil {
		t.Errorf("the execution that is kept: %v", err)
	}

	days, err := w.db.Days(ctx(t))
	if err != nil || len(days) < 5 || !days[0].Date.Equal(day) || days[0].Age != 40 || !days[0].Old || days[1].Old || days[len(days)-1].Age != -4 {
		t.Fatalf("days %+v, %v", days, err)
	}
	if dropped, err := w.db.DropDay(ctx(t), day); err != nil || dropped {
		t.Errorf("dropped a day of which something is kept: %v, %v", dropped, err)
	}
	if kept, err := w.db.KeepDay(ctx(t), day, 10); err != nil || kept != 1 {
		t.Errorf("kept %d, %v", kept, err)
	}
	if dropped, err := w.db.DropDay(ctx(t), day); err != nil || !dropped {
		t.Errorf("the day was not dropped: %v, %v", dropped, err)
	}
	w.want(0, "select count(*) from pg_class where relname in ($1, $2)", "history"+day.Format("_20060102"), "snapshot"+day.Format("_20060102"))
	w.want(1, "select count(*) from orrery.history_infinity")

	w.mustCommit(n, runs.turn(n, end)) // its turns go on where they were moved
	w.want(2, "select count(*) from orrery.history_infinity")
	w.exec("update orrery.execution set ended_at = now() - interval '31 days' where id = $1", int64(runs.id))
	expire(1)
	w.want(0, "select count(*) from orrery.history_infinity")
	for _, d := range days {
		if d.Age < 2 {
			if dropped, err := w.db.DropDay(ctx(t), d.Date); err != nil || dropped {
				t.Errorf("dropped the day of age %d: %v", d.Age, err)
			}
		}
	}
}

// TestKeptDayWaitsForTurns: an execution whose turn is being written is not moved under it, and the turn lands where its
// history is.
func TestKeptDayWaitsForTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n", 1, 0)
	e := w.start("e", 0)
	day := w.longAgo(e, 40)
	tx, err := w.pool.Begin(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx(t))
	if _, err := tx.Exec(ctx(t), "select from orrery.execution where id = $1 for update", int64(e.id)); err != nil {
		t.Fatal(err)
	}
	if kept, err := w.db.KeepDay(ctx(t), day, 10); err != nil || kept != 0 {
		t.Errorf("moved %d executions with a turn under way, %v", kept, err)
	}
	tx.Rollback(ctx(t))
	if kept, err := w.db.KeepDay(ctx(t), day, 10); err != nil || kept != 1 {
		t.Errorf("kept %d, %v", kept, err)
	}
	w.mustCommit(n, e.turn(n, end))
	loaded, err := w.db.History(ctx(t), store.HistoryQuery{Execution: e.id, From: 1, Limit: 10})
	if err != nil || len(loaded) != 2 {
		t.Errorf("%d turns, %v; want both", len(loaded), err)
	}
}
