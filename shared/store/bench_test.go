package store_test

import (
	"fmt"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// BenchmarkCommit writes turns that end one task and offer the next, as a sequence of tasks does, in batches.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			w := newWorld(b)
			n := w.join("n1", 256, 0)
			all := make([]*execution, size)
			for i := range all {
				all[i] = w.start(fmt.Sprint("e", i), history.Partition(i%256), offer("U1", 1, 0))
			}
			before := w.count("select pg_current_wal_insert_lsn() - '0/0'")
			b.ResetTimer()
			for b.Loop() {
				items := make([]store.Item, size)
				for i, e := range all {
					items[i] = e.turn(n, func(t *history.Turn) {
						t.Resolved = []history.Resolved{{Unit: history.UnitKey(fmt.Sprint("U", e.seq)), Attempt: 1, Reported: true}}
						t.Offers = []history.Offer{offer(fmt.Sprint("U", e.seq+1), 1, 0)}
					})
					e.seq++
				}
				w.mustCommit(n, items...)
			}
			b.StopTimer()
			turns := float64(b.N * size)
			b.ReportMetric(turns/b.Elapsed().Seconds(), "turns/s")
			b.ReportMetric(float64(w.count("select pg_current_wal_insert_lsn() - '0/0'")-before)/turns, "WAL-B/turn")
		})
	}
}

// BenchmarkClaim takes rows from a backlog.
func BenchmarkClaim(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprint("rows=", size), func(b *testing.B) {
			w := newWorld(b)
			s := w.session("w1")
			w.start("one", 0)
			marks := &store.Marks{}
			queued := 0
			for b.Loop() {
				if queued < size {
					b.StopTimer()
					w.exec("delete from orrery.task")
					w.exec(`insert into orrery.task (execution, partition, namespace, unit, attempt, offer, task, version, idempotency_key, input)
						select 1, 0, 1, 'U' || i, 1, 0, 'charge', 1, '', '{}' from generate_series(1, 5000) i`)
					w.exec("vacuum analyze orrery.task")
					queued = 5000
					b.StartTimer()
				}
				got, err := w.db.Claim(ctx(b), store.ClaimRequest{Polls: []store.Poll{poll(s, "p", size)}, Marks: marks})
				if err != nil || len(got.Tasks) != size {
					b.Fatalf("claimed %d, %v", len(got.Tasks), err)
				}
				queued -= size
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
