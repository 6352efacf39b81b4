package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A fieldKind is one of the fields of a cron text.
type fieldKind struct {
	name      string
	min, last int      // what * means, and where a range without an end ends
	max       int      // the greatest value: Sunday may have a second one
	names     []string // three letters each; the first one is the value min
}

var (
	weekdayNames = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
	monthNames   = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}

	secondField  = fieldKind{"second", 0, 59, 59, nil}
	minuteField  = fieldKind{"minute", 0, 59, 59, nil}
	hourField    = fieldKind{"hour", 0, 23, 23, nil}
	dayField     = fieldKind{"day_of_month", 1, 31, 31, nil}
	monthField   = fieldKind{"month", 1, 12, 12, monthNames}
	weekdayField = fieldKind{"day_of_week", 0, 6, 7, weekdayNames}
	quartzField  = fieldKind{"day_of_week", 1, 7, 7, weekdayNames}
	yearField    = fieldKind{"year", minYear, maxYear, maxYear, nil}
)

// A cronParser reads one cron text.
type cronParser struct {
	*parser
	field   string // of the whole text
	dialect Dialect
	minute  bool // without a second field, all seconds count and not only the first
}

// read gives the pattern of the fields, or nothing where a problem is reported.
func (c *cronParser) read(fields []string) []pattern {
	before := len(c.problems)
	texts, ok := c.arrange(fields)
	if !ok {
		return nil
	}
	p := pattern{
		seconds: c.mask(&secondField, texts[0]),
		minutes: c.mask(&minuteField, texts[1]),
		hours:   c.mask(&hourField, texts[2]),
		months:  c.mask(&monthField, texts[4]),
		elastic: strings.HasPrefix(texts[1], "*") || strings.HasPrefix(texts[2], "*"),
	}
	p.days = c.dayFields(texts[3], texts[5])
	if texts[6] != "" && texts[6] != "*" {
		p.years = &yearSet{}
		for _, r := range c.ranges(&yearField, texts[6], nil) {
			for year := r.from; year <= r.to; year += r.step {
				p.years.add(year)
			}
		}
	}
	if len(c.problems) > before || !c.checkPossible(&p, texts) {
		return nil
	}
	return []pattern{p}
}

// arrange puts the fields in the places of the longest dialect.
func (c *cronParser) arrange(fields []string) (texts [7]string, ok bool) {
	texts[0] = "0"
	if c.minute {
		texts[0] = "*"
	}
	n := len(fields)
	switch c.dialect {
	case Unix:
		ok = n == 5
	case Seconds:
		ok = n == 6
	case Year:
		ok = n == 7
	case Quartz:
		ok = n == 6 || n == 7
	case Vixie:
		ok = n == 5 || n == 6
	}
	if !ok {
		c.errorf(c.field, CodeFieldCount, "the dialect %s has %s, this text has %d%s", c.dialect, dialectFields[c.dialect], n, readings(c.dialect, fields))
		return texts, false
	}
	if n == 5 {
		copy(texts[1:], fields)
	} else {
		copy(texts[:], fields)
	}
	return texts, true
}

var dialectFields = map[Dialect]string{
	Unix:    "5 fields: minute, hour, day of month, month, day of week",
	Seconds: "6 fields: second, minute, hour, day of month, month, day of week",
	Year:    "7 fields: second, minute, hour, day of month, month, day of week, year",
	Quartz:  "6 or 7 fields: second, minute, hour, day of month, month, day of week, and a year or none",
	Vixie:   "5 or 6 fields: a second or none, minute, hour, day of month, month, day of week",
}

// readings shows how a text of another length can be meant.
func readings(d Dialect, f []string) string {
	const five = "minute %s, hour %s, day of month %s, month %s, day of week %s"
	values := make([]any, len(f))
	for i, text := range f {
		if !isASCII(text) {
			return ""
		}
		values[i] = fmt.Sprintf("%.20q", text)
	}
	switch {
	case d == Unix && len(f) == 6:
		return fmt.Sprintf("; in the dialect seconds it is second %s, "+five, values...) +
			fmt.Sprintf("; with a year at its end, which takes the dialect year and a second in front, it is "+five+", year %s", values...)
	case (d == Unix || d == Seconds) && len(f) == 7:
		return fmt.Sprintf("; in the dialect year it is second %s, "+five+", year %s", values...)
	case len(f) == 5:
		return fmt.Sprintf("; in the dialect unix it is "+five, values...)
	}
	return ""
}

