package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// Script is a World that was read from a file: what the tasks of a document give, in order, and what comes from outside.
//
//	tasks:                        # by contract: NAME or NAME@VERSION; for other resources, as the document has them
//	  payments.charge@2:
//	    - {error: CardDeclined, cause: no money, after: 2s}
//	    - output: {receipt: r-1}
//	      times: always           # or how often; once where it is left out
//	units:                        # by unit key, before the tasks
//	  Ship[0]/Pack: [{silent: true}]         # also of an iteration that is an execution
//	signals:                      # after is the time from the start
//	  - {name: approved, after: 1h, payload: {by: ann}}
//	resolve:                      # an operator's word on a unit that is uncertain
//	  - {unit: Charge, after: 2h, as: completed, output: {receipt: r-2}}
//	cancel: {after: 3h, reason: too late}
//
// Results of a Map are written to S3 unless there is an answer for that under "arn:aws:states:::s3:putObject".
//
// An answer has one of output, error (with cause, details, final), uncertain, lost (both with a reason), silent and absent;
// see AnswerKind. A script serves one run.
type Script struct {
	// Comings are what comes from outside.
	Comings []Coming

	tasks map[string]*answers
	units map[string]*answers
}

// answers are those of one task or unit, in order.
type answers struct {
	place string // such as "tasks: charge@1"
	list  []entry
	used  int // answers that were given
}

// entry is an answer that is given a number of times.
type entry struct {
	answer Answer
	left   int // -1 for always
}

// next gives the next answer; false where they are used up.
func (a *answers) next() (Answer, bool) {
	for i := range a.list {
		e := &a.list[i]
		if e.left == 0 {
			continue
		}
		if e.left > 0 {
			e.left--
		}
		a.used++
		return e.answer, true
	}
	return Answer{}, false
}

// unused is how many answers were never asked for; those that are given always do not count.
func (a *answers) unused() int {
	n := 0
	for _, e := range a.list {
		n += max(e.left, 0)
	}
	return n
}

// NoAnswerError is an offer that a script has no answer for.
type NoAnswerError struct {
	Offer Offer
	// Task is the key under which the script would have an answer for the task.
	Task string
	// Used is the place whose answers are used up, and how many there were; empty where there is no such place.
	Used  string
	Count int
}

func (e *NoAnswerError) Error() string {
	why := fmt.Sprintf("give one under tasks: %q or units: %q", e.Task, e.Offer.Path())
	if e.Used != "" {
		why = fmt.Sprintf("the %d under %s are used up", e.Count, e.Used)
	}
	which := fmt.Sprintf("attempt %d", e.Offer.Attempt)
	if e.Offer.Redelivery > 0 {
		which += fmt.Sprintf(", redelivery %d,", e.Offer.Redelivery)
	}
	return fmt.Sprintf("the script has no answer for %s of %s: %s", which, e.Offer.Path(), why)
}

// Answer implements World.
func (s *Script) Answer(o Offer) (Answer, error) {
	missing := &NoAnswerError{Offer: o, Task: taskKey(o.State.Resource)}
	a := s.units[o.Path()]
	if a == nil {
		a = s.tasks[missing.Task]
	}
	if a == nil && o.State.Writer != nil && o.State.Resource == o.State.Writer.Resource {
		return Answer{Kind: Completes, Output: []byte("null")}, nil // the Map knows what it gives then
	}
	if a == nil {
		return Answer{}, missing
	}
	answer, ok := a.next()
	if !ok {
		missing.Used, missing.Count = a.place, a.used
		return Answer{}, missing
	}
	return answer, nil
}

// taskKey is how a script names a resource: the contract, or for others the resource as written.
func taskKey(r *definition.Resource) string {
	if r.Kind == definition.ResourceWorker {
		return fmt.Sprintf("%s@%d", r.Contract.Task, r.Contract.Version)
	}
	return r.Text
}

// Unused lists the places whose answers were not all asked for.
func (s *Script) Unused() []string {
	var list []string
	for _, all := range []map[string]*answers{s.tasks, s.units} {
		for _, a := range all {
			if n := a.unused(); n > 0 {
				list = append(list, fmt.Sprintf("answers under %s that were not asked for: %d", a.place, n))
			}
		}
	}
	slices.Sort(list)
	return list
}

