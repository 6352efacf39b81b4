package definition

import (
	"strings"

	"github.com/orrery-dev/orrery/shared/expr"
)

// The defaults and bounds of a Task.
const (
	// MaxSeconds is the longest time-out: of an execution, a task, a queue.
	MaxSeconds = 99_999_999
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
	b.handlers(s, f, lang)
	s.IdempotencyKey = b.text(f, lang, "IdempotencyKey")
	b.attempts(s, f, lang)
	b.compensation(s, f, lang)
}

// attempts reads how the attempts of a Task are handed out and limited.
func (b *builder) attempts(s *State, f fields, lang expr.Language) {
	b.timeouts(s, f, lang)
	s.QueueTimeoutSeconds = f.integer("QueueTimeoutSeconds", 1, MaxSeconds, 0)
	s.Priority = f.integer("Priority", MinPriority, MaxPriority, 0)
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
	switch r.Kind {
	case ResourceSignal:
		b.forWorkers(f, "waits for a signal", append(heartbeatFields, queueFields...))
		b.signals = append(b.signals, link{at, r.Signal})
	case ResourceChild:
		b.forWorkers(f, "starts an execution", queueFields)
	}
	if reason := b.off[r.Kind]; reason != "" {
		b.errorf(at, RuleOff, "The server does not do this task: %s.", reason)
	}
	if b.strict && !strings.HasPrefix(text, "arn:") {
		b.errorf(at, RuleAddition, "The resource %q is an addition to Amazon States Language, which strict mode refuses: write its ARN.", text)
	}
}

// queueFields are the fields that mean something only where a worker does the
// task; heartbeatFields do so with a token as well.
var (
	queueFields     = []string{"QueueTimeoutSeconds", "Priority", "IdempotencyKey", "MaxRedeliveries", "WhenUncertain"}
	heartbeatFields = []string{"HeartbeatSeconds", "HeartbeatSecondsPath"}
)

// forWorkers reports the fields that a Task without a worker cannot have.
func (b *builder) forWorkers(f fields, what string, names []string) {
	for _, name := range names {
		if f.has(name) {
			b.errorf(f.at.member(name), RuleMisplaced, "A Task that %s does not have the field %q: no worker does it.", what, name)
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
	if !ok || s.TimeoutSeconds == nil {
		return
	}
	if timeout, ok := s.TimeoutSeconds.Constant(); ok && heartbeat >= timeout {
		b.errorf(f.at.member("HeartbeatSeconds"), RuleHeartbeat, "HeartbeatSeconds (%d) must be smaller than TimeoutSeconds (%d).", heartbeat, timeout)
	}
}