// checkPossible reports fields that never meet on one day.
func (c *cronParser) checkPossible(p *pattern, texts [7]string) bool {
	if p.possible() {
		return true
	}
	other, text := "month", texts[4]
	alone := *p
	if alone.days.anyWD = true; alone.possible() {
		other, text = "day_of_week", texts[5]
	}
	c.errorf(c.field+".day_of_month", CodeImpossibleDate, "day_of_month %.40q and %s %.40q have no day in common, in any year", texts[3], other, text)
	return false
}

// valueRange is from, from+step and so on up to to.
type valueRange struct{ from, to, step int }

// mask reads a field whose values are bits.
func (c *cronParser) mask(f *fieldKind, text string) uint64 {
	return maskOf(c.ranges(f, text, nil))
}

func maskOf(ranges []valueRange) uint64 {
	var mask uint64
	for _, r := range ranges {
		for v := r.from; v <= r.to; v += r.step {
			mask |= 1 << v
		}
	}
	return mask
}

// ranges reads the items of a field; special takes those that it knows.
func (c *cronParser) ranges(f *fieldKind, text string, special func(item string) bool) []valueRange {
	var out []valueRange
	for item := range strings.SplitSeq(upper(text), ",") {
		if item == "" {
			c.fault(f, CodeEmptyItem, "there is an empty item in %.40q", text)
			continue
		}
		if special != nil && special(item) {
			continue
		}
		if r, ok := c.item(f, item); ok {
			out = append(out, r)
		}
	}
	return out
}

// item reads *, a value, a range, and a step behind any of them.
func (c *cronParser) item(f *fieldKind, item string) (valueRange, bool) {
	base, stepText, stepped := strings.Cut(item, "/")
	r := valueRange{f.min, f.last, 1}
	if base != "*" {
		var ok bool
		if r, ok = c.base(f, item, base, stepped); !ok {
			return r, false
		}
	}
	if !stepped {
		return r, true
	}
	step, ok := c.number(f, item, stepText)
	if !ok {
		return r, false
	}
	if most := f.last - f.min + 1; step < 1 || step > most {
		c.fault(f, CodeStep, "the step of %.40q is not from 1 to %d", item, most)
		return r, false
	}
	r.step = step
	return r, true
}

// base reads a value or a range. A value with a step behind it goes on to the
// last one of the field.
func (c *cronParser) base(f *fieldKind, item, base string, stepped bool) (valueRange, bool) {
	lowText, highText, ranged := strings.Cut(base, "-")
	low, ok := c.value(f, item, lowText)
	if !ok {
		return valueRange{}, false
	}
	r := valueRange{low, low, 1}
	switch {
	case ranged:
		if r.to, ok = c.value(f, item, highText); !ok {
			return r, false
		}
		if r.to < r.from && highText == "SUN" {
			r.to += 7 // Sunday begins a week, and ends one as well
		}
	case stepped:
		r.to = max(r.from, f.last)
	}
	if r.to < r.from {
		c.fault(f, CodeReversedRange, "the range %.40q ends before it begins", base)
		return r, false
	}
	return r, true
}

// value reads a number or a name of a field; item is what it stands in.
func (c *cronParser) value(f *fieldKind, item, text string) (int, bool) {
	if i := slices.Index(f.names, text); i >= 0 {
		return f.min + i, true
	}
	for _, name := range f.names {
		if len(text) > 3 && strings.HasPrefix(text, name) && strings.Trim(text, letters) == "" {
			c.fault(f, CodeLongName, "names have three letters: write %s for %.20q", name, text)
			return 0, false
		}
	}
	v, ok := c.number(f, item, text)
	if ok && (v < f.min || v > f.max) {
		c.fault(f, CodeOutOfRange, "values are from %d to %d, not %d", f.min, f.max, v)
		return 0, false
	}
	return v, ok
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// number reads ASCII digits.
func (c *cronParser) number(f *fieldKind, item, text string) (int, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		c.fault(f, CodeSyntax, "%.40q is no value, range or step%s", item, hint(item))
		return 0, false
	}
	if digits := strings.TrimLeft(text, "0"); len(digits) > 4 {
		c.fault(f, CodeOutOfRange, "the number %.20s is too large", digits)
		return 0, false
	}
	v, err := strconv.Atoi(text)
	return v, err == nil
}

// hint says what may have been meant by an item that cannot be read.
func hint(item string) string {
	switch {
	case strings.ContainsAny(item, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"):
		return "; a range is written with the ASCII character -"
	case strings.Contains(item, "?"):
		return "; ? stands alone, in a day field"
	case !isASCII(item):
		return "; it has characters that are not ASCII"
	}
	return ""
}

// upper changes ASCII letters only: others must not turn into them.
func upper(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, text)
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

func (c *cronParser) fault(f *fieldKind, code, format string, args ...any) {
	c.errorf(c.field+"."+f.name, code, format, args...)
}
