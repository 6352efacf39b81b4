package main

import (
	"fmt"
	"strconv"
	"strings"
)

// woven is a history taken apart into threads: what happened at the top, and in each branch and iteration. Within a thread
// the order of events means something; across threads it does not, nor do ids and previousEventId.
type woven struct {
	threads []*thread
	byID    map[int64]*thread
	byKey   map[string]*thread
	kinds   map[int64]string
	last    *thread // of the event before
	aborted bool    // the event before told that an iteration was stopped
	// blanked are the events whose ids the recording has blanked: nobody can tell their threads apart.
	blanked []*recordedEvent
}

// thread is what happened in one branch or iteration, in order.
type thread struct {
	key    string
	parent *thread
	index  int // of the iteration; -1 for a branch and the top
	events []*recordedEvent
	state  string         // entered last
	fans   map[string]int // how often each Parallel or Map of it has begun
	open   bool           // the branches or iterations of state run
}

// weave takes a history apart.
func weave(events []recordedEvent) *woven {
	w := &woven{byID: map[int64]*thread{}, byKey: map[string]*thread{}, kinds: map[int64]string{}}
	w.begin(nil, "", -1)
	for i := range events {
		e := &events[i]
		if e.id == 0 {
			w.blanked = append(w.blanked, e)
			continue
		}
		t := w.place(e)
		t.events = append(t.events, e)
		w.byID[e.id], w.kinds[e.id], w.last = t, e.kind, t
		w.aborted = e.kind == "MapIterationFailed" || e.kind == "MapIterationAborted" || w.aborted && isAbort(e.kind)
	}
	return w
}

func isAbort(kind string) bool { return strings.HasSuffix(kind, "StateAborted") }

// begin makes a thread inside a Parallel or Map of its parent; name is the branch or the index.
func (w *woven) begin(parent *thread, name string, index int) *thread {
	t := &thread{parent: parent, index: index, fans: map[string]int{}}
	if parent != nil {
		t.key = fmt.Sprintf("%s%s#%d[%s]/", parent.key, parent.state, parent.fans[parent.state], name)
	}
	w.threads = append(w.threads, t)
	w.byKey[t.key] = t
	return t
}

// place finds the thread of an event, and keeps track of what is open in it.
func (w *woven) place(e *recordedEvent) *thread {
	before := w.byID[e.previous]
	if before == nil || strings.HasPrefix(e.kind, "Execution") {
		before = w.threads[0]
	}
	name, after := textOf(e.details, "name"), w.kinds[e.previous]
	switch {
	case isAbort(e.kind) && w.aborted:
		return w.last
	case isAbort(e.kind):
		return before.around("")
	case strings.HasPrefix(e.kind, "MapIteration"):
		return w.iteration(e, before.around(name))
	case strings.HasSuffix(e.kind, "StateEntered"):
		if after == "ParallelStateStarted" {
			before = w.begin(before, name, -1)
		}
		before.state = name
		return before
	case strings.HasSuffix(e.kind, "StateStarted"):
		if after != "MapStateEntered" && after != "ParallelStateEntered" { // another try: it follows what has failed inside
			before = before.around("")
		}
		before.open = true
		before.fans[before.state]++
		return before
	case strings.HasPrefix(e.kind, "MapState"), strings.HasPrefix(e.kind, "ParallelState"):
		before = before.around(name)
		before.open = strings.HasSuffix(e.kind, "StateSucceeded") // its exit follows
	}
	return before
}

// iteration places an event that tells of an iteration of the Map that is open in t.
func (w *woven) iteration(e *recordedEvent, t *thread) *thread {
	index := int(intOf(e.details, "index"))
	if e.kind == "MapIterationStarted" {
		return w.begin(t, strconv.Itoa(index), index)
	}
	if inner := w.byKey[fmt.Sprintf("%s%s#%d[%d]/", t.key, t.state, t.fans[t.state], index)]; inner != nil {
		return inner
	}
	return t
}

// around is the nearest thread, from t outwards, in which a Parallel or Map of that name is open; any where the name is
// empty, and t itself where there is none.
func (t *thread) around(name string) *thread {
	for a := t; a != nil; a = a.parent {
		if a.open && (name == "" || a.state == name) {
			return a
		}
	}
	return t
}

// iterations are the indexes of the iterations around the thread, from the outside in, each followed by a slash.
func (t *thread) iterations() string {
	if t == nil {
		return ""
	}
	if t.index < 0 {
		return t.parent.iterations()
	}
	return t.parent.iterations() + strconv.Itoa(t.index) + "/"
}
