package definition

import (
	"fmt"
	"strings"

	"github.com/orrery-dev/orrery/shared/expr"
)

// Severity tells whether a problem keeps a document from being published.
type Severity string

const (
	// SeverityError: the document is refused.
	SeverityError Severity = "error"
	// SeverityWarning: the document is taken, and something in it will probably
	// not do what its author meant.
	SeverityWarning Severity = "warning"
)

// Problem is one thing that is wrong with a document.
type Problem struct {
	// Pointer is the place (RFC 6901): of the value that is wrong, or of the
	// object that lacks something. Empty for the whole document.
	Pointer string
	// Rule is one of the Rule constants.
	Rule string
	// Message says in one sentence what is wrong.
	Message  string
	Severity Severity
}

// String is the problem on one line.
func (p Problem) String() string {
	pointer := p.Pointer
	if pointer == "" {
		pointer = "/"
	}
	return fmt.Sprintf("%s at %s: %s (%s)", p.Severity, pointer, p.Message, p.Rule)
}

// Problems are all problems of a document, in the order in which they were
// found; the same text gives the same list.
type Problems []Problem

// Errors are the problems that keep the document from being published.
func (ps Problems) Errors() Problems { return ps.of(SeverityError) }

// Warnings are the problems that do not.
func (ps Problems) Warnings() Problems { return ps.of(SeverityWarning) }

func (ps Problems) of(severity Severity) Problems {
	var found Problems
	for _, p := range ps {
		if p.Severity == severity {
			found = append(found, p)
		}
	}
	return found
}

// Err is nil where the document may be published, else an [*InvalidError] with
// the errors.
func (ps Problems) Err() error {
	if errors := ps.Errors(); len(errors) > 0 {
		return &InvalidError{errors}
	}
	return nil
}

// InvalidError is a document that was refused.
type InvalidError struct {
	// Problems are the errors; there is at least one.
	Problems Problems
}

func (e *InvalidError) Error() string {
	text := "invalid document: " + e.Problems[0].String()
	if more := len(e.Problems) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

const (
	// maxProblems and maxProblemBytes limit what is reported about one document:
	// pointers and messages repeat its names, so the report could otherwise
	// outgrow it many times.
	maxProblems     = 1000
	maxProblemBytes = 1 << 20
	// maxQuoted and maxMessage are the numbers of bytes that one name of the
	// document may take in a message, and a whole message.
	maxQuoted  = 100
	maxMessage = 1000
)

// report gathers problems. The first error is always among them.
type report struct {
	problems Problems
	bytes    int
	errors   int
	full     bool
}

// errorf reports an error. Texts among the arguments are cut to maxQuoted.
func (r *report) errorf(at *place, rule, format string, args ...any) {
	if r.admits(SeverityError) {
		r.add(Problem{at.String(), rule, message(format, args), SeverityError})
	}
}

// warnf reports a warning.
func (r *report) warnf(at *place, rule, format string, args ...any) {
	if r.admits(SeverityWarning) {
		r.add(Problem{at.String(), rule, message(format, args), SeverityWarning})
	}
}

// fromExpr reports what package expr found in the object at a place.
func (r *report) fromExpr(at *place, found []expr.Problem) {
	for _, p := range found {
		if r.admits(SeverityError) {
			r.add(Problem{at.String() + p.Pointer, p.Rule, cut(p.Message, maxMessage), SeverityError})
		}
	}
}

// admits counts a problem and tells whether there is room for it.
func (r *report) admits(severity Severity) bool {
	if severity == SeverityError {
		r.errors++
	}
	return !r.full || severity == SeverityError && r.errors == 1
}

func (r *report) add(p Problem) {
	r.problems = append(r.problems, p)
	r.bytes += len(p.Pointer) + len(p.Message)
	if !r.full && (len(r.problems) == maxProblems || r.bytes > maxProblemBytes) {
		r.full = true
		more := Problem{Rule: RuleMoreProblems, Message: "The document may have more problems than are listed.", Severity: SeverityWarning}
		r.problems = append(r.problems, more)
	}
}

// message fills in a format with texts that are cut.
func message(format string, args []any) string {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = cut(text, maxQuoted)
		}
	}
	return fmt.Sprintf(format, args...)
}

// cut shortens a text to max bytes.
func cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return strings.ToValidUTF8(text[:max], "") + "…"
}
