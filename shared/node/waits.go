package node

import (
	"sync"
)

// waits lets requests wait for something that has a key: the end of an execution, the reply to an entry. A waiter that is
// not rung looks again by itself, so a lost bell costs time and nothing else.
type waits[K comparable] struct {
	mu   sync.Mutex
	keys map[K]map[chan struct{}]bool
}

// add begins to wait; the channel is closed by the next ring. The caller calls forget in any case.
func (w *waits[K]) add(k K) (rung <-chan struct{}, forget func()) {
	c := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[K]map[chan struct{}]bool{}
	}
	if w.keys[k] == nil {
		w.keys[k] = map[chan struct{}]bool{}
	}
	w.keys[k][c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.keys[k], c)
		if len(w.keys[k]) == 0 {
			delete(w.keys, k)
		}
	}
}

// rang wakes whoever waits for the key.
func (w *waits[K]) rang(k K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.keys[k] {
		close(c)
	}
	delete(w.keys, k)
}

// rangAll wakes everybody: bells may have been lost.
func (w *waits[K]) rangAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cs := range w.keys {
		for c := range cs {
			close(c)
		}
	}
	clear(w.keys)
}
