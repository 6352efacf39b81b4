package node

import "time"

// lowWater is a key below which nothing is open, for reads that would otherwise walk over the dead rows of everything that
// has come and gone. Numbers are not commit order, so the key trails: it moves to a number only after no transaction that
// drew a lower one can still be open. Now and then a read ignores it, so that nothing is overlooked for ever.
type lowWater[T ~int64] struct {
	key, next T
	at        time.Time // when next was seen
	full      time.Time // when a read last ignored the key
}

const (
	// trail is longer than a transaction that inserts can stay open: statements and idle transactions are cut off earlier.
	trail = 10 * time.Second
	// fullEvery is the time between two reads that ignore the key.
	fullEvery = 10 * time.Second
)

// from gives the key to read from now.
func (w *lowWater[T]) from(now time.Time) T {
	if now.Sub(w.full) >= fullEvery {
		w.full = now
		return 0
	}
	return w.key
}

// saw notes a number below which nothing was open at the given time, as far as a read could see.
func (w *lowWater[T]) saw(n T, now time.Time) {
	switch {
	case n < w.key:
		w.key, w.next, w.at = n, n, now
	case now.Sub(w.at) >= trail:
		w.key, w.next, w.at = w.next, n, now
	case n < w.next:
		w.next = n
	}
}

// reset forgets the key: partitions have come, with rows of any age.
func (w *lowWater[T]) reset() { *w = lowWater[T]{} }
