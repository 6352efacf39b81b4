package schedule

import "strings"

// dayFields reads the two day fields of a cron text.
func (c *cronParser) dayFields(dayText, weekdayText string) dayRule {
	weekday := &weekdayField
	if c.dialect == Quartz {
		weekday = &quartzField
	}
	rule := dayRule{
		anyDay:    dayText == "*" || dayText == "?",
		anyWD:     weekdayText == "*" || weekdayText == "?",
		intersect: c.timing.DayMatch == DayAnd,
	}
	if c.dialect == Vixie && (strings.HasPrefix(dayText, "*") || strings.HasPrefix(weekdayText, "*")) {
		rule.intersect = true
	}
	if !rule.anyDay {
		c.warnStep(&dayField, dayText)
		rule.monthDays = maskOf(c.ranges(&dayField, dayText, func(item string) bool { return c.specialDay(&rule, item) }))
	}
	if !rule.anyWD {
		c.warnStep(weekday, weekdayText)
		mask := maskOf(c.ranges(weekday, weekdayText, func(item string) bool { return c.specialWeekday(&rule, weekday, item) }))
		mask >>= weekday.min
		rule.weekdays |= (mask | mask>>7) & span(0, 6)
	}
	return rule
}

// warnStep warns of */n: it starts anew in each month or week, and whether it
// restricts the days is not the same everywhere.
func (c *cronParser) warnStep(f *fieldKind, text string) {
	for item := range strings.SplitSeq(text, ",") {
		if !strings.HasPrefix(item, "*/") {
			continue
		}
		effect := "restricts the days like a list of its values: a day in either day field counts, unless day_match is and"
		if c.dialect == Vixie {
			effect = "does not widen the other day field in this dialect: a day has to be in both"
		}
		c.warnf(c.field+"."+f.name, CodeDayStep, "%.20q counts from %d anew each time, and %s", item, f.min, effect)
	}
}

// specialDay takes L, L-n, LW, L-nW and nW.
func (c *cronParser) specialDay(rule *dayRule, item string) bool {
	body, work := strings.CutSuffix(item, "W")
	if after, ok := strings.CutPrefix(body, "L"); ok && (after == "" || after[0] == '-') {
		n := 0
		if after != "" {
			if n, ok = c.number(&dayField, item, after[1:]); !ok {
				return true
			}
			if n < 1 || n > 30 {
				c.fault(&dayField, CodeOutOfRange, "L takes 1 to 30 days off the last day, not %d", n)
				return true
			}
		}
		if work {
			rule.fromEndWork |= 1 << n
		} else {
			rule.fromEnd |= 1 << n
		}
		return true
	}
	if !work {
		return false
	}
	if d, ok := c.value(&dayField, item, body); ok {
		rule.workdays |= 1 << d
	}
	return true
}

// specialWeekday takes 5L, 5#2, and L in the Quartz dialect.
func (c *cronParser) specialWeekday(rule *dayRule, f *fieldKind, item string) bool {
	if item == "L" && c.dialect == Quartz {
		rule.weekdays |= 1 << 6
		return true
	}
	if body, ok := strings.CutSuffix(item, "L"); ok {
		if body == "" {
			c.fault(f, CodeSyntax, "L stands behind a weekday, as in 5L; only the dialect quartz reads it alone")
		} else if v, ok := c.value(f, item, body); ok {
			rule.lastWeekdays |= 1 << ((v - f.min) % 7)
		}
		return true
	}
	body, nth, ok := strings.Cut(item, "#")
	if !ok {
		return false
	}
	v, ok := c.value(f, item, body)
	if !ok {
		return true
	}
	k, ok := c.number(f, item, nth)
	if !ok {
		return true
	}
	if k < 1 || k > 5 {
		c.fault(f, CodeOutOfRange, "a month has 1 to 5 of a weekday, not %d", k)
		return true
	}
	rule.nth[(v-f.min)%7] |= 1 << k
	return true
}
