package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// A randomSpec is a cron text with second, minute, hour, day of month, month and
// day of week, and beside it what it means: in plain sets and rules that were
// made along with the text, so nothing has to be read again.
type randomSpec struct {
	fields                  [6]string
	seconds, minutes, hours values
	months                  values
	monthDays, weekDays     []func(day time.Time) bool
	anyMonthDay, anyWeekDay bool
	intersect               bool
	elastic                 bool
}

// values are those of a field.
type values [60]bool

func only(v int) values {
	var set values
	set[v] = true
	return set
}

func (s *randomSpec) text() string { return strings.Join(s.fields[:], " ") }

// on reports whether a day counts. The time is that of its midnight, in UTC.
func (s *randomSpec) on(day time.Time) bool {
	if !s.months[int(day.Month())] {
		return false
	}
	in := func(rules []func(time.Time) bool) bool {
		for _, rule := range rules {
			if rule(day) {
				return true
			}
		}
		return false
	}
	inMonth, inWeek := s.anyMonthDay || in(s.monthDays), s.anyWeekDay || in(s.weekDays)
	if s.anyMonthDay || s.anyWeekDay || s.intersect {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// matches reports whether what the clocks show at a time counts.
func (s *randomSpec) matches(wall time.Time) bool {
	return s.minutes[wall.Minute()] && s.hours[wall.Hour()] && s.seconds[wall.Second()] && s.on(midnight(wall))
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// A specSource makes random specs. What is not the same everywhere can be left
// out.
type specSource struct {
	*rand.Rand
	special  bool // L, nW, vL and v#k
	fromEnd  bool // L-n and L-nW
	lastWork bool // LW
	dayStep  bool // */n in day fields
	openStep bool // a/n
	sunday7  bool // 7 for Sunday
	near     time.Time
}

func newSpecSource(seed uint64) *specSource {
	return &specSource{Rand: rand.New(rand.NewPCG(seed, 1)), special: true, fromEnd: true, lastWork: true, dayStep: true, openStep: true, sunday7: true}
}

func (g *specSource) spec() *randomSpec {
	s := &randomSpec{}
	s.fields[0], s.seconds = g.field(0, 59, 59, 4)
	if g.IntN(3) > 0 {
		s.fields[0], s.seconds = "0", only(0)
	}
	s.fields[1], s.minutes = g.field(0, 59, 59, 2)
	s.fields[2], s.hours = g.field(0, 23, 23, 2)
	if !g.near.IsZero() && g.IntN(2) == 0 {
		// Most changes of clocks are early in the day; half of the specs are there.
		hour := (g.near.Hour() + g.IntN(4) + 22) % 24
		s.fields[2], s.hours = fmt.Sprint(hour), only(hour)
	}
	s.fields[4], s.months = g.field(1, 12, 12, 8)
	g.days(s)
	s.elastic = s.fields[1][0] == '*' || s.fields[2][0] == '*'
	return s
}

// field makes the text of a field and the set that it means. The greatest value
// is high, and last the one that * ends with; star is how often in ten it is *.
func (g *specSource) field(low, high, last, star int) (string, values) {
	var set values
	if g.IntN(10) < star {
		g.add(&set, low, high, 1)
		return "*", set
	}
	if g.IntN(5) == 0 {
		step := 2 + g.IntN((high-low+1)/2)
		g.add(&set, low, last, step)
		return fmt.Sprintf("*/%d", step), set
	}
	items := make([]string, 1+g.IntN(3))
	for i := range items {
		items[i] = g.item(&set, low, high, last)
	}
	return strings.Join(items, ","), set
}

func (g *specSource) item(set *values, low, high, last int) string {
	from := low + g.IntN(high-low+1)
	to := from + g.IntN(high-from+1)
	step := 1 + g.IntN(min(10, last-low+1))
	switch g.IntN(8) {
	case 0, 1:
		g.add(set, from, to, 1)
		return fmt.Sprintf("%d-%d", from, to)
	case 2:
		g.add(set, from, to, step)
		return fmt.Sprintf("%d-%d/%d", from, to, step)
	case 3:
		if g.openStep {
			g.add(set, from, max(from, last), step)
			return fmt.Sprintf("%d/%d", from, step)
		}
	}
	g.add(set, from, from, 1)
	return fmt.Sprint(from)
}

func (g *specSource) add(set *values, from, to, step int) {
	for v := from; v <= to; v += step {
		set[v] = true
	}
}

// days fills the two day fields.
func (g *specSource) days(s *randomSpec) {
	s.fields[3], s.anyMonthDay = "*", true
	if g.IntN(10) < 4 {
		s.fields[3], s.anyMonthDay = g.monthDays(s), false
	}
	s.fields[5], s.anyWeekDay = "*", true
	if g.IntN(10) < 4 {
		s.fields[5], s.anyWeekDay = g.weekDays(s), false
	}
}

func (g *specSource) monthDays(s *randomSpec) string {
	for g.special && g.IntN(3) == 0 {
		n := 1 + g.IntN(31)
		switch kind := g.IntN(5); {
		case kind == 0:
			s.monthDays = append(s.monthDays, func(day time.Time) bool { return day.Day() == length(day) })
			return "L"
		case kind == 1 && g.lastWork:
			s.monthDays = append(s.monthDays, func(day time.Time) bool { return day.Day() == workday(day, length(day)) })
			return "LW"
		case kind == 2:
			s.monthDays = append(s.monthDays, func(day time.Time) bool { return n <= length(day) && day.Day() == workday(day, n) })
			return fmt.Sprintf("%dW", n)
		case kind == 3 && g.fromEnd:
			n = min(n, 30)
			s.monthDays = append(s.monthDays, func(day time.Time) bool { return day.Day() == length(day)-n })
			return fmt.Sprintf("L-%d", n)
		case kind == 4 && g.fromEnd:
			n = 1 + n%20
			s.monthDays = append(s.monthDays, func(day time.Time) bool { return day.Day() == workday(day, length(day)-n) })
			return fmt.Sprintf("L-%dW", n)
		}
	}
	text, set := g.dayField(1, 31, 31)
	s.monthDays = append(s.monthDays, func(day time.Time) bool { return set[day.Day()] })
	return text
}

func (g *specSource) weekDays(s *randomSpec) string {
	if g.special && g.IntN(3) == 0 {
		w, k := g.IntN(7), 1+g.IntN(5)
		if g.IntN(2) == 0 {
			s.weekDays = append(s.weekDays, func(day time.Time) bool {
				return int(day.Weekday()) == w && day.Day()+7 > length(day)
			})
			return fmt.Sprintf("%dL", w)
		}
		s.weekDays = append(s.weekDays, func(day time.Time) bool {
			return int(day.Weekday()) == w && (day.Day()-1)/7 == k-1
		})
		return fmt.Sprintf("%d#%d", w, k)
	}
	high := 6
	if g.sunday7 {
		high = 7
	}
	text, set := g.dayField(0, high, 6)
	s.weekDays = append(s.weekDays, func(day time.Time) bool {
		return set[int(day.Weekday())] || day.Weekday() == time.Sunday && set[7]
	})
	return text
}

// dayField is a field that is no bare *, and as often as not no */n.
func (g *specSource) dayField(low, high, last int) (string, values) {
	for {
		text, set := g.field(low, high, last, 0)
		if g.dayStep || !strings.HasPrefix(text, "*") {
			return text, set
		}
	}
}

// length is how many days the month of a day has.
func length(day time.Time) int {
	return time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// workday is the weekday that is nearest to the nth day of the month of a day,
// and in that month. It looks one day earlier, one later, two earlier, two later.
func workday(day time.Time, nth int) int {
	for _, by := range []int{0, -1, 1, -2, 2} {
		at := time.Date(day.Year(), day.Month(), nth+by, 0, 0, 0, 0, time.UTC)
		if at.Month() == day.Month() && at.Weekday() != time.Saturday && at.Weekday() != time.Sunday {
			return at.Day()
		}
	}
	return 0
}
