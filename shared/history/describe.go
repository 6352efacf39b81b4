package history

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// View is one event as people and programs read it: in the form that the reference service gives its history, and for
// what it does not have, in types of our own.
type View struct {
	ID EventID
	// Previous is the event that this one follows: the one before in the same branch or iteration.
	Previous EventID
	At       Time
	// Type is such as "TaskStateEntered".
	Type string
	// Own tells that the reference service has no such event.
	Own bool
	// Unit is the key of the visit that it happened to, empty where it concerns the execution as a whole.
	Unit UnitKey
	// Details has what the type tells more, in a fixed order.
	Details []Detail
}

// Detail is one member of the details object of an event.
type Detail struct {
	Name  string
	Value []byte // JSON
}

// Data gives the details as a JSON object.
func (v *View) Data() []byte {
	b := []byte{'{'}
	for i, d := range v.Details {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(appendString(b, d.Name), ':'), d.Value...)
	}
	return append(b, '}')
}

func (v *View) json(name string, text []byte) {
	if text != nil {
		v.Details = append(v.Details, Detail{name, text})
	}
}

func (v *View) text(name, s string) {
	if s != "" {
		v.Details = append(v.Details, Detail{name, appendString(nil, s)})
	}
}

func (v *View) number(name string, n int64) {
	v.Details = append(v.Details, Detail{name, strconv.AppendInt(nil, n, 10)})
}

func (v *View) seconds(name string, ms int64) {
	if ms != 0 {
		v.number(name, int64(millis(ms)/time.Second))
	}
}

// Describe folds the events of one turn into s, as Apply does, and shows each. Resource gives the Resource of a Task by
// the name of its state; nil leaves out what depends on it.
func Describe(s *State, seq Seq, at Time, first EventID, events []Event, resource func(state string) string) ([]View, error) {
	if resource == nil {
		resource = func(string) string { return "" }
	}
	views := make([]View, len(events))
	for i := range events {
		view := View{ID: first + EventID(i), At: at}
		s.describe(&events[i], &view, resource)
		if err := s.Apply(seq, at, first+EventID(i), events[i:i+1]); err != nil {
			return nil, err
		}
		view.Previous = s.previous
		if c := s.scopes[events[i].Scope]; events[i].Type == EventEntered && c != nil && c.visit != nil {
			view.Unit = c.visit.key
		}
		views[i] = view
	}
	return views, nil
}

var kindNames = map[StateKind]string{
	TaskState: "Task", PassState: "Pass", WaitState: "Wait", ChoiceState: "Choice", ParallelState: "Parallel",
	MapState: "Map", SucceedState: "Succeed", FailState: "Fail",
}

// ownTypes are those that the reference service has none of. All events of compensations are our own as well.
var ownTypes = []EventType{
	EventReading, EventUnread, EventWriting, EventUnwritten, EventSignalled, EventInstance, EventStopped, EventCancelling, EventLost, EventProgressed, EventRuled, EventAgain, EventUndoable,
	EventCaught, EventUnwinding, EventUndoing, EventUndone, EventCleaning, EventCleaned, EventChildBegun, EventChildDone, EventChildFailed,
}

// describe fills in what the event means to the state that it is about to change.
func (s *State) describe(ev *Event, view *View, resource func(string) string) {
	payload, _ := s.sources(ev).resolve(ev.Text)
	v := &Visit{}
	if c := s.scopes[ev.Scope]; c != nil && c.visit != nil {
		v = c.visit
	}
	view.Own = v.kind == UndoState || slices.Contains(ownTypes, ev.Type) || v.kind == MapState && isUnit(ev.Type)
	switch ev.Type {
	case EventStarted, EventSignalled, EventInstance, EventStopped, EventCancelling, EventRedriven, EventEnded:
		s.describeExecution(ev, view, payload)
		return
	case EventUnwinding, EventUndoing, EventUndone, EventCleaning, EventCleaned:
		s.describeUnwinding(ev, view, v)
		return
	case EventEntered:
		view.Type = kindNames[ev.Kind] + "StateEntered"
		view.text("name", ev.State)
		if c := s.scopes[ev.Scope]; c != nil {
			view.json("input", c.data)
		}
		return
	}
	view.Unit = v.key
	switch ev.Type {
	case EventReading, EventUnread, EventWriting, EventUnwritten:
		describeReading(ev, view, payload)
	case EventScheduled, EventDispatched, EventSubmitted, EventCompleted, EventTaken, EventFailed, EventTimedOut:
		if ev.Type == EventTaken {
			payload = s.oldest(v.unit.signal)
		}
		describeUnit(ev, view, v, payload, resource)
	case EventExited:
		view.Type = kindNames[v.kind] + "StateExited"
		view.text("name", v.state)
		view.json("output", payload)
		s.describeAssigned(ev, view, payload)
	case EventLost, EventProgressed, EventRuled, EventAgain, EventUndoable, EventCaught:
		s.describeOwn(ev, view, v)
	case EventRunBegun, EventChildBegun, EventChildDone, EventChildFailed, EventRunDone, EventRunFailed:
		s.describeRun(ev, view, v)
	default:
		describeFan(ev, view, v)
	}
}

