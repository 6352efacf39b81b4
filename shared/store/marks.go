package store

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// The longest that a transaction which queues rows stays open, with room: roles.sql ends it sooner. And how often a look
// ignores the marks, in case one stayed open for longer.
const (
	markTrail    = 15 * time.Second
	fullLookEach = 5 * time.Second
)

// maxMarks bounds the memory of Marks; above it they are forgotten and found again.
const maxMarks = 10_000

// Marks are the low-water keys of one claimer: for each queue and rank the number below which nothing is queued. They keep
// a claim from reading the dead rows that somebody's long transaction holds on to.
//
//	rank 0   dead dead dead | live live          [mark, ...)
//	rank 5   dead dead | live                    a look reads what is right of the marks,
//	rank 7   live live                           and all of the ranks that have none
//
// Guarantees: a row that is queued is found within markTrail and fullLookEach of its commit, whatever the marks say, and at
// once unless its number is lower than one that was seen claimed. A mark trails by the longest time that an insert can stay
// open, and goes back when something is seen below it; every few seconds a look ignores the marks.
//
// Time here is the database's, as the looks bring it. The zero value is ready, nil has no marks, and calls may be concurrent.
type Marks struct {
	mu       sync.Mutex
	ranks    map[Queue]map[int16]*mark
	size     int
	lastFull history.Time
	now      history.Time
}

// mark is one low-water key.
type mark struct {
	usable history.TaskID // nothing is queued below
	// next becomes usable when it has been true for markTrail: since.
	next  history.TaskID
	since history.Time
}

// key is a place in a queue: rows are claimed in the order of their keys.
type key struct {
	rank int16
	id   history.TaskID
}

const (
	firstRank = math.MinInt16
	lastRank  = math.MaxInt16
)

// stretch is a part of a queue that a look reads: from a key on to the end of a rank. An index scan ends at a rank at once;
// given a key to end at, it reads on to the end of that rank.
type stretch struct {
	queue int // index into the queues that were asked for
	from  key
	last  int16 // rank
}

// stretches leaves out what the marks say is dead, but in a full look.
func (m *Marks) stretches(queues []Queue) (out []stretch, full bool) {
	if m == nil {
		return everything(queues), true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now.Sub(m.lastFull) >= fullLookEach {
		m.lastFull = m.now
		return everything(queues), true
	}
	for i, q := range queues {
		from := key{firstRank, 0}
		ranks := m.ranks[q]
		for _, rank := range sortedRanks(ranks) {
			out = append(out, stretch{i, from, rank - 1})
			from = key{rank, ranks[rank].usable}
		}
		out = append(out, stretch{i, from, lastRank})
	}
	return out, false
}

// lookFully makes the next look a full one: one that only looked has found what the marks may hide.
func (m *Marks) lookFully() {
	if m != nil {
		m.mu.Lock()
		m.lastFull = 0
		m.mu.Unlock()
	}
}

func everything(queues []Queue) []stretch {
	out := make([]stretch, len(queues))
	for i := range queues {
		out[i] = stretch{i, key{firstRank, 0}, lastRank}
	}
	return out
}

func sortedRanks(ranks map[int16]*mark) []int16 {
	out := make([]int16, 0, len(ranks))
	for r := range ranks {
		out = append(out, r)
	}
	slices.SortFunc(out, cmp.Compare[int16])
	return out
}

// markRow is what was first in a stretch after a look; ID is zero for nothing.
type markRow struct {
	Place   int64 // of the stretch, from 1
	Rank    int16
	ID      int64
	Now     pgtype.Timestamptz
	Horizon int64 // the highest number given out
}

// observe learns from a look at the stretches.
func (m *Marks) observe(queues []Queue, looked []stretch, rows []markRow) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ranks == nil || m.size > maxMarks {
		m.ranks, m.size = map[Queue]map[int16]*mark{}, 0
	}
	for _, r := range rows {
		m.now = max(m.now, instant(r.Now))
		l := looked[r.Place-1]
		q := queues[l.queue]
		first := key{r.Rank, history.TaskID(r.ID)}
		nothing := r.ID == 0
		// Of the rank that the stretch begins in, everything below what was found is dead.
		if m.known(q, l.from.rank) {
			low := history.TaskID(r.Horizon)
			if !nothing && first.rank == l.from.rank {
				low = first.id
			}
			m.lower(q, l.from.rank, low)
		}
		if !nothing && (first.rank != l.from.rank || !m.known(q, first.rank)) {
			m.lower(q, first.rank, first.id)
		}
	}
}

func (m *Marks) known(q Queue, rank int16) bool {
	_, ok := m.ranks[q][rank]
	return ok
}

// lower notes that nothing is queued below id now.
func (m *Marks) lower(q Queue, rank int16, id history.TaskID) {
	ranks := m.ranks[q]
	if ranks == nil {
		ranks = map[int16]*mark{}
		m.ranks[q] = ranks
	}
	k := ranks[rank]
	if k == nil {
		k = &mark{next: id, since: m.now}
		ranks[rank] = k
		m.size++
	}
	if id < k.usable {
		*k = mark{usable: id, next: id, since: m.now}
		return
	}
	k.next = min(k.next, id)
	if m.now.Sub(k.since) >= markTrail {
		*k = mark{usable: k.next, next: id, since: m.now}
	}
}

// stretchColumns are stretches as statements take them.
type stretchColumns struct {
	queues               []int32
	namespaces, versions []int32
	tasks, languages     []string
	fromRanks, lastRanks []int16
	fromIDs              []int64
}

func columnsOfStretches(queues []Queue, list []stretch) stretchColumns {
	var c stretchColumns
	for _, l := range list {
		q := queues[l.queue]
		c.queues = append(c.queues, int32(l.queue))
		c.namespaces = append(c.namespaces, int32(q.Namespace))
		c.tasks = append(c.tasks, q.Contract.Task)
		c.versions = append(c.versions, int32(q.Contract.Version))
		c.languages = append(c.languages, q.Language)
		c.fromRanks, c.fromIDs = append(c.fromRanks, l.from.rank), append(c.fromIDs, int64(l.from.id))
		c.lastRanks = append(c.lastRanks, l.last)
	}
	return c
}
