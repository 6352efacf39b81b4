package schedule

import "math/bits"

// Wall time is what a clock on the wall shows, counted in seconds from
// 1970-01-01T00:00:00 on that clock as if its offset from UTC never changed.
// Days are counted from 1970-01-01 as well. The calendar is the Gregorian one,
// for all years.

const (
	minuteSeconds = 60
	hourSeconds   = 3600
	daySeconds    = 86400

	// cycleYears is the period of the calendar: the same dates fall on the same
	// weekdays again, as it is a whole number of weeks.
	cycleYears = 400
	cycleDays  = 146097
)

// floorDiv divides and rounds towards the past; b is positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// floorMod is what floorDiv leaves, in [0, b).
func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

// dayNumber counts the days from 1970-01-01 to a date. Years begin in March
// here, so that the leap day is the last of its year and the lengths of months
// follow one line.
func dayNumber(year, month, day int) int64 {
	y, m := int64(year), int64(month)
	if m <= 2 {
		y--
		m += 12
	}
	era := floorDiv(y, cycleYears)
	yearOfEra := y - era*cycleYears
	dayOfYear := (153*(m-3)+2)/5 + int64(day) - 1
	return era*cycleDays + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - epochDay
}

// epochDay is 1970-01-01, counted from the first of March of the year 0.
const epochDay = 719468

// dateOf is the date of a day number.
func dateOf(number int64) (year, month, day int) {
	number += epochDay
	era := floorDiv(number, cycleDays)
	dayOfEra := number - era*cycleDays
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	m := (5*dayOfYear + 2) / 153
	year, month, day = int(yearOfEra+era*cycleYears), int(m+3), int(dayOfYear-(153*m+2)/5+1)
	if month > 12 {
		year++
		month -= 12
	}
	return year, month, day
}

// weekdayOf is 0 for a Sunday, 6 for a Saturday.
func weekdayOf(number int64) int { return int(floorMod(number+4, 7)) }

// daysIn is the length of a month in days.
func daysIn(year, month int) int {
	if month == 2 {
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 30 + (month+month/8)%2
}

// span gives the bits from lo to hi, both included.
func span(lo, hi int) uint64 { return 1<<(hi+1) - 1<<lo }

// last is the highest bit of a mask that is not empty.
func last(mask uint64) int { return bits.Len64(mask) - 1 }
