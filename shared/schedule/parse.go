package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A parser reads the texts of a timing whose words and zone are known to be
// right, as far as the report goes.
type parser struct {
	*report
	timing Timing
	zone   zone
}

// A source is what one spec adds to a set.
type source struct {
	patterns []pattern
	strides  []stride
}

// macros are short names of cron texts in the Unix dialect.
var macros = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// spec reads one spec; what is wrong with it is reported below field.
func (p *parser) spec(field, text string) source {
	if !p.checkText(field, text) {
		return source{}
	}
	words := splitWords(text)
	switch head := words[0]; {
	case head == "every" || head == "@every":
		return p.every(field, words[1:])
	case head == "at":
		return p.at(field, words[1:])
	case strings.HasPrefix(head, "@"):
		cron, ok := macros[strings.ToLower(head)]
		if !ok || len(words) > 1 {
			p.errorf(field, CodeNoMacro, "there is no macro %.40q; there are @yearly, @monthly, @weekly, @daily, @hourly and @every", strings.Join(words, " "))
			return source{}
		}
		unix := cronParser{parser: p, field: field, dialect: Unix}
		return source{patterns: unix.read(splitWords(cron))}
	}
	cron := cronParser{parser: p, field: field, dialect: p.timing.Dialect}
	return source{patterns: cron.read(words)}
}

// exclusion reads one exclusion.
func (p *parser) exclusion(field, text string) []pattern {
	if !p.checkText(field, text) {
		return nil
	}
	words := splitWords(text)
	if day, err := time.Parse(time.DateOnly, words[0]); err == nil && len(words) == 1 {
		if !p.checkYear(field, day.Year()) {
			return nil
		}
		on := moment(day)
		on.seconds, on.minutes, on.hours = span(0, 59), span(0, 59), span(0, 23)
		return []pattern{on}
	}
	if strings.HasPrefix(words[0], "@") || words[0] == "every" || words[0] == "at" {
		p.errorf(field, CodeSyntax, "an exclusion is a cron text or a day such as 2026-12-25")
		return nil
	}
	cron := cronParser{parser: p, field: field, dialect: p.timing.Dialect, minute: true}
	return cron.read(words)
}

// checkText reports texts that are not looked at any further.
func (p *parser) checkText(field, text string) bool {
	switch {
	case len(text) > MaxSpecBytes:
		p.errorf(field, CodeTooLong, "it has %d bytes, more than %d", len(text), MaxSpecBytes)
	case len(splitWords(text)) == 0:
		p.errorf(field, CodeRequired, "it is empty")
	case strings.Contains(text, "TZ="):
		p.errorf(field, CodeZonePrefix, "a spec does not name a time zone; set the schedule's zone")
	default:
		return true
	}
	return false
}

func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' })
}

// every reads "90s" or "90s anchor 2026-01-01T00:00:00Z".
func (p *parser) every(field string, words []string) source {
	if len(words) != 1 && (len(words) != 3 || words[1] != "anchor") {
		p.errorf(field, CodeSyntax, `write "every 90s", or "every 90s anchor 2026-01-01T00:00:00Z"`)
		return source{}
	}
	period, err := parsePeriod(words[0])
	if err != nil {
		p.errorf(field, CodeSyntax, "the period is no duration: %v", err)
		return source{}
	}
	if most := int64(MaxDuration / time.Second); period < 1 || period > most {
		p.errorf(field, CodeOutOfRange, "the period is from 1s to %dd", most/daySeconds)
		return source{}
	}
	var anchor int64
	if len(words) == 3 {
		at, err := parseInstant(words[2])
		if err != nil {
			p.errorf(field, CodeSyntax, "the anchor is no instant: %v", err)
			return source{}
		}
		anchor = at
	}
	return source{strides: []stride{{anchor, period}}}
}

// units are those of a period, in seconds.
var units = map[byte]int64{'w': 7 * daySeconds, 'd': daySeconds, 'h': hourSeconds, 'm': minuteSeconds, 's': 1}

// parsePeriod reads whole numbers with units, such as 1h30m, in seconds.
func parsePeriod(text string) (int64, error) {
	var sum int64
	for rest := text; rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == 0 || digits > 9 || digits == len(rest) || units[rest[digits]] == 0 {
			return 0, fmt.Errorf("%.40q is not made of whole numbers with the units w, d, h, m and s", text)
		}
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil {
			return 0, err
		}
		if sum += n * units[rest[digits]]; sum > int64(MaxDuration/time.Second) {
			return sum, nil
		}
		rest = rest[digits+1:]
	}
	return sum, nil
}

// parseInstant reads a whole second with an offset, as seconds from 1970.
func parseInstant(text string) (int64, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Nanosecond() != 0 {
		return 0, fmt.Errorf("%.40q is not like 2026-11-01T05:30:00Z", text)
	}
	return t.Unix(), nil
}

// parseWall reads a wall time, to the minute or the second.
func parseWall(text string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil && t.Nanosecond() == 0 {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is not like 2026-11-01T01:30, nor like 2026-11-01T05:30:00Z", text)
}

// at reads an instant, or a wall time here or in another zone.
func (p *parser) at(field string, words []string) source {
	if len(words) != 1 && len(words) != 2 {
		p.errorf(field, CodeSyntax, `write "at 2026-11-01T01:30", or "at 2026-11-01T05:30:00Z"`)
		return source{}
	}
	if at, err := parseInstant(words[0]); err == nil && len(words) == 1 {
		return source{strides: []stride{{anchor: at}}}
	}
	wall, err := parseWall(words[0])
	if err != nil {
		p.errorf(field, CodeSyntax, "the time is none: %v", err)
		return source{}
	}
	if !p.checkYear(field, wall.Year()) {
		return source{}
	}
	here := source{patterns: []pattern{moment(wall)}}
	if len(words) == 1 || words[1] == p.timing.Zone {
		return here
	}
	there, err := loadZone(words[1])
	if err != nil {
		p.errorf(field, CodeUnknownZone, "%v", err)
		return source{}
	}
	// The zone and the policies decide here which instants those are.
	c := newCalendar(p.timing, there, []source{here}, nil)
	var out source
	for f := range c.instants(c.newWalk(), wall.Unix()-lookBack, wall.Unix()+2*lookBack) {
		out.strides = append(out.strides, stride{anchor: f.at})
	}
	return out
}

func (p *parser) checkYear(field string, year int) bool {
	if year < minYear || year > maxYear {
		p.errorf(field, CodeOutOfRange, "years are from %d to %d", minYear, maxYear)
		return false
	}
	return true
}

// moment is the pattern of one wall time.
func moment(wall time.Time) pattern {
	p := pattern{
		seconds: 1 << wall.Second(), minutes: 1 << wall.Minute(), hours: 1 << wall.Hour(),
		months: 1 << wall.Month(), days: dayRule{monthDays: 1 << wall.Day(), anyWD: true},
		years: &yearSet{},
	}
	p.years.add(wall.Year())
	return p
}