// ParseScript reads a script as JSON or YAML. It gives all problems that it finds; where there is one, the script is nil.
func ParseScript(text []byte) (*Script, definition.Problems) {
	v, problems := definition.ReadValue(text, definition.Options{})
	if problems.Err() != nil {
		return nil, problems
	}
	s := &Script{tasks: map[string]*answers{}, units: map[string]*answers{}}
	r := reader{}
	if top, ok := r.object(v, ""); ok {
		r.only(top, "tasks", "units", "signals", "resolve", "cancel")
		r.answers(top, "tasks", s.tasks, r.taskName)
		r.answers(top, "units", s.units, func(_, key string) string { return key })
		s.Comings = r.comings(top)
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return s, nil
}

// answers reads tasks or units; name makes the key of an entry from what is written.
func (r *reader) answers(top table, field string, into map[string]*answers, name func(at, key string) string) {
	all, ok := r.member(top, field)
	if !ok {
		return
	}
	for key, v := range all.o.All() {
		at := all.at + "/" + escape(key)
		a := &answers{place: fmt.Sprintf("%s: %q", field, key)}
		list, ok := r.list(v, at)
		if !ok {
			continue
		}
		for i, e := range list {
			if t, ok := r.object(e, fmt.Sprintf("%s/%d", at, i)); ok {
				a.list = append(a.list, r.entry(t))
			}
		}
		canonical := name(at, key)
		if into[canonical] != nil {
			r.problem(at, definition.RuleDuplicate, "%q stands twice: once as %s.", canonical, into[canonical].place)
		}
		into[canonical] = a
	}
}

// taskName reads a key of tasks as taskKey writes it.
func (r *reader) taskName(at, key string) string {
	if key == "results" || strings.Contains(key, ":states:::s3:") { // of a Map
		return key
	}
	resource := key
	if !strings.Contains(key, ":") && key != "http" {
		resource = "task:" + key
	}
	parsed, err := definition.ParseResource(resource)
	if err != nil {
		r.problem(at, definition.RuleResource, "%q names no task: %v.", key, err)
		return key
	}
	return taskKey(parsed)
}

// kindsOfAnswers are the fields of which an answer has one.
var kindsOfAnswers = []string{"output", "error", "uncertain", "lost", "silent", "absent"}

// entry reads one answer.
func (r *reader) entry(t table) entry {
	r.only(t, append([]string{"after", "times", "cause", "details", "final"}, kindsOfAnswers...)...)
	e := entry{answer: Answer{After: r.duration(t, "after")}, left: r.times(t)}
	switch r.oneOf(t, kindsOfAnswers...) {
	case "output":
		e.answer.Kind, e.answer.Output = Completes, r.json(t, "output")
	case "error":
		e.answer.Kind, e.answer.Failure = Fails, r.failure(t)
	case "uncertain":
		e.answer.Kind, e.answer.Reason = Uncertain, r.text(t, "uncertain")
	case "lost":
		e.answer.Kind, e.answer.Reason = Lost, r.text(t, "lost")
	case "silent":
		e.answer.Kind = Silent
		r.must(t, "silent")
	case "absent":
		e.answer.Kind = Absent
		r.must(t, "absent")
	}
	return e
}

func (r *reader) failure(t table) history.Failure {
	return history.Failure{
		Code: r.text(t, "error"), Message: r.text(t, "cause"), NonRetryable: r.flag(t, "final"), Details: r.json(t, "details"),
	}
}

// comings reads what comes from outside.
func (r *reader) comings(top table) []Coming {
	var list []Coming
	for _, t := range r.tables(top, "signals") {
		r.only(t, "name", "after", "payload")
		r.require(t, "name")
		cmd := history.Command{Kind: history.KindSignal, Signal: r.text(t, "name"), Output: r.json(t, "payload")}
		list = append(list, Coming{r.duration(t, "after"), cmd})
	}
	for _, t := range r.tables(top, "resolve") {
		list = append(list, r.resolve(t))
	}
	if t, ok := r.member(top, "cancel"); ok {
		r.only(t, "after", "reason")
		list = append(list, Coming{r.duration(t, "after"), history.Command{Kind: history.KindCancel, Reason: r.text(t, "reason")}})
	}
	return list
}

// resolve reads an operator's word.
func (r *reader) resolve(t table) Coming {
	r.only(t, "unit", "after", "as", "output", "error", "cause", "details", "final")
	r.require(t, "unit", "as")
	cmd := history.Command{
		Kind: history.KindResolve, Row: history.RowRef{Unit: history.UnitKey(r.text(t, "unit"))}, Resolution: r.text(t, "as"),
	}
	switch cmd.Resolution {
	case history.ResolveCompleted:
		r.require(t, "output")
		cmd.Output = r.json(t, "output")
	case history.ResolveFailed:
		f := r.failure(t)
		cmd.Failure = &f
	case history.ResolveRetry:
	default:
		r.problem(t.at+"/as", definition.RuleValue, "as must be %s, %s or %s.", history.ResolveCompleted, history.ResolveFailed, history.ResolveRetry)
	}
	return Coming{r.duration(t, "after"), cmd}
}

// json is a field as JSON text; nil where there is none.
func (r *reader) json(t table, field string) []byte {
	v, ok := t.o.Get(field)
	if !ok {
		return nil
	}
	return expr.Marshal(v)
}
