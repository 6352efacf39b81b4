package schedule

import (
	"iter"
	"math/bits"
)

// A set is what the specs of a schedule say, less its exclusions, in wall time
// of a constant offset. It is never changed once it is made.
type set struct {
	patterns   []pattern
	strides    []stride
	exclusions []pattern
	// all and elastic choose patterns: bit i is patterns[i].
	all, elastic uint64
}

// A plane is the set as one constant offset from UTC shows it. All times on it
// are wall times.
type plane struct {
	offset   int64  // seconds to add to an instant
	patterns uint64 // those that count; exclusions always do
	strides  bool   // whether strides count
}

// A walk reads a set. It counts its steps, and with a budget it ends early
// rather than late. It is for one goroutine.
type walk struct {
	*set
	// steps counts the months, days, hours and minutes that were looked at.
	steps int
	// budget is how many steps there may be; then spent is true, and reached is
	// the wall time up to which nothing was overlooked.
	budget  int
	spent   bool
	reached int64

	// The month that was looked at last: its first day and the one after it, and
	// the days of every pattern and exclusion.
	from, to int64
	days     []uint64
	// counts are the sizes of whole days without strides.
	counts map[dayKind]int64
}

func newWalk(s *set, budget int) *walk {
	return &walk{
		set: s, budget: budget,
		days:   make([]uint64, len(s.patterns)+len(s.exclusions)),
		counts: map[dayKind]int64{},
	}
}

// A day is one day of a plane with what counts on it.
type day struct {
	dayKind
	start  int64 // its midnight
	offset int64
}

// dayKind tells days with the same times apart from others.
type dayKind struct {
	patterns   uint64
	exclusions uint64
	strides    bool
}

func (w *walk) step() bool {
	w.steps++
	w.spent = w.spent || w.steps > w.budget
	return !w.spent
}

// load makes the month with the day number the current one.
func (w *walk) load(number int64) {
	if w.from <= number && number < w.to {
		return
	}
	w.steps++
	year, month, dom := dateOf(number)
	w.from = number - int64(dom) + 1
	w.to = w.from + int64(daysIn(year, month))
	for i := range w.patterns {
		w.days[i] = w.patterns[i].in(year, month)
	}
	for i := range w.exclusions {
		w.days[len(w.patterns)+i] = w.exclusions[i].in(year, month)
	}
}

// each gives the days of the plane from the wall time from up to, not
// including, the wall time to, without those on which nothing can be.
func (w *walk) each(p plane, from, to int64) iter.Seq[day] {
	return func(yield func(day) bool) {
		for number := floorDiv(from, daySeconds); number*daySeconds < to; {
			w.load(number)
			union := w.union(p.patterns) >> (number - w.from + 1)
			if p.strides {
				union |= w.strideDays(p, number)
			}
			if union == 0 {
				number = w.to
				continue
			}
			number += int64(bits.TrailingZeros64(union))
			if !w.step() {
				return
			}
			d := w.day(p, number)
			w.reached = d.start
			if d.start < to && !yield(d) {
				return
			}
			number++
		}
	}
}

func (w *walk) union(patterns uint64) uint64 {
	var union uint64
	for m := patterns; m != 0; m &= m - 1 {
		union |= w.days[bits.TrailingZeros64(m)]
	}
	return union
}

// strideDays has the bit n for the day that is n days after number and the
// first one on which a stride is, where the current month has it.
func (w *walk) strideDays(p plane, number int64) uint64 {
	var found uint64
	for _, s := range w.strides {
		if at, ok := s.next(number*daySeconds - p.offset); ok {
			if n := floorDiv(at+p.offset, daySeconds) - number; n < w.to-number {
				found |= 1 << n
			}
		}
	}
	return found
}

// day tells what counts on a day of the current month.
func (w *walk) day(p plane, number int64) day {
	bit := number - w.from + 1
	d := day{start: number * daySeconds, offset: p.offset}
	d.strides = p.strides && w.strideDays(p, number)&1 != 0
	for m := p.patterns; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		d.patterns |= w.days[i] >> bit & 1 << i
	}
	for i := range w.exclusions {
		d.exclusions |= w.days[len(w.patterns)+i] >> bit & 1 << i
	}
	return d
}

