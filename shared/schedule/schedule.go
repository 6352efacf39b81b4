package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// A Schedule is a calendar with the policies that the planner needs. It is never
// changed, and safe for concurrent use.
type Schedule struct {
	*Calendar
	// Offset is how much later than its instant an occurrence is due. It depends
	// on the schedule's id and the jitter alone.
	Offset time.Duration

	limit         int64
	misfire       Misfire
	startDeadline time.Duration
}

// New makes the schedule of a definition that was accepted before. It does not
// ask whether there is a future instant: a schedule that is over is one still.
// The error is Problems.
func New(id string, d Definition) (*Schedule, error) {
	s, _, r := build(id, d)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return s, nil
}

// Check is what an author is answered: the schedule, or all problems together as
// a Problems error; and what is dubious. An instant is in the future if it is
// after now.
func Check(id string, d Definition, now time.Time) (*Schedule, Problems, error) {
	s, sources, r := build(id, d)
	if len(r.problems) == 0 {
		r.future(s.Calendar, d, sources, now)
	}
	if len(r.problems) > 0 {
		return nil, r.warnings, r.problems
	}
	return s, r.warnings, nil
}

// searchBudget bounds the steps of a search for the next instant. A proof over
// 400 years takes less than a quarter of it; what may take more is an interval
// in real time that exclusions meet again and again.
const searchBudget = 2_000_000

// build reads a definition.
func build(id string, d Definition) (*Schedule, []source, *report) {
	d = d.withDefaults()
	p := &parser{report: &report{}, timing: d.Timing}
	p.words()
	p.policies(d)
	if len(d.Specs) == 0 {
		p.errorf("specs", CodeRequired, "there is no spec")
	}
	sources := make([]source, 0, MaxSpecs)
	for i, text := range p.bounded("specs", d.Specs, MaxSpecs) {
		sources = append(sources, p.spec(fmt.Sprintf("specs[%d]", i), text))
	}
	var exclusions []pattern
	for i, text := range p.bounded("exclude", d.Exclude, MaxExclusions) {
		exclusions = append(exclusions, p.exclusion(fmt.Sprintf("exclude[%d]", i), text)...)
	}
	if len(p.problems) > 0 {
		return nil, nil, p.report
	}
	s := &Schedule{
		Calendar: newCalendar(d.Timing, p.zone, sources, exclusions), Offset: offset(id, d.Jitter),
		limit: d.Limit, misfire: d.Misfire, startDeadline: d.StartDeadline,
	}
	return s, sources, p.report
}

func newCalendar(t Timing, z zone, sources []source, exclusions []pattern) *Calendar {
	c := &Calendar{
		set: &set{exclusions: exclusions}, zone: z,
		shift: t.Gap == GapShift, both: t.Repeat == RepeatBoth,
		start: math.MinInt64, end: math.MaxInt64, budget: searchBudget,
	}
	if !t.Start.IsZero() {
		c.start = ceil(t.Start)
	}
	if !t.End.IsZero() {
		c.end = ceil(t.End)
	}
	for _, s := range sources {
		c.set.patterns = append(c.set.patterns, s.patterns...)
		c.set.strides = append(c.set.strides, s.strides...)
	}
	for i, p := range c.set.patterns {
		c.set.all |= 1 << i
		if p.elastic {
			c.set.elastic |= 1 << i
		}
	}
	return c
}

// words checks the fields that take a word of a list, and finds the zone.
func (p *parser) words() {
	oneOf(p.report, "dialect", &p.timing.Dialect, Unix, Seconds, Year, Quartz, Vixie)
	oneOf(p.report, "day_match", &p.timing.DayMatch, DayOr, DayAnd)
	oneOf(p.report, "gap", &p.timing.Gap, GapShift, GapSkip)
	oneOf(p.report, "repeat", &p.timing.Repeat, RepeatFirst, RepeatBoth)
	var err error
	if p.zone, err = loadZone(p.timing.Zone); err != nil {
		p.errorf("zone", CodeUnknownZone, "%v", err)
		p.zone = utcZone
	}
}

