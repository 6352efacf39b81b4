package schedule

import (
	"iter"
	"math"
	"math/bits"
	"time"
)

// A Calendar says when: it is a set of instants, each a whole second. It is
// never changed, and safe for concurrent use.
//
// Time is cut where the zone changes its offset. Inside a piece the offset is
// constant, and wall time is as simple as UTC: what the specs say less what the
// exclusions say is a plane of bit masks. At a border the two policies apply:
//
//	         gap                                repeat
//	wall  01:59:59 | 03:00:00           01:59:59 | 01:00:00
//	      ---------+---------           ---------+---------
//	               ^                             ^^^^^^^^^^
//	  shift: once here, where a           first: elastic specs only,
//	  fixed spec has any wall time        until the wall passes 02:00
//	  from 02:00:00 to 02:59:59           both: as everywhere else
//	  skip: nothing
//
// An instant is excluded by what the wall shows then; one that was shifted also
// by the wall time that it stands for.
type Calendar struct {
	set    *set
	zone   zone
	shift  bool // the policy for gaps, else they are skipped
	both   bool // the policy for repeats, else the first showing counts
	start  int64
	end    int64 // not included
	budget int   // steps of one search
}

// A segment is a stretch of instants [from, to) that is read on one plane.
type segment struct {
	from, to int64
	plane    plane
	// left is a gap before the segment that shifts an instant to from: wall times
	// [left, left+length).
	left, length int64
}

// segments cuts [from, to) at the changes of the zone, in order, and leaves out
// long stretches in which nothing is.
func (c *Calendar) segments(w *walk, from, to int64) iter.Seq[segment] {
	return func(yield func(segment) bool) {
		from, to := max(from, c.start), min(to, c.end)
		for {
			var ok bool
			if from, ok = c.ahead(w, from, to); !ok || w.spent {
				return
			}
			p := c.zone.at(from)
			p.to = min(p.to, to)
			for s := range c.cut(p) {
				if !yield(s) {
					return
				}
			}
			from = p.to
		}
	}
}

// ahead is an instant in [from, to) before which nothing is, a cheap guess that
// may be early.
func (c *Calendar) ahead(w *walk, from, to int64) (int64, bool) {
	if from >= to {
		return 0, false
	}
	// Offsets are less than lookBack: what the plane without an offset does not
	// have until wall, no zone has until lookBack before it.
	wall, ok := w.next(plane{patterns: c.set.all}, from-lookBack, to+lookBack)
	at := max(from, wall-lookBack)
	for _, s := range c.set.strides {
		if next, is := s.next(from); is && (!ok || next < at) {
			at, ok = next, true
		}
	}
	return at, ok && at < to
}

// cut applies the policies to a piece.
func (c *Calendar) cut(p piece) iter.Seq[segment] {
	return func(yield func(segment) bool) {
		s := segment{from: p.from, to: p.to, plane: plane{p.offset, c.set.all, true}}
		if left, right, ok := p.gap(); ok && c.shift && p.change == p.from {
			s.left, s.length = left, right-left
		}
		if _, to, ok := p.repeat(); ok && !c.both && p.from < to {
			again := s
			again.to, again.plane.patterns = min(to, p.to), c.set.elastic
			if !yield(again) {
				return
			}
			s.from = again.to
		}
		if s.from < s.to {
			yield(s)
		}
	}
}

// lead is the first wall time of a gap that is shifted to the beginning of a
// segment. There is none where the plane has an instant there anyway.
func (c *Calendar) lead(w *walk, s segment) (wall int64, ok bool) {
	begin := s.from + s.plane.offset
	if s.length == 0 || w.excluded(begin) {
		return 0, false
	}
	if _, taken := w.next(s.plane, begin, begin+1); taken {
		return 0, false
	}
	gap := plane{s.plane.offset, c.set.all &^ c.set.elastic, false}
	return w.next(gap, s.left, s.left+s.length)
}

// found is one instant; wall is the wall time that it stands for.
type found struct {
	at, wall int64
	shifted  bool
}

// instants gives the instants in [from, to), ascending.
func (c *Calendar) instants(w *walk, from, to int64) iter.Seq[found] {
	return func(yield func(found) bool) {
		for s := range c.segments(w, from, to) {
			if wall, ok := c.lead(w, s); ok && !yield(found{s.from, wall, true}) {
				return
			}
			offset := s.plane.offset
			for d := range w.each(s.plane, s.from+offset, s.to+offset) {
				if w.barren(d) {
					continue
				}
				for minute, seconds := range w.minutes(d, s.from+offset, s.to+offset) {
					for ; seconds != 0; seconds &= seconds - 1 {
						wall := minute + int64(bits.TrailingZeros64(seconds))
						if !yield(found{wall - offset, wall, false}) {
							return
						}
					}
				}
			}
		}
	}
}

// first is the first instant in [from, to).
func (c *Calendar) first(w *walk, from, to int64) (int64, bool) {
	for f := range c.instants(w, from, to) {
		return f.at, true
	}
	return 0, false
}

// last is the last instant in [from, to). It halves the stretch in which there
// may be a later one, so it costs at most 64 searches, however many instants
// there are.
func (c *Calendar) last(w *walk, from, to int64) (int64, bool) {
	at, ok := c.first(w, from, to)
	if !ok {
		return 0, false
	}
	for low, high := at+1, to; low < high; {
		middle := low + (high-low)/2
		if later, ok := c.first(w, middle, high); ok {
			at, low = later, later+1
		} else {
			high = middle
		}
	}
	return at, true
}

// count is how many instants are in [from, to). It costs a step per day at the
// most where days are alike, and 1,464 per day where they are not.
func (c *Calendar) count(w *walk, from, to int64) int64 {
	var n int64
	for s := range c.segments(w, from, to) {
		if _, ok := c.lead(w, s); ok {
			n++
		}
		n += w.count(s.plane, s.from+s.plane.offset, s.to+s.plane.offset)
	}
	return n
}

// regular is when the last zone has left its irregular past: from then on every
// zone follows one yearly rule, so time has the period of the calendar.
const regular = 4102444800 // 2100-01-01T00:00:00Z

// horizon is a proof's end: what has no instant from an instant up to there has
// none at all.
func horizon(from int64) int64 { return max(from, regular) + (cycleDays+1)*daySeconds }

// newWalk begins a read of the calendar.
func (c *Calendar) newWalk() *walk { return newWalk(c.set, c.budget) }

// Next is the first instant after an instant. There is none where the calendar
// is over.
func (c *Calendar) Next(after time.Time) (time.Time, bool) {
	from := after.Unix() + 1
	at, ok := c.first(c.newWalk(), from, horizon(from))
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(at, 0).UTC(), true
}

// Instants gives the instants from an instant, included, up to another, not
// included, ascending. It gives all of them, however long that takes: up to
// 1,464 steps a day.
func (c *Calendar) Instants(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for f := range c.instants(newWalk(c.set, math.MaxInt), ceil(from), ceil(to)) {
			if !yield(time.Unix(f.at, 0).UTC()) {
				return
			}
		}
	}
}

// Count is how many instants there are from an instant, included, up to
// another, not included. It counts all of them, as Instants gives them.
func (c *Calendar) Count(from, to time.Time) int64 {
	return c.count(newWalk(c.set, math.MaxInt), ceil(from), ceil(to))
}

// ceil is the first whole second that is not before t.
func ceil(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
