package node

import "time"

// inHand knows the rows that some execution has in hand or has just done with, so that a row which is read twice is
// taken up once. A read may bring a row that was removed while it ran; such a row counts as done for longer than any read
// lasts.
type inHand[K comparable] struct {
	rows  map[K]bool // true while in hand
	spent []spent[K] // in the order in which they were done with
}

type spent[K comparable] struct {
	key K
	at  time.Time
}

// spentFor is longer than a read can last.
const spentFor = 15 * time.Second

// take takes a row in hand; false when it is already, or is done with.
func (h *inHand[K]) take(k K) bool {
	if _, known := h.rows[k]; known {
		return false
	}
	if h.rows == nil {
		h.rows = map[K]bool{}
	}
	h.rows[k] = true
	return true
}

// release lets go of a row that is still there.
func (h *inHand[K]) release(k K) {
	if h.rows[k] {
		delete(h.rows, k)
	}
}

// spend is done with a row.
func (h *inHand[K]) spend(k K) {
	now := time.Now()
	for len(h.spent) > 0 && now.Sub(h.spent[0].at) > spentFor {
		if old := h.spent[0].key; !h.rows[old] {
			delete(h.rows, old)
		}
		h.spent = h.spent[1:]
	}
	if h.rows == nil {
		h.rows = map[K]bool{}
	}
	h.rows[k] = false
	h.spent = append(h.spent, spent[K]{k, now})
}