// oneOf reports a word that is unknown, and goes on with the first one.
func oneOf[T ~string](r *report, field string, word *T, known ...T) {
	if !slices.Contains(known, *word) {
		r.errorf(field, CodeUnknown, "%.40q is none of %q", *word, known)
		*word = known[0]
	}
}

// policies checks what has nothing to do with the calendar.
func (p *parser) policies(d Definition) {
	oneOf(p.report, "misfire.policy", &d.Misfire.Policy, MisfireNone, MisfireLatest, MisfireAll)
	if d.Misfire.Max < 1 || d.Misfire.Max > MaxCatchUp {
		p.errorf("misfire.max", CodeOutOfRange, "it is from 1 to %d", MaxCatchUp)
	}
	p.duration("misfire.window", d.Misfire.Window, MaxDuration)
	p.duration("misfire.grace", d.Misfire.Grace, MaxGrace)
	p.duration("jitter", d.Jitter, MaxJitter)
	p.duration("start_deadline", d.StartDeadline, MaxDuration)
	if d.Limit < 0 {
		p.errorf("limit", CodeOutOfRange, "it is not negative")
	}
	if !d.Start.IsZero() && !d.End.IsZero() && !d.Start.Before(d.End) {
		p.errorf("end", CodeOutOfRange, "it is not after start")
	}
}

func (p *parser) duration(field string, d, most time.Duration) {
	if d < 0 || d > most || d%time.Millisecond != 0 {
		p.errorf(field, CodeOutOfRange, "it is from 0 to %v, in whole milliseconds", most)
	}
}

// bounded reports a list that is too long, and gives what may be looked at.
func (r *report) bounded(field string, list []string, most int) []string {
	if len(list) > most {
		r.errorf(field, CodeTooMany, "it has %d items, more than %d", len(list), most)
		return list[:most]
	}
	return list
}

// future reports specs that have no instant after now, and exclusions that leave
// none.
func (r *report) future(c *Calendar, d Definition, sources []source, now time.Time) {
	d = d.withDefaults()
	for i := range sources {
		alone := newCalendar(d.Timing, c.zone, sources[i:i+1], nil)
		if _, ok := alone.Next(now); !ok {
			r.errorf(fmt.Sprintf("specs[%d]", i), CodeNoFuture, "%.80q has no instant after %s%s",
				d.Specs[i], now.UTC().Format(time.RFC3339Nano), bounds(d.Timing))
		}
	}
	if len(r.problems) > 0 || len(d.Exclude) == 0 {
		return
	}
	w, from := c.newWalk(), now.Unix()+1
	if _, ok := c.first(w, from, horizon(from)); ok {
		return
	}
	upTo := ""
	if w.spent {
		upTo = " up to " + time.Unix(w.reached, 0).UTC().Format(time.DateOnly) + ", which is as far as the search goes"
	}
	r.errorf("exclude", CodeExcludesAll, "no instant after %s is left%s", now.UTC().Format(time.RFC3339Nano), upTo)
}

// bounds tells of start and end in a message.
func bounds(t Timing) string {
	text := ""
	if !t.Start.IsZero() {
		text += ", from " + t.Start.UTC().Format(time.RFC3339)
	}
	if !t.End.IsZero() {
		text += ", before " + t.End.UTC().Format(time.RFC3339)
	}
	return text
}

// offset draws the schedule's own offset from its id: the same on every node and
// after every restart.
func offset(id string, jitter time.Duration) time.Duration {
	if jitter < time.Millisecond {
		return 0
	}
	sum := sha256.Sum256([]byte(id))
	n := binary.BigEndian.Uint64(sum[:]) % uint64(jitter/time.Millisecond)
	return time.Duration(n) * time.Millisecond
}
