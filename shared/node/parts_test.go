package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestConfigReportsAllFaults(t *testing.T) {
	_, err := New(Config{NodeTimeout: time.Hour, SessionTimeout: time.Second, Memory: 1}, nil, nil)
	for _, fault := range []string{"the id", "the node timeout", "the session timeout", "the memory"} {
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%v does not tell about %s", err, fault)
		}
	}
	if _, err := New(Config{ID: "a", Heartbeat: 2 * time.Second}, nil, nil); err == nil {
		t.Error("a heartbeat of two fifths of the timeout was accepted")
	}
}

func TestStanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &standing{hole: 2500 * time.Millisecond}
		begin := time.Now()
		beat := func(took time.Duration) {
			sent := time.Now()
			time.Sleep(took)
			s.confirm(sent, time.Now())
		}
		steady := func(want bool) {
			t.Helper()
			if got := s.steady(5 * time.Second); got != want {
				t.Errorf("after %v: steady %v, want %v", time.Since(begin), got, want)
			}
		}
		steady(false)
		if _, ok := s.age(); ok {
			t.Error("an age without a beat")
		}
		for range 5 {
			beat(time.Millisecond)
			time.Sleep(time.Second)
		}
		beat(time.Millisecond)
		steady(true)
		// A beat that took long has seen others as silent for as long: it begins the count anew.
		beat(3 * time.Second)
		if age, _ := s.age(); age != 3*time.Second {
			t.Errorf("the age is %v, it counts from before the beat was sent", age)
		}
		beat(time.Millisecond)
		steady(false)
		for range 5 {
			beat(time.Millisecond)
			time.Sleep(time.Second)
		}
		steady(true)
		time.Sleep(3 * time.Second)
		steady(false)
	})
}

func TestLowWaterTrails(t *testing.T) {
	var w lowWater[int64]
	at := time.Unix(1000, 0)
	step := func(d time.Duration) time.Time { at = at.Add(d); return at }
	if w.from(at) != 0 {
		t.Error("the first read is not a full one")
	}
	w.saw(100, step(time.Second))
	w.saw(90, step(time.Second)) // committed late
	w.saw(200, step(trail))
	if got := w.from(step(time.Second)); got != 0 {
		t.Errorf("a read after %v is not full: from %d", fullEvery, got)
	}
	if got := w.from(step(time.Second)); got != 90 {
		t.Errorf("from %d, want the lowest that was seen a trail ago", got)
	}
	w.saw(50, step(time.Second)) // a full read has found something below the key
	if got := w.from(step(time.Second)); got != 50 {
		t.Errorf("from %d after something lower was found", got)
	}
	w.reset()
	if got := w.from(step(time.Second)); got != 0 {
		t.Errorf("from %d after a reset", got)
	}
}

func TestInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h inHand[int]
		if !h.take(1) || h.take(1) {
			t.Error("a row is taken up once")
		}
		h.release(1)
		if !h.take(1) {
			t.Error("a row that was let go is taken up again")
		}
		h.spend(1)
		h.release(1)
		if h.take(1) {
			t.Error("a read that began before the commit brings a row that is done with")
		}
		time.Sleep(spentFor + time.Second)
		h.spend(2)
		if len(h.rows) != 1 || len(h.spent) != 1 {
			t.Errorf("what is long done with stays: %v", h.rows)
		}
	})
}

