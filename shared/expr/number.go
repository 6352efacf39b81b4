package expr

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Number is a JSON number by its text, as it came. Compare two of them with
// Compare: the operator == compares texts, and 1 and 1.0 differ as texts.
type Number string

// digitNumbers are the numbers of one digit, made once.
var digitNumbers = [10]Value{
	Number("0"), Number("1"), Number("2"), Number("3"), Number("4"),
	Number("5"), Number("6"), Number("7"), Number("8"), Number("9"),
}

// NumberOf gives the number of an integer.
func NumberOf(n int64) Number { return Number(strconv.FormatInt(n, 10)) }

// NumberOfFloat gives the number of a float in its shortest text; false for
// infinities and NaN, which JSON does not have.
func NumberOfFloat(f float64) (Number, bool) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "", false
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return Number(strconv.FormatFloat(f, format, -1, 64)), true
}

// Float64 gives the nearest float, an infinity where the number is too large.
func (n Number) Float64() float64 {
	f, _ := strconv.ParseFloat(string(n), 64) // out of range gives the infinity
	return f
}

// Int64 gives the number as an integer; false where it has a fraction or does
// not fit. 1.0 and 1e2 are integers.
func (n Number) Int64() (int64, bool) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, true
	}
	d := n.decimal()
	if d.point < int64(len(d.digits)) && d.digits != "" {
		return 0, false
	}
	return d.integer()
}

// Round gives the nearest integer, halves towards positive infinity: 1.5 is 2
// and -1.5 is -1. False where it does not fit.
func (n Number) Round() (int64, bool) {
	d := n.decimal()
	i, ok := d.integer()
	if !ok {
		return 0, false
	}
	frac := d.fraction()
	switch up := frac != "" && frac[0] >= '5'; {
	case d.neg && up && frac != "5":
		return i - 1, i > math.MinInt64
	case !d.neg && up:
		return i + 1, i < math.MaxInt64
	}
	return i, true
}

// Compare gives -1, 0 or +1 as n is less than, equal to or greater than m,
// exactly: no digit is lost.
func (n Number) Compare(m Number) int {
	if n == m {
		return 0
	}
	if a, ok := n.short(); ok {
		if b, ok := m.short(); ok {
			return cmp.Compare(a, b)
		}
	}
	a, b := n.decimal(), m.decimal()
	switch {
	case a.sign() != b.sign():
		return sign(a.sign() - b.sign())
	case a.neg:
		return b.compareSize(a)
	}
	return a.compareSize(b)
}

// short gives the number if it is written as an integer of few digits, which
// most are.
func (n Number) short() (int64, bool) {
	digits, neg := strings.CutPrefix(string(n), "-")
	if len(digits) > 18 {
		return 0, false
	}
	var i int64
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		i = 10*i + int64(c-'0')
	}
	if neg {
		i = -i
	}
	return i, true
}

func sign(i int) int {
	switch {
	case i < 0:
		return -1
	case i > 0:
		return 1
	}
	return 0
}

// decimal is a number as 0.digits × 10^point, with neither leading nor trailing
// zeros in digits, which are empty for zero.
type decimal struct {
	neg    bool
	digits string
	point  int64
}

// farPoint stands for every exponent so large that only its sign counts.
const farPoint = 1 << 40

func (n Number) decimal() decimal {
	var d decimal
	mantissa := string(n)
	mantissa, d.neg = strings.CutPrefix(mantissa, "-")
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		d.point = exponent(mantissa[i+1:])
		mantissa = mantissa[:i]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits := whole
	if frac = strings.TrimRight(frac, "0"); frac != "" {
		digits += frac
	}
	d.point += int64(len(whole))
	trimmed := strings.TrimLeft(digits, "0")
	d.point -= int64(len(digits) - len(trimmed))
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

// exponent reads the text after an e; what is out of range becomes ±farPoint.
func exponent(text string) int64 {
	e, err := strconv.ParseInt(text, 10, 64)
	if err != nil || e > farPoint || e < -farPoint {
		if strings.HasPrefix(text, "-") {
			return -farPoint
		}
		return farPoint
	}
	return e
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// compareSize compares without the signs.
func (d decimal) compareSize(e decimal) int {
	switch {
	case d.digits == "" || e.digits == "":
		return sign(len(d.digits) - len(e.digits))
	case d.point < e.point:
		return -1
	case d.point > e.point:
		return 1
	}
	return strings.Compare(d.digits, e.digits)
}

// integer is the number without its fraction; false where it does not fit.
func (d decimal) integer() (int64, bool) {
	switch {
	case d.digits == "" || d.point <= 0:
		return 0, true
	case d.point > 19:
		return 0, false
	}
	whole := d.digits
	if int64(len(whole)) > d.point {
		whole = whole[:d.point]
	} else {
		whole += strings.Repeat("0", int(d.point)-len(whole))
	}
	if d.neg {
		whole = "-" + whole
	}
	i, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, false
	}
	return i, true
}

// fraction is the digits after the point, without trailing zeros.
func (d decimal) fraction() string {
	switch {
	case d.point >= int64(len(d.digits)):
		return ""
	case d.point >= 0:
		return d.digits[d.point:]
	}
	return "0" // a fraction so small that only its being there counts
}
