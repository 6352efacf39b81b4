package trial

import (
	"time"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// World is what is around a document: it stands in for the workers.
type World interface {
	// Answer says what an offer comes to. It is asked once for each, as soon as it is made. The error ends the run.
	Answer(o Offer) (Answer, error)
}

// Offer is one hand-out of an attempt.
type Offer struct {
	history.RowRef
	// State is the Task, as the document has it; for a compensation, that one's.
	State *definition.State
	// Input is what the worker gets, as JSON.
	Input      []byte
	Redelivery int
	// Within is the iteration of a distributed Map whose execution the offer is of, such as "Ship[3]"; empty for the document's
	// own execution.
	Within history.UnitKey
}

// Path is the unit, with the iteration that it is within.
func (o *Offer) Path() string { return string(inside(o.Within, o.Unit)) }

// inside is a unit key as it is written within an iteration.
func inside(within, unit history.UnitKey) history.UnitKey {
	if within == "" {
		return unit
	}
	return within + "/" + unit
}

// Answer is what a worker does with an offer. Every worker but an absent one claims it at once, and beats until it
// answers. A task that ends by its token is passed on at once: the answer is what is reported with the token. For a Task
// that starts an execution of another workflow, which is not run, it is how that ends.
type Answer struct {
	Kind AnswerKind
	// After is the time from the claim to the answer.
	After time.Duration
	// Output is JSON: Completes.
	Output []byte
	// Failure: Fails.
	Failure history.Failure
	// Reason: Uncertain, Lost.
	Reason string
}

// AnswerKind is the kind of an Answer.
type AnswerKind string

// The kinds of answers.
const (
	// Completes reports success.
	Completes AnswerKind = "completes"
	// Fails reports a failure.
	Fails AnswerKind = "fails"
	// Uncertain reports that the worker does not know what came of it.
	Uncertain AnswerKind = "uncertain"
	// Lost loses the worker together with its claim.
	Lost AnswerKind = "lost"
	// Silent claims, then neither beats nor answers: the time-outs of the state decide.
	Silent AnswerKind = "silent"
	// Absent never claims.
	Absent AnswerKind = "absent"
)

// Coming is a command from outside: a signal, a cancel, an operator's word.
type Coming struct {
	// After is the time from the start of the execution.
	After   time.Duration
	Command history.Command
}