func TestPolls(t *testing.T) {
	other := history.Contract{Task: "other", Version: 1}
	seen := func(ps *polls, p *poll) *poll { // has looked for what it was given before
		ps.mu.Lock()
		defer ps.mu.Unlock()
		p.Recall = false
		return p
	}
	open := func(ps *polls, id string, max int) *poll {
		p, _ := ps.add(pollOf("s-"+id, id, max), false)
		return seen(ps, p)
	}
	t.Run("the longest waiting first, by contract and language", func(t *testing.T) {
		ps := newPolls()
		first, second := open(ps, "1", 1), open(ps, "2", 1)
		q := pollOf("s-3", "3", 1)
		q.Language = "go"
		third, _ := ps.add(q, false)
		seen(ps, third)
		if ps.reserve(1, other, "") != nil || ps.reserve(2, work, "") != nil || ps.reserve(1, work, "python") != nil {
			t.Error("a place for a task that the poll does not do")
		}
		if ps.reserve(1, work, "go") != third || ps.reserve(1, work, "") != first || ps.reserve(1, work, "") != second {
			t.Error("the order is wrong")
		}
		if ps.reserve(1, work, "") != nil {
			t.Error("a place in a poll that has none")
		}
	})
	t.Run("no more than asked for", func(t *testing.T) {
		ps := newPolls()
		p := open(ps, "1", 3)
		ps.reserve(1, work, "")
		places, _ := ps.reserveAll(func() int { return 10 }, func(*poll) bool { return true })
		if len(places) != 1 || places[0].n != 2 || places[0].ask.Max != 2 {
			t.Errorf("places %+v", places)
		}
		ps.release(p, 2)
		if !ps.deliver(p, store.Assignment{}) {
			t.Error("not delivered")
		}
		got, ok := ps.answered(p, false)
		if !ok || len(got) != 1 {
			t.Errorf("answered %v with %d tasks", ok, len(got))
		}
		if ps.reserve(1, work, "") != nil {
			t.Error("a place in an answered poll")
		}
	})
	t.Run("a closed poll takes nothing", func(t *testing.T) {
		ps := newPolls()
		p := open(ps, "1", 1)
		ps.reserve(1, work, "")
		ps.close(p)
		if ps.deliver(p, store.Assignment{}) {
			t.Error("delivered to a closed poll")
		}
		if ps.count() != 0 || len(ps.waiting) != 0 {
			t.Errorf("%d polls open, %d lanes", ps.count(), len(ps.waiting))
		}
	})
	t.Run("a poll that looks for an earlier answer waits for that", func(t *testing.T) {
		ps := newPolls()
		p, _ := ps.add(pollOf("s", "p", 1), false)
		if !p.Recall || ps.reserve(1, work, "") != nil {
			t.Error("it takes a new task first")
		}
		ps.served("s", "p")
		if p.closed {
			t.Error("it was closed on account of what it looks for")
		}
	})
	t.Run("a poll that was served elsewhere is closed", func(t *testing.T) {
		ps := newPolls()
		p := open(ps, "1", 1)
		ps.served("s-1", "1")
		if got, ok := ps.answered(p, false); !ok || len(got) != 0 {
			t.Errorf("answered %v with %d tasks", ok, len(got))
		}
	})
	t.Run("a claim leaves out the youngest", func(t *testing.T) {
		ps := newPolls()
		for i := range 10 {
			open(ps, fmt.Sprint(i), 10)
		}
		places, more := ps.reserveAll(func() int { return 35 }, func(*poll) bool { return true })
		if len(places) != 4 || !more || places[0].ask.ID != "0" || places[3].ask.ID != "3" {
			t.Errorf("%d places, more %v", len(places), more)
		}
	})
	t.Run("recall", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ps := newPolls()
			recall := func(id string, tasks int) bool {
				p, recall := ps.add(pollOf("s", id, 1), false)
				seen(ps, p)
				for range tasks {
					ps.reserve(1, work, "")
					ps.deliver(p, store.Assignment{})
				}
				ps.close(p)
				return recall
			}
			if !recall("1", 1) {
				t.Error("a session that is new here may have polled elsewhere")
			}
			if recall("2", 0) {
				t.Error("a session that goes on at once has lost nothing")
			}
			if !recall("1", 0) {
				t.Error("the repeat of an answered poll")
			}
			time.Sleep(pollGap + time.Millisecond)
			if !recall("3", 0) {
				t.Error("a session that was away may have polled elsewhere")
			}
		})
	})
}

func TestContacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		touch := func(session string) []string {
			gone, err := n.Touch(t.Context(), []store.Touch{{Session: session}})
			if err != nil {
				t.Fatal(err)
			}
			return gone
		}
		touch("here")
		touch("nobody")
		time.Sleep(1500 * time.Millisecond)
		c.db.do(func() {
			if at := c.db.sessions["here"]; time.Since(at) < 1400*time.Millisecond {
				t.Errorf("contact was written as %v ago", time.Since(at))
			}
		})
		if gone := touch("here"); len(gone) != 0 {
			t.Errorf("gone: %v", gone)
		}
		if gone := touch("nobody"); len(gone) != 1 {
			t.Error("a session that does not exist was not told of")
		}
	})
}

func TestWaits(t *testing.T) {
	var w waits[int]
	one, forget := w.add(1)
	two, _ := w.add(2)
	forgotten, drop := w.add(1)
	drop()
	w.rang(1)
	forget()
	select {
	case <-one:
	default:
		t.Error("not rung")
	}
	select {
	case <-two:
		t.Error("rung for another key")
	case <-forgotten:
		t.Error("rung after it was forgotten")
	default:
	}
	w.rangAll()
	<-two
	if len(w.keys) != 0 {
		t.Errorf("%d keys are left", len(w.keys))
	}
}

