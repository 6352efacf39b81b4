package store

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

var queue = Queue{1, history.Contract{Task: "t", Version: 1}, ""}

// marker drives marks as a claimer does, with a clock of its own.
type marker struct {
	t     *testing.T
	marks Marks
	now   time.Time
}

func newMarker(t *testing.T) *marker { return &marker{t: t, now: time.Unix(1_700_000_000, 0)} }

// look gives the stretches, and tells the marks what is first in each of those that are not full looks.
func (m *marker) look(queued []key, horizon int64) []stretch {
	m.t.Helper()
	looked, _ := m.marks.stretches([]Queue{queue})
	var rows []markRow
	for i, l := range looked {
		r := markRow{Place: int64(i) + 1, Now: pgtype.Timestamptz{Time: m.now, Valid: true}, Horizon: horizon}
		for _, k := range queued {
			if !less(k, l.from) && k.rank <= l.last {
				r.Rank, r.ID = k.rank, int64(k.id)
				break
			}
		}
		rows = append(rows, r)
	}
	m.marks.observe([]Queue{queue}, looked, rows)
	return looked
}

func less(a, b key) bool { return a.rank < b.rank || a.rank == b.rank && a.id < b.id }

// at looks every second until d has passed.
func (m *marker) at(d time.Duration, queued []key, horizon int64) []stretch {
	var last []stretch
	for range int(d / time.Second) {
		m.now = m.now.Add(time.Second)
		last = m.look(queued, horizon)
	}
	return last
}

// sees tells whether a look at the stretches finds the row.
func sees(looked []stretch, k key) bool {
	return slices.ContainsFunc(looked, func(l stretch) bool { return !less(k, l.from) && k.rank <= l.last })
}

func TestMarksTrail(t *testing.T) {
	m := newMarker(t)
	m.look([]key{{0, 100}}, 200)
	early := m.at(10*time.Second, []key{{0, 100}}, 200)
	if !sees(early, key{0, 5}) {
		t.Error("a mark is used before its time: an insert that is open could be overlooked")
	}
	var dead, live int
	for range 20 {
		m.now = m.now.Add(time.Second)
		looked := m.look([]key{{0, 100}}, 200)
		if sees(looked, key{0, 99}) {
			dead++
		}
		if sees(looked, key{0, 100}) && sees(looked, key{7, 1}) && sees(looked, key{-7, 1}) {
			live++
		}
	}
	if live != 20 {
		t.Errorf("%d of 20 looks see the live row and rows of other ranks, want all", live)
	}
	// One look in five seconds ignores the marks, and some went by before there was one.
	if dead < 4 || dead > 10 {
		t.Errorf("%d of 20 looks read dead rows, want few", dead)
	}
}

func TestMarksOfAnEmptyQueue(t *testing.T) {
	m := newMarker(t)
	m.at(20*time.Second, []key{{0, 100}}, 200)
	m.at(40*time.Second, nil, 300) // everything is claimed
	var dead int
	for range 10 {
		m.now = m.now.Add(time.Second)
		if looked := m.look(nil, 300); sees(looked, key{0, 299}) {
			dead++
		}
		if looked, _ := m.marks.stretches([]Queue{queue}); !sees(looked, key{0, 301}) {
			t.Error("the next row would not be seen")
		}
	}
	if dead > 4 {
		t.Errorf("%d of 10 looks read what is dead below the horizon", dead)
	}
}

func TestMarksGoBack(t *testing.T) {
	m := newMarker(t)
	m.at(60*time.Second, []key{{0, 100}}, 200)
	// A straggler has committed below the mark: a full look finds it within its interval, and from then on every look.
	found := 0
	for range 12 {
		m.now = m.now.Add(time.Second)
		if looked := m.look([]key{{0, 50}, {0, 100}}, 200); sees(looked, key{0, 50}) {
			found++
		}
	}
	if found < 6 {
		t.Errorf("%d of 12 looks see the straggler", found)
	}
}

// TestMarksKeepRanksApart: a live row of one rank says nothing about others.
func TestMarksKeepRanksApart(t *testing.T) {
	m := newMarker(t)
	queued := []key{{-5, 900}, {0, 100}, {3, 40}}
	for range 60 {
		m.now = m.now.Add(time.Second)
		looked := m.look(queued, 1000)
		for _, k := range queued {
			if !sees(looked, k) {
				t.Fatalf("a look does not see %v: %v", k, looked)
			}
		}
	}
	if m.marks.size == 0 {
		t.Error("no marks")
	}
}

func TestMarksAreBounded(t *testing.T) {
	m := newMarker(t)
	for i := range maxMarks + 10 {
		q := Queue{1, history.Contract{Task: "t", Version: i}, ""}
		m.marks.observe([]Queue{q}, []stretch{{0, key{firstRank, 0}, lastRank}}, []markRow{{Place: 1, ID: 7, Horizon: 9}})
	}
	if len(m.marks.ranks) > maxMarks+1 {
		t.Errorf("%d queues are remembered", len(m.marks.ranks))
	}
}
