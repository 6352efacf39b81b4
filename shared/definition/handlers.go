package definition

import (
	"math"
	"strings"

	"github.com/orrery-dev/orrery/shared/expr"
)

// handlers reads Retry and Catch.
func (b *builder) handlers(s *State, f fields, lang expr.Language) {
	retry, _ := f.list("Retry")
	s.Retry = b.retriers(f, retry)
	catch, _ := f.list("Catch")
	for i, element := range b.steps(f, "Catch", catch) {
		s.Catch = append(s.Catch, b.catcher(element, i == len(catch)-1, lang))
	}
}

// retriers reads the elements of Retry.
func (b *builder) retriers(f fields, list []expr.Value) []Retrier {
	var retriers []Retrier
	for i, element := range f.elements("Retry", list) {
		retriers = append(retriers, b.retrier(element, i == len(list)-1))
	}
	return retriers
}

// maxDelaySeconds is the highest MaxDelaySeconds: 366 days.
const maxDelaySeconds = 31_622_400

// retrier reads one element of Retry; last tells whether it is the last one.
func (b *builder) retrier(f fields, last bool) Retrier {
	f.only("A retrier", retrierFields, nil)
	f.text("Comment")
	r := Retrier{
		ErrorEquals:     b.errorNames(f, last),
		IntervalSeconds: f.integer("IntervalSeconds", 1, MaxSeconds, 1),
		MaxAttempts:     f.integer("MaxAttempts", 0, MaxSeconds, 3),
		BackoffRate:     2,
		MaxDelaySeconds: f.integer("MaxDelaySeconds", 1, maxDelaySeconds, 0),
		FullJitter:      f.word("JitterStrategy", "NONE", "NONE", "FULL") == "FULL",
	}
	if f.has("BackoffRate") {
		r.BackoffRate = b.backoffRate(f)
	}
	return r
}

func (b *builder) backoffRate(f fields) float64 {
	v, _ := f.o.Get("BackoffRate")
	number, ok := v.(expr.Number)
	if !ok {
		f.wrongType("BackoffRate", "a number", v)
		return 0
	}
	rate := number.Float64()
	if rate < 1 || math.IsInf(rate, 0) {
		b.errorf(f.at.member("BackoffRate"), RuleRange, "BackoffRate must be at least 1.0, not %s.", string(number))
	}
	return rate
}

// catcher reads one element of Catch; last tells whether it is the last one.
func (b *builder) catcher(f fields, last bool, lang expr.Language) Catcher {
	f.only("A catcher", append(ownedBy(lang, expr.Catch), catcherFields...), languageFields)
	b.uses(f, "catcher")
	f.text("Comment")
	made, problems := lang.Catcher(f.o)
	b.fromExpr(f.at, problems)
	if b.cleaning && f.has("Compensate") {
		b.errorf(f.at.member("Compensate"), RuleMisplaced, "Cleanup cannot have the field \"Compensate\": what it does is not undone.")
	}
	return Catcher{Catcher: made, ErrorEquals: b.errorNames(f, last), Next: b.link(f, "Next"), Compensate: f.flag("Compensate")}
}

// knownErrors are the names beginning with "States." that an error can have, and
// the patterns.
var knownErrors = map[string]bool{
	expr.StatesALL: true, expr.StatesTaskFailed: true, expr.StatesTimeout: true, expr.StatesHeartbeatTimeout: true,
	expr.StatesDataLimitExceeded: true, expr.StatesRuntime: true, expr.StatesQueryEvaluationError: true,
	expr.StatesNoChoiceMatched: true, expr.StatesPermissions: true, expr.StatesBranchFailed: true,
	expr.StatesParameterPathFailure: true, expr.StatesResultPathMatchFailure: true, expr.StatesIntrinsicFailure: true,
	expr.StatesExceedToleratedFailureThreshold: true, expr.StatesItemReaderFailed: true, expr.StatesResultWriterFailed: true,
}

// errorNames reads ErrorEquals of a retrier or catcher; last tells whether it is
// the last of its array.
func (b *builder) errorNames(f fields, last bool) []string {
	var names []string
	list := f.filled("ErrorEquals")
	at := f.at.member("ErrorEquals")
	for i, v := range list {
		name, ok := v.(string)
		switch {
		case !ok:
			b.errorf(at.index(i), RuleType, "Each element of ErrorEquals must be a string, not %s.", typeName(v))
			continue
		case name == expr.StatesALL && len(list) > 1:
			b.errorf(at.index(i), RuleErrorName, "States.ALL must stand alone in ErrorEquals.")
		case name == expr.StatesALL && !last:
			b.errorf(at.index(i), RuleErrorName, "States.ALL must stand in the last element: those after it would never match.")
		case strings.HasPrefix(name, "States.") && !knownErrors[name]:
			b.warnf(at.index(i), RuleErrorName, "No error is called %q: it never matches.", name)
		}
		names = append(names, name)
	}
	return names
}