// oldest is the payload of the signal that would be taken next.
func (s *State) oldest(name string) []byte {
	for _, g := range s.signals {
		if g.name == name {
			return g.text
		}
	}
	return nil
}

func (s *State) describeExecution(ev *Event, view *View, payload []byte) {
	switch ev.Type {
	case EventStarted:
		view.Type = "ExecutionStarted"
		view.json("input", ev.Text.Literal)
		if ev.Start != nil {
			view.text("workflow", ev.Start.Workflow)
			view.number("version", int64(ev.Start.Version))
			view.text("requestId", ev.Start.RequestID)
		}
	case EventSignalled:
		view.Type = "SignalReceived"
		view.text("name", ev.Name)
		view.json("input", ev.Text.Literal)
		view.text("requestId", ev.RequestID)
	case EventStopped:
		view.Type, view.Unit = "ChildStopped", UnitKey(ev.Key)
		view.number("attempt", int64(ev.Index))
	case EventInstance:
		view.Type = "SignalHandlerStarted"
		view.text("name", ev.Name)
		view.number("index", int64(s.instances[ev.Name]))
		view.json("input", s.oldest(ev.Name))
	case EventCancelling:
		view.Type = "ExecutionCancelRequested"
		view.text("cause", ev.Cause)
		view.text("requestId", ev.RequestID)
	case EventRedriven:
		view.Type = "ExecutionRedriven"
		view.number("redriveCount", int64(s.redrives+1))
		view.text("cause", ev.Cause)
		view.text("requestId", ev.RequestID)
	case EventEnded:
		view.Type = endNames[ev.Status]
		if ev.Status == Succeeded {
			view.json("output", payload)
			return
		}
		s.tell(ev, view)
	}
}

var endNames = map[Status]string{
	Succeeded: "ExecutionSucceeded", Failed: "ExecutionFailed", TimedOut: "ExecutionTimedOut", Cancelled: "ExecutionAborted",
}

// failureOf is the failure that an event tells, or passes on.
func (s *State) failureOf(ev *Event) (code, cause string) {
	switch {
	case !ev.Last:
		return ev.Error, ev.Cause
	case ev.Type == EventEnded && s.ending != nil:
		return s.ending.Error, s.ending.Cause
	}
	return s.failure.code, s.failure.cause
}

func (s *State) describeAssigned(ev *Event, view *View, output []byte) {
	if len(ev.Assigned) == 0 {
		return
	}
	b := []byte{'{'}
	for i, a := range ev.Assigned {
		if i > 0 {
			b = append(b, ',')
		}
		text, _ := s.variableSources(ev, output).resolve(a.Text)
		b = append(append(appendString(b, a.Name), ':'), text...)
	}
	view.json("assignedVariables", append(b, '}'))
}

// unitTypes are the three families of types that a Task can have, by its resource.
func unitTypes(resource string) (family, kind, name string) {
	if resource == "" {
		return "Task", "", ""
	}
	if _, rest, ok := strings.Cut(resource, ":states:::"); ok && strings.HasPrefix(resource, "arn:") {
		kind, name, _ = strings.Cut(rest, ":")
		return "Task", kind, name
	}
	switch {
	case resource == "http":
		return "Task", "http", "invoke"
	case strings.HasPrefix(resource, "arn:") && strings.Contains(resource, ":activity:"):
		return "Activity", "", resource
	case strings.HasPrefix(resource, "arn:") && strings.Contains(resource, ":lambda:"):
		return "LambdaFunction", "", resource
	}
	kind, name, _ = strings.Cut(resource, ":")
	return "Task", kind, name
}

func describeUnit(ev *Event, view *View, v *Visit, payload []byte, resource func(string) string) {
	family, kind, name := "CompensationTask", "", ""
	switch v.kind {
	case MapState:
		family, payload = "ItemReader", nil
		if v.Writes() {
			family, payload = "ResultWriter", ev.Text.Literal
		}
	case UndoState:
	default:
		family, kind, name = unitTypes(resource(v.state))
	}
	if family == "Task" {
		view.text("resourceType", kind)
		view.text("resource", name)
	}
	switch ev.Type {
	case EventScheduled:
		view.Type = family + "Scheduled"
		switch family {
		case "Task":
			view.json("parameters", payload)
		case "CompensationTask":
			view.json("input", payload)
		default:
			view.text("resource", name)
			view.json("input", payload)
		}
		view.seconds("timeoutInSeconds", ev.Timeout)
		view.seconds("heartbeatInSeconds", ev.Heartbeat)
	case EventDispatched:
		view.Type = family + "Started"
		if family != "LambdaFunction" {
			view.text("workerName", ev.Worker)
		}
	case EventSubmitted:
		view.Type = family + "Submitted"
		view.json("output", ev.Text.Literal)
	case EventCompleted, EventTaken:
		view.Type = family + "Succeeded"
		view.json("output", payload)
	case EventFailed, EventTimedOut:
		view.Type = family + "Failed"
		if ev.Type == EventTimedOut {
			view.Type = family + "TimedOut"
		}
		view.text("error", ev.Error)
		view.text("cause", ev.Cause)
		view.json("details", ev.Text.Literal)
	}
}

