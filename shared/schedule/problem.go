package schedule

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong, or dubious, with a definition.
type Problem struct {
	// Field is the place: specs[0].hour, zone, misfire.max.
	Field string
	// Code is one of the Code constants.
	Code string
	// Message says in one sentence what is wrong.
	Message string
}

func (p Problem) String() string { return fmt.Sprintf("%s: %s (%s)", p.Field, p.Message, p.Code) }

// The codes of problems.
const (
	CodeRequired       = "required"        // it must not be left out
	CodeUnknown        = "unknown"         // a word that is not one of those that the field knows
	CodeTooLong        = "too_long"        // a text has more bytes than it may have
	CodeTooMany        = "too_many"        // a list has more items than it may have
	CodeOutOfRange     = "out_of_range"    // a value below the least or above the greatest one
	CodeFieldCount     = "field_count"     // not as many fields as the dialect has
	CodeEmptyItem      = "empty_item"      // nothing between two commas
	CodeSyntax         = "syntax"          // not a form that the field knows
	CodeReversedRange  = "reversed_range"  // a range that ends before it begins
	CodeStep           = "step"            // a step of zero, or longer than the field
	CodeLongName       = "long_name"       // a name of a month or weekday that is not cut to three letters
	CodeZonePrefix     = "zone_prefix"     // a time zone inside a spec
	CodeNoMacro        = "no_macro"        // a macro that says nothing about time
	CodeUnknownZone    = "unknown_zone"    // not a zone of the time zone database
	CodeImpossibleDate = "impossible_date" // fields that never meet on one day, proved over 400 years
	CodeNoFuture       = "no_future"       // no instant is left
	CodeExcludesAll    = "excludes_all"    // instants are left, and exclusions cover each of them
	CodeDayStep        = "day_step"        // a warning: */n in a day field
)

// Problems are all that is wrong with a definition, in the order of its fields.
// They are an error.
type Problems []Problem

func (ps Problems) Error() string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.String()
	}
	return "schedule: " + strings.Join(texts, "; ")
}

// MaxProblems is how many problems, and how many warnings, are told.
const MaxProblems = 100

// report collects what is found.
type report struct{ problems, warnings Problems }

func (r *report) errorf(field, code, format string, args ...any) {
	r.problems.add(field, code, format, args)
}

func (r *report) warnf(field, code, format string, args ...any) {
	r.warnings.add(field, code, format, args)
}

func (ps *Problems) add(field, code, format string, args []any) {
	if len(*ps) < MaxProblems {
		*ps = append(*ps, Problem{field, code, fmt.Sprintf(format, args...)})
	}
}