func TestLocatedKeepsTheNewest(t *testing.T) {
	var m located
	for i := range history.ExecutionID(3 * generation) {
		m.put(i, history.Partition(i%7))
	}
	if _, ok := m.get(0); ok || len(m.young)+len(m.old) > 2*generation {
		t.Errorf("%d are kept", len(m.young)+len(m.old))
	}
	last := history.ExecutionID(3*generation - 1)
	if p, ok := m.get(last); !ok || p != history.Partition(last%7) {
		t.Errorf("the newest is in partition %d, %v", p, ok)
	}
}

func TestEndingThatMeetsLocksIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id := c.mustStart(n)
		x := c.poll(n, "s", "p", 1)[0]
		refused, announced := 0, 0
		c.db.onCommit(func(b store.Batch) error {
			for _, it := range b.Items {
				if it.Ending {
					announced++
				} else if it.Turn.End != nil && announced == 0 {
					refused++
					return &store.CommitError{Kind: store.Locked, Executions: []history.ExecutionID{id}, Err: store.ErrConflict}
				}
			}
			return nil
		})
		if out := c.complete(n, x); out != store.ReportAccepted {
			t.Errorf("report: %v", out)
		}
		c.wantEnd(id, history.Succeeded, time.Second)
		if refused != maxLockedEnds || announced != 1 {
			t.Errorf("refused %d times, announced %d times", refused, announced)
		}
	})
}

func TestSlowHeartbeatGoesWithoutItsReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, `{"StartAt": "Wait", "States": {"Wait": {"Type": "Task", "Resource": "signal:go", "End": true}}}`)
		n := c.join("a")
		id := c.mustStart(n)
		c.db.do(func() {
			clear(c.db.listeners)
			c.db.heartbeat = func(history.FenceNumber) { time.Sleep(200 * time.Millisecond) }
		})
		m := store.Message{Namespace: 1, Name: "e1", Command: history.Command{Kind: history.KindSignal, Signal: "go", Output: []byte("1")}}
		if _, err := c.db.Send(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		c.wantEnd(id, history.Succeeded, 3*time.Second)
		time.Sleep(5 * time.Second)
		if c.db.count("Look") == 0 {
			t.Error("no look beside a bare heartbeat")
		}
	})
}

func TestDrainedNodeTakesNoCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id := c.mustStart(n)
		x := c.poll(n, "s", "p", 1)[0]
		l := n.serving()
		l.send(t.Context(), drain{make(chan struct{})})
		// The report goes to the inbox, and is durable there.
		if out := c.complete(n, x); out != store.ReportAccepted {
			t.Errorf("report: %v", out)
		}
		if c.db.count("Report") != 1 {
			t.Error("the report did not go to the inbox")
		}
		if _, err := c.start(n); !errors.Is(err, errNotReady) {
			t.Errorf("start: %v", err)
		}
		if err := n.stop(); err != nil {
			t.Fatal(err)
		}
		c.join("b")
		c.wantEnd(id, history.Succeeded, 10*time.Second)
	})
}

// TestPollGetsATaskOnce: two looks at what is claimed under a poll's id bring the same task.
func TestPollGetsATaskOnce(t *testing.T) {
	ps := newPolls()
	p, _ := ps.add(store.Poll{Namespace: 1, Session: "s", ID: "p", Max: 3, Contracts: []history.Contract{{Task: "work", Version: 1}}}, false)
	if places, _ := ps.reserveAll(func() int { return 3 }, func(*poll) bool { return true }); len(places) != 1 || places[0].n != 3 {
		t.Fatalf("the places are %+v", places)
	}
	task := func(unit string) store.Assignment {
		return store.Assignment{Execution: 7, Row: history.RowRef{Unit: history.UnitKey(unit), Attempt: 1, Offer: 1}}
	}
	for _, unit := range []string{"a", "b", "a"} {
		if !ps.deliver(p, task(unit)) {
			t.Errorf("%s was not taken", unit)
		}
	}
	if got, ok := ps.answered(p, false); !ok || len(got) != 2 || got[0].Row.Unit != "a" || got[1].Row.Unit != "b" {
		t.Errorf("the answer is %+v, %v", got, ok)
	}
}

// TestPatienceOfHeartbeats: a beat on which the node's standing rests is given up in time for another; when that is over, each next
// one has longer, so that a slow machine is heard of again.
func TestPatienceOfHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		m := c.join("a")
		h := &heartbeat{node: m.Node}
		n := m.config.NodeTimeout
		want := func(d time.Duration) {
			t.Helper()
			if got := h.patience(); got != d {
				t.Errorf("patience %v, want %v", got, d)
			}
		}
		want(n / 2)
		h.failures = 3
		want(n / 2)
		c.away(m, time.Hour)
		time.Sleep(2 * n)
		h.failures = 1
		want(n)
		h.failures = 5
		want(mostPatience)
		m.standing.reset()
		want(mostPatience)
		c.away(m, 0)
	})
}