var readingTypes = map[EventType]string{
	EventReading: "ItemReaderScheduled", EventUnread: "ItemReaderFailed", EventWriting: "ResultWriterScheduled", EventUnwritten: "ResultWriterFailed",
}

// isUnit tells whether events of the type tell of a unit.
func isUnit(t EventType) bool {
	return t == EventDispatched || t == EventCompleted || t == EventFailed
}

// describeReading covers how the items of a Map are read, and its results written.
func describeReading(ev *Event, view *View, payload []byte) {
	view.Type = readingTypes[ev.Type]
	switch ev.Type {
	case EventReading, EventWriting:
		view.json("input", payload)
	default:
		view.text("error", ev.Error)
		view.text("cause", ev.Cause)
	}
}

// describeOwn covers what the reference service has no type for.
func (s *State) describeOwn(ev *Event, view *View, v *Visit) {
	view.text("name", v.state)
	switch ev.Type {
	case EventLost:
		view.Type = "TaskRedelivered"
		if ev.Last {
			view.Type = "TaskUncertain"
		}
		view.number("attempt", int64(v.attempt))
		view.number("redelivery", int64(v.unit.redelivery+1))
		view.text("cause", ev.Cause)
	case EventProgressed:
		view.Type = "TaskProgressed"
		view.json("progress", ev.Text.Literal)
	case EventRuled:
		view.Type = "TaskResolved"
		view.text("resolution", ev.Name)
		view.text("requestId", ev.RequestID)
	case EventUndoable:
		view.Type = "CompensationRecorded"
		text, _ := s.sources(ev).resolve(ev.Text)
		view.json("input", text)
	case EventCaught:
		view.Type = "FailureCaught"
		s.tell(ev, view)
	case EventAgain:
		view.Type = "RetryScheduled"
		s.tell(ev, view)
		view.text("at", ev.At.Time().Format(time.RFC3339Nano))
	}
}

// tell shows the failure that an event tells, or passes on.
func (s *State) tell(ev *Event, view *View) {
	code, cause := s.failureOf(ev)
	view.text("error", code)
	view.text("cause", cause)
}

// describeUnwinding covers how an execution is undone and cleaned up.
func (s *State) describeUnwinding(ev *Event, view *View, v *Visit) {
	over := func(what string) {
		view.Type = what + "Succeeded"
		if ev.Status == Failed {
			view.Type = what + "Failed"
			s.tell(ev, view)
		}
	}
	switch ev.Type {
	case EventUnwinding:
		view.Type = "ExecutionStopping"
		view.text("status", ev.Status.String())
		view.text("reason", ev.Name)
		s.tell(ev, view)
	case EventUndoing:
		view.Type, view.Unit = "CompensationStarted", UnitKey(ev.Key)
	case EventUndone:
		view.Unit = v.key
		over("Compensation")
	case EventCleaning:
		view.Type = "CleanupStarted"
		view.json("input", ev.Text.Literal)
	case EventCleaned:
		over("Cleanup")
	}
}

// describeRun covers a Map whose iterations are executions.
func (s *State) describeRun(ev *Event, view *View, v *Visit) {
	child := func(what string) {
		view.Type = "MapChild" + what
		view.text("name", v.state)
		view.number("index", int64(ev.Index))
	}
	payload, _ := s.sources(ev).resolve(ev.Text)
	switch ev.Type {
	case EventRunBegun:
		view.Type = "MapRunStarted"
		view.text("mapRunArn", ev.Name)
		if v.fan != nil && v.fan.next > 0 {
			view.Type = "MapRunRedriven"
			view.number("redriveCount", int64(s.redrives))
		}
	case EventChildBegun:
		child("Started")
		view.json("input", payload)
	case EventChildDone:
		child("Succeeded")
		view.json("output", payload)
	case EventChildFailed:
		child("Failed")
		s.tell(ev, view)
	case EventRunDone:
		view.Type = "MapRunSucceeded"
	case EventRunFailed:
		view.Type = "MapRunFailed"
		s.tell(ev, view)
	}
}

func describeFan(ev *Event, view *View, v *Visit) {
	kind := kindNames[v.kind]
	iteration := func(what string) {
		view.Type = "MapIteration" + what
		view.text("name", v.state)
		view.number("index", int64(ev.Index))
	}
	switch ev.Type {
	case EventFanned:
		view.Type = kind + "StateStarted"
		switch {
		case v.phase == PhaseRead: // the reference service does not know it yet
			view.number("length", 0)
		case v.kind == MapState:
			view.number("length", int64(ev.Index))
		}
	case EventIterBegun:
		iteration("Started")
	case EventIterDone:
		iteration("Succeeded")
	case EventIterFailed:
		iteration("Failed")
	case EventIterCut:
		iteration("Aborted")
	case EventAborted:
		view.Type = kind + "StateAborted"
	case EventJoined:
		view.Type = kind + "StateSucceeded"
	case EventBroken:
		view.Type = kind + "StateFailed"
	}
}