// minutes gives the minutes of a day between two wall times, the second one not
// included, on which something is: when they begin, and the seconds as bits.
func (w *walk) minutes(d day, from, to int64) iter.Seq2[int64, uint64] {
	return func(yield func(int64, uint64) bool) {
		from, to := max(from, d.start), min(to, d.start+daySeconds)
		for at := from - floorMod(from, minuteSeconds); at < to; {
			if w.steps++; !w.inHour(d, at) {
				at += hourSeconds - floorMod(at, hourSeconds)
				continue
			}
			for next := min(to, at+hourSeconds-floorMod(at, hourSeconds)); at < next; at += minuteSeconds {
				w.steps++
				found := w.at(d, at)
				if at < from {
					found &^= span(0, int(from-at)-1)
				}
				if at+minuteSeconds > to {
					found &= span(0, int(to-at)-1)
				}
				if found != 0 && !yield(at, found) {
					return
				}
			}
		}
	}
}

// inHour reports whether anything can be in the hour of a wall time.
func (w *walk) inHour(d day, at int64) bool {
	hour := (at - d.start) / hourSeconds
	for m := d.patterns; m != 0; m &= m - 1 {
		if w.patterns[bits.TrailingZeros64(m)].hours>>hour&1 != 0 {
			return true
		}
	}
	if d.strides {
		begin := d.start + hour*hourSeconds - d.offset
		for _, s := range w.strides {
			if next, ok := s.next(begin); ok && next < begin+hourSeconds {
				return true
			}
		}
	}
	return false
}

// at gives the seconds of the minute that begins at a wall time of the day.
func (w *walk) at(d day, at int64) uint64 {
	hour, minute := int(at-d.start)/hourSeconds, int(at-d.start)/minuteSeconds%60
	var found uint64
	for m := d.patterns; m != 0; m &= m - 1 {
		if p := &w.patterns[bits.TrailingZeros64(m)]; p.at(hour, minute) {
			found |= p.seconds
		}
	}
	if d.strides {
		for _, s := range w.strides {
			found |= s.within(at - d.offset)
		}
	}
	for m := d.exclusions; m != 0; m &= m - 1 {
		if p := &w.exclusions[bits.TrailingZeros64(m)]; p.at(hour, minute) {
			found &^= p.seconds
		}
	}
	return found
}

// next is the first wall time of the plane in [from, to).
func (w *walk) next(p plane, from, to int64) (int64, bool) {
	for d := range w.each(p, from, to) {
		if w.barren(d) {
			continue
		}
		for at, seconds := range w.minutes(d, from, to) {
			return at + int64(bits.TrailingZeros64(seconds)), true
		}
	}
	return 0, false
}

// barren reports whether exclusions leave nothing of the day. Days of one kind
// are looked into once.
func (w *walk) barren(d day) bool {
	return d.exclusions != 0 && !d.strides && w.whole(d) == 0
}

// count is how many wall times of the plane are in [from, to).
func (w *walk) count(p plane, from, to int64) int64 {
	var n int64
	for d := range w.each(p, from, to) {
		if from <= d.start && d.start+daySeconds <= to {
			n += w.whole(d)
		} else {
			n += w.part(d, from, to)
		}
	}
	return n
}

// whole is how many wall times a day has.
func (w *walk) whole(d day) int64 {
	n, known := w.counts[d.dayKind]
	if known && !d.strides {
		return n
	}
	n = w.part(d, d.start, d.start+daySeconds)
	if !d.strides {
		w.counts[d.dayKind] = n
	}
	return n
}

func (w *walk) part(d day, from, to int64) int64 {
	var n int64
	for _, seconds := range w.minutes(d, from, to) {
		n += int64(bits.OnesCount64(seconds))
	}
	return n
}

// excluded reports whether an exclusion covers a wall time.
func (w *walk) excluded(at int64) bool {
	number := floorDiv(at, daySeconds)
	w.load(number)
	hour, minute := int(floorMod(at, daySeconds))/hourSeconds, int(floorMod(at, hourSeconds))/minuteSeconds
	for i := range w.exclusions {
		e := &w.exclusions[i]
		if w.days[len(w.patterns)+i]>>(number-w.from+1)&1 != 0 && e.at(hour, minute) && e.seconds>>floorMod(at, minuteSeconds)&1 != 0 {
			return true
		}
	}
	return false
}
