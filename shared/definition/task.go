package definition

import (
	"math"
	"strings"

	"github.com/orrery-dev/orrery/shared/expr"
)

// The defaults and bounds of a Task.
const (
	// MaxSeconds is the longest time-out: of an execution, a task, a queue.
	MaxSeconds = 99_999_999
	// DefaultTimeoutSeconds limits an attempt whose state has neither
	// TimeoutSeconds nor HeartbeatSeconds.
	DefaultTimeoutSeconds = MaxSeconds
	// DefaultTimeoutWithHeartbeat limits one whose state has HeartbeatSeconds
	// alone.
	DefaultTimeoutWithHeartbeat = 60
	// MinPriority and MaxPriority bound Priority.
	MinPriority = -100
	MaxPriority = 100
	// DefaultMaxRedeliveries and MostRedeliveries are what MaxRedeliveries is by
	// default and at most.
	DefaultMaxRedeliveries = 10
	MostRedeliveries       = 1000
)

// task reads a Task.
func (b *builder) task(s *State, f fields, lang expr.Language) {
	b.resource(s, f)
	b.timeouts(s, f, lang)
	b.handlers(s, f, lang)
	s.QueueTimeoutSeconds = f.integer("QueueTimeoutSeconds", 1, MaxSeconds, 0)
	s.Priority = f.integer("Priority", MinPriority, MaxPriority, 0)
	s.IdempotencyKey = b.text(f, lang, "IdempotencyKey")
	s.MaxRedeliveries = f.integer("MaxRedeliveries", 0, MostRedeliveries, DefaultMaxRedeliveries)
	s.WhenUncertain = Uncertainty(f.word("WhenUncertain", string(UncertainWaits), string(UncertainWaits), string(UncertainFails)))
}

// resource reads who does a Task.
func (b *builder) resource(s *State, f fields) {
	f.require("Resource")
	text, ok := f.text("Resource")
	if !ok {
		return
	}
	at := f.at.member("Resource")
	r, err := ParseResource(text)
	if err != nil {
		b.errorf(at, RuleResource, "Resource: %v.", err)
		return
	}
	s.Resource = r
	if r.Kind == ResourceSignal {
		b.forWorkers(f)
	}
	if b.strict && !strings.HasPrefix(text, "arn:") {
		b.errorf(at, RuleAddition, "The resource %q is an addition to Amazon States Language, which strict mode refuses: write its ARN.", text)
		return
	}
	if feature, ok := resourceFeatures[r.Kind]; ok {
		b.refuse(at, feature)
	}
}

// workerFields are the fields that mean something only where a worker does the
// task.
var workerFields = []string{
	"HeartbeatSeconds", "HeartbeatSecondsPath", "QueueTimeoutSeconds", "Priority",
	"IdempotencyKey", "MaxRedeliveries", "WhenUncertain",
}

// forWorkers reports the fields that a Task without a worker cannot have.
func (b *builder) forWorkers(f fields) {
	for _, name := range workerFields {
		if f.has(name) {
			b.errorf(f.at.member(name), RuleMisplaced, "A Task that waits for a signal does not have the field %q: no worker does it.", name)
		}
	}
}

// timeouts reads TimeoutSeconds and HeartbeatSeconds, of which the latter must
// be smaller.
func (b *builder) timeouts(s *State, f fields, lang expr.Language) {
	s.TimeoutSeconds = b.integer(f, lang, "TimeoutSeconds")
	s.HeartbeatSeconds = b.integer(f, lang, "HeartbeatSeconds")
	if s.HeartbeatSeconds == nil {
		return
	}
	heartbeat, ok := s.HeartbeatSeconds.Constant()
	if !ok {
		return
	}
	at := f.at.member("HeartbeatSeconds")
	if s.TimeoutSeconds == nil {
		if heartbeat >= DefaultTimeoutWithHeartbeat {
			b.warnf(at, RuleHeartbeat, "Without TimeoutSeconds an attempt has %d seconds, so a heartbeat of %d seconds is never missed.", DefaultTimeoutWithHeartbeat, heartbeat)
		}
		return
	}
	if timeout, ok := s.TimeoutSeconds.Constant(); ok && heartbeat >= timeout {
		b.errorf(at, RuleHeartbeat, "HeartbeatSeconds (%d) must be smaller than TimeoutSeconds (%d).", heartbeat, timeout)
	}
}

// handlers reads Retry and Catch.
func (b *builder) handlers(s *State, f fields, lang expr.Language) {
	retry, _ := f.list("Retry")
	for i, element := range f.elements("Retry", retry) {
		s.Retry = append(s.Retry, b.retrier(element, i == len(retry)-1))
	}
	catch, _ := f.list("Catch")
	for i, element := range b.steps(f, "Catch", catch) {
		s.Catch = append(s.Catch, b.catcher(element, i == len(catch)-1, lang))
	}
}

// maxDelaySeconds is the highest MaxDelaySeconds: 366 days.
const maxDelaySeconds = 31_622_400

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
	v, ok := f.o.Get("BackoffRate")
	if !ok {
		return r
	}
	number, ok := v.(expr.Number)
	if !ok {
		f.wrongType("BackoffRate", "a number", v)
		return r
	}
	if r.BackoffRate = number.Float64(); r.BackoffRate < 1 || math.IsInf(r.BackoffRate, 0) {
		b.errorf(f.at.member("BackoffRate"), RuleRange, "BackoffRate must be at least 1.0, not %s.", string(number))
	}
	return r
}

func (b *builder) catcher(f fields, last bool, lang expr.Language) Catcher {
	f.only("A catcher", append(ownedBy(lang, expr.Catch), catcherFields...), languageFields)
	b.uses(f, "catcher")
	f.text("Comment")
	made, problems := lang.Catcher(f.o)
	b.fromExpr(f.at, problems)
	c := Catcher{Catcher: made, ErrorEquals: b.errorNames(f, last), Compensate: f.flag("Compensate"), Next: b.link(f, "Next")}
	return c
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
