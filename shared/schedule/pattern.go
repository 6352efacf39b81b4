package schedule

import "math/bits"

// A pattern is one cron text: a set of wall times, kept as bit masks.
type pattern struct {
	seconds uint64 // bits 0 to 59
	minutes uint64 // bits 0 to 59
	hours   uint64 // bits 0 to 23
	months  uint64 // bits 1 to 12
	days    dayRule
	// years is nil where every year counts.
	years *yearSet
	// elastic is a pattern whose minute or hour field begins with *: it is
	// about real time, so a change of the clock neither shifts nor holds back
	// any of its instants.
	elastic bool
}

// The years that a year field can name.
const (
	minYear = 1970
	maxYear = 2199
)

type yearSet [4]uint64

func (s *yearSet) add(year int)      { s[(year-minYear)/64] |= 1 << ((year - minYear) % 64) }
func (s *yearSet) has(year int) bool { return s[(year-minYear)/64]>>((year-minYear)%64)&1 != 0 }

// A dayRule is the two day fields: which days of a month count.
type dayRule struct {
	monthDays     uint64   // bits 1 to 31: day of the month
	fromEnd       uint64   // bit n: L-n, n days before the last one
	workdays      uint64   // bit d: dW, the weekday nearest to day d in its month
	fromEndWork   uint64   // bit n: L-nW, LW being bit 0
	weekdays      uint64   // bits 0 to 6, Sunday first
	nth           [7]uint8 // of each weekday, bit k: its kth in the month
	lastWeekdays  uint64   // bits 0 to 6: the last such weekday in the month
	intersect     bool     // a day must be in both fields, else in one of them
	anyDay, anyWD bool     // the field is * or ?
}

// in gives the days of a month that the pattern has: bits 1 to 31.
func (p *pattern) in(year, month int) uint64 {
	if p.months>>month&1 == 0 {
		return 0
	}
	if p.years != nil && (year < minYear || year > maxYear || !p.years.has(year)) {
		return 0
	}
	first := weekdayOf(dayNumber(year, month, 1))
	return p.days.in(daysIn(year, month), first)
}

// in gives the days of a month of n days that begins on weekday first.
func (r *dayRule) in(n, first int) uint64 {
	all := span(1, n)
	switch {
	case r.anyDay && r.anyWD:
		return all
	case r.anyDay:
		return r.byWeekday(n, first)
	case r.anyWD:
		return r.byDay(n, first)
	case r.intersect:
		return r.byDay(n, first) & r.byWeekday(n, first)
	}
	return r.byDay(n, first) | r.byWeekday(n, first)
}

func (r *dayRule) byDay(n, first int) uint64 {
	found := r.monthDays & span(1, n)
	for m := r.fromEnd & span(0, n-1); m != 0; m &= m - 1 {
		found |= 1 << (n - bits.TrailingZeros64(m))
	}
	for m := r.workdays & span(1, n); m != 0; m &= m - 1 {
		found |= 1 << nearestWorkday(bits.TrailingZeros64(m), n, first)
	}
	for m := r.fromEndWork & span(0, n-1); m != 0; m &= m - 1 {
		found |= 1 << nearestWorkday(n-bits.TrailingZeros64(m), n, first)
	}
	return found
}

// nearestWorkday is the day from Monday to Friday that is nearest to day d of
// a month of n days that begins on weekday first. It never leaves the month.
func nearestWorkday(d, n, first int) int {
	switch (first + d - 1) % 7 {
	case 6: // Saturday
		if d == 1 {
			return 3
		}
		return d - 1
	case 0: // Sunday
		if d == n {
			return d - 2
		}
		return d + 1
	}
	return d
}

func (r *dayRule) byWeekday(n, first int) uint64 {
	const everyWeek = 1<<1 | 1<<8 | 1<<15 | 1<<22 | 1<<29
	var found uint64
	for w := range 7 {
		to := (w - first + 7) % 7 // from day 1 to the first such weekday
		days := uint64(everyWeek) << to & span(1, n)
		if r.weekdays>>w&1 != 0 {
			found |= days
		}
		if r.lastWeekdays>>w&1 != 0 {
			found |= 1 << last(days)
		}
		for k := uint8(r.nth[w]); k != 0; k &= k - 1 {
			found |= days & (1 << (1 + to + 7*(bits.TrailingZeros8(k)-1)))
		}
	}
	return found
}

// possible reports whether the pattern has a day in any year of the calendar's
// cycle. It looks at every month of the cycle, so a 'no' is a proof.
func (p *pattern) possible() bool {
	for year := 2000; year < 2000+cycleYears; year++ {
		for m := p.months; m != 0; m &= m - 1 {
			month := bits.TrailingZeros64(m)
			if p.days.in(daysIn(year, month), weekdayOf(dayNumber(year, month, 1))) != 0 {
				return true
			}
		}
	}
	return false
}

// at reports whether the pattern has the minute of the day at all, apart from
// the day itself.
func (p *pattern) at(hour, minute int) bool {
	return p.hours>>hour&1 != 0 && p.minutes>>minute&1 != 0
}

// A stride is a set of instants at even distances in real time, through an
// anchor and without end in both directions. With the period 0 it is the anchor
// alone. All are seconds from 1970-01-01T00:00:00Z.
type stride struct{ anchor, period int64 }

// next is the first instant of the stride that is not before at.
func (s stride) next(at int64) (int64, bool) {
	if s.period == 0 {
		return s.anchor, s.anchor >= at
	}
	return at + floorMod(s.anchor-at, s.period), true
}

// within gives the seconds of the minute that begins at the instant at.
func (s stride) within(at int64) uint64 {
	first, ok := s.next(at)
	first -= at
	if !ok || first >= minuteSeconds {
		return 0
	}
	if s.period == 0 || s.period >= minuteSeconds {
		return 1 << first
	}
	var found uint64
	for at := first; at < minuteSeconds; at += s.period {
		found |= 1 << at
	}
	return found
}
