package history

import "slices"

// State is an execution as its history says it is. Apply is its only writer (I3), but for what Heard and Snapshot say of
// themselves. It serves one goroutine. Texts that it gives out are shared: nobody may change them.
type State struct {
	start     Start
	startedAt Time
	deadline  Time // of the whole execution; zero for none
	seq       Seq
	events    EventID
	at        Time // of the last turn
	status    Status
	end       *End
	failure   failure
	previous  EventID // that the last event follows, for Describe
	cancelled bool

	scopes    map[ScopeID]*Scope
	variables int // bytes of all variables of the scopes
	lastScope ScopeID
	units     map[UnitKey]*Visit
	ready     []*Visit // in the order in which they became so; a nil has been done, but never the first
	passed    int      // how many have left ready at its beginning
	timers    timers
	waiters   []*Visit // signal units, in the order in which they began to wait
	signals   []signal // in order of arrival
	held      int      // bytes of signals
	reports   []RowRef // the last rows whose report was applied, newest last

	roots     []*Scope       // those without a parent, but for MainScope, in the order in which they were made
	instances map[string]int // begun so far, by name of the signal
	undos     []undo         // what can be undone, oldest first
	stopping  []RowRef       // attempts whose child was told to stop and has not ended; Offer is zero
	catching  []*Visit       // in PhaseUndoing, in the order in which they came to be
	ending    *End           // how the execution ends once it is unwound, nil before that
	reason    string         // why it is unwound, where the status does not tell
	cleaned   bool           // Cleanup is over

	redrives   int // how often it has gone on after an end
	redrivenAt Time
	rewound    bool // something was undone that it would need for that

	snapshotAt EventID
	scratch    [4]source // of sources
}

// failure is the last one that was recorded; the events that pass it on do not repeat it.
type failure struct{ code, cause string }

// signal is one that nobody has taken yet.
type signal struct {
	name string
	text []byte
	id   EventID
}

// Scope is a machine that runs: the document's own, a branch or an iteration.
type Scope struct {
	id     ScopeID
	root   rootKind
	name   string  // of the signal that began it
	parent *Visit  // nil for a root
	owner  ScopeID // of a compensation: the scope that it was begun for
	undoes UnitKey // of a compensation: the unit that it undoes
	index  int     // of the branch or iteration
	round  int     // of an iteration or Cleanup that was there before: how often the execution had gone on after an end; else 0
	prefix string  // of the unit keys inside
	data   []byte  // the input of its next state: its own input, then each output
	visit  *Visit  // where it is; nil between two states and at the end
	status scopeStatus
	vars   map[string][]byte
	visits map[string]int // by state name
	last   EventID        // that the next event inside follows
}

type scopeStatus byte

const (
	scopeRuns   scopeStatus = 0
	scopeDone   scopeStatus = 'd'
	scopeFailed scopeStatus = 'f'
	scopeCut    scopeStatus = 'c'
)

// Visit is the stay of a scope in one state.
type Visit struct {
	scope     *Scope
	id        EventID
	state     string
	kind      StateKind
	key       UnitKey
	enteredAt Time
	input     []byte
	value     []byte // input, then the result of the work
	work      []byte // what the unit or the branches were given
	phase     Phase
	attempt   int   // of the unit, or the try of a Parallel or Map; 0 before the first
	retries   []int // per retrier, how often it has been used
	until     Time  // the end of a Wait, or of the pause before another try
	unit      unit
	fan       *fan
	catcher   int     // that has caught the failure, from 1; 0 for none
	failure   failure // that it has caught

	isReady bool
	place   int  // in ready, counted with those that have left it
	due     Time // key in the heap of timers; zero when not in it
	slot    int  // index in that heap
}

// Phase is where a visit stands; the package comment has the diagram.
type Phase byte

const (
	PhaseEntered  Phase = 'e'
	PhaseOpen     Phase = 'o' // its unit is open
	PhaseRead     Phase = 'i' // its items were read, or could not be
	PhaseFanned   Phase = 'f' // its branches or iterations run
	PhaseRetrying Phase = 'r' // it pauses before another try
	PhaseUndoing  Phase = 'u' // its failure was caught, and what its scope did is undone before it is left
	PhaseDone     Phase = 'd' // it has its result
	PhaseFailed   Phase = 'x' // it failed, or was stopped
)

// unit is the open unit of a visit in PhaseOpen.
type unit struct {
	kind        UnitKind
	status      UnitStatus
	signal      string
	child       string // name of the execution that was started, empty for none
	workflow    string // of that execution
	version     int
	submitted   bool   // what carries the token was handed over
	over        bool   // the child has ended; not folded into snapshots
	since       Seq    // the turn that scheduled it; not in snapshots
	key         string // idempotency key, empty for the usual one
	offer       int
	redelivery  int
	scheduledAt Time
	offeredAt   Time
	claimedAt   Time
	heard       Time // by Heard; not folded
	timeout     int64
	heartbeat   int64
	queue       int64
	worker      string
	session     string
	progress    []byte
	work        []byte // of a Map that writes
}

// fan is the inside of a Parallel or a Map.
type fan struct {
	limit    int
	next     int // the iteration to begin next
	active   int
	done     int
	items    [][]byte    // Map: the elements of the visit's work
	branches []*Scope    // by index; nil before the begin and after the end
	results  [][]byte    // by index
	tolerate int         // iterations that may fail
	failed   int         // iterations that have failed
	lost     []int       // their indexes, or those of the batches that they were in
	again    []int       // iterations that begin once more
	run      string      // name of the run whose executions are the iterations; empty where they run inside
	kids     map[int]Seq // the iterations whose execution runs, with the turn that started it; zero for an earlier one
	earlier  []string    // names of the runs before, of an execution that has gone on
	wrote    bool        // the results were written, or could not be
	written  []byte      // what the Map gives because of that; nil for its results
	fault    failure     // of the run, or of the writing
	tail     EventID     // the last event inside the branch or iteration that ended last
	ended    EventID     // the event that ended it
}

// New gives the state before the first event.
func New() *State {
	return &State{scopes: map[ScopeID]*Scope{}, units: map[UnitKey]*Visit{}}
}

// LastSeq is the number of the last turn, zero before the first.
func (s *State) LastSeq() Seq { return s.seq }

// Events is the number of events so far, which is also the number of the last one.
func (s *State) Events() EventID { return s.events }

// At is the time of the last turn.
func (s *State) At() Time { return s.at }

// Status is how the execution stands; zero before the first event.
func (s *State) Status() Status { return s.status }

// End is how the execution ended, nil while it runs.
func (s *State) End() *End { return s.end }

// Input is the input of the execution, as JSON.
func (s *State) Input() []byte { return s.start.Input }

// Start is what opened the execution. Its Seed is not kept.
func (s *State) Start() Start { return s.start }

// StartedAt is when the execution was opened.
func (s *State) StartedAt() Time { return s.startedAt }

// Deadline is when the whole execution is over time, zero for never.
func (s *State) Deadline() Time { return s.deadline }

// Failure is the error name and the cause of the failure that was recorded last.
func (s *State) Failure() (code, cause string) { return s.failure.code, s.failure.cause }

// SinceSnapshot is how many events a load would fold: those since the state was last written or read as a snapshot.
func (s *State) SinceSnapshot() int { return int(s.events - s.snapshotAt) }

// Scope gives a scope by its number, nil where it is gone.
func (s *State) Scope(id ScopeID) *Scope { return s.scopes[id] }

// Unit gives the visit whose unit is open under the key, nil where there is none.
func (s *State) Unit(key UnitKey) *Visit { return s.units[key] }

// Ready gives the visit that the decider must go on with next, nil where everything waits.
func (s *State) Ready() *Visit {
	if len(s.ready) == 0 {
		return nil
	}
	return s.ready[0]
}

// Due gives the visit whose time came first, nil where none is due at now.
func (s *State) Due(now Time) *Visit {
	if len(s.timers) == 0 || s.timers[0].due > now {
		return nil
	}
	return s.timers[0]
}

// Idle tells that nothing happens without a command or a time.
func (s *State) Idle() bool { return s.status.Ended() || s.Ready() == nil && !s.MustUnwind() }

// WakeAt is the next time at which the execution wants a timer command, zero for never. It is the time of the last turn
// where that turn stopped before its work was done.
func (s *State) WakeAt() Time {
	switch {
	case s.status.Ended():
		return 0
	case !s.Idle():
		return s.at
	}
	wake := s.deadline
	if len(s.timers) > 0 && (wake == 0 || s.timers[0].due < wake) {
		wake = s.timers[0].due
	}
	return wake
}

// Waiter gives the visit that has waited longest for a signal of the name, nil where none does.
func (s *State) Waiter(name string) *Visit {
	for _, v := range s.waiters {
		if v.unit.signal == name {
			return v
		}
	}
	return nil
}

// HasSignal tells whether a signal of the name is kept for whoever will wait for it.
func (s *State) HasSignal(name string) bool {
	return slices.ContainsFunc(s.signals, func(g signal) bool { return g.name == name })
}

// Signals gives the number of signals kept and their payloads' size in bytes.
func (s *State) Signals() (n, bytes int) { return len(s.signals), s.held }

// Reported tells that the report for this very row was applied not long ago: the same report again is a duplicate.
func (s *State) Reported(row RowRef) bool { return slices.Contains(s.reports, row) }

// Shorten gives the shortest way to write text as the payload of ev, whose other fields are set. For a variable the
// place is one of Assigned; output is then the text that the same event gives the state.
func (s *State) Shorten(ev *Event, text []byte) Text { return s.sources(ev).shorten(text) }

// ShortenVariable is Shorten for a variable that an EventExited assigns; output is the output of the same event.
func (s *State) ShortenVariable(ev *Event, output, text []byte) Text {
	return s.variableSources(ev, output).shorten(text)
}

// ID numbers the scope.
func (c *Scope) ID() ScopeID { return c.id }

// Runs tells whether the scope goes on: it has neither ended nor been stopped.
func (c *Scope) Runs() bool { return c.status == scopeRuns }

// Parent is the visit that the scope is a branch or an iteration of, nil for a root.
func (c *Scope) Parent() *Visit { return c.parent }

// Index is the number of the branch or iteration, from 0.
func (c *Scope) Index() int { return c.index }

// Visit is the state that the scope is in, nil between two states and at the end.
func (c *Scope) Visit() *Visit { return c.visit }

// Data is the input of the scope's next state, and at the end its output.
func (c *Scope) Data() []byte { return c.data }

// Variable looks a variable up, in the scope and in those around it.
func (c *Scope) Variable(name string) ([]byte, bool) {
	for {
		if text, ok := c.vars[name]; ok {
			return text, true
		}
		if c.parent == nil {
			return nil, false
		}
		c = c.parent.scope
	}
}

// Assigned is the value of a variable of this scope itself; nil where it has none of the name.
func (c *Scope) Assigned(name string) []byte { return c.vars[name] }

// VariableBytes is how large all variables of the execution are together, as JSON.
func (s *State) VariableBytes() int { return s.variables }

// Scope is the scope whose visit it is.
func (v *Visit) Scope() *Scope { return v.scope }

// Unread is why the items of the Map could not be read; empty where they were.
func (v *Visit) Unread() (code, cause string) { return v.failure.code, v.failure.cause }

// ID is the number of the event that entered the state.
func (v *Visit) ID() EventID { return v.id }

// State is the name of the state.
func (v *Visit) State() string { return v.state }

// Kind is the kind of the state.
func (v *Visit) Kind() StateKind { return v.kind }

// Key names the unit of the visit.
func (v *Visit) Key() UnitKey { return v.key }

// EnteredAt is when the state was entered.
func (v *Visit) EnteredAt() Time { return v.enteredAt }

// Input is the raw input of the state.
func (v *Visit) Input() []byte { return v.input }

// Value is the result of the state's work, before that its input.
func (v *Visit) Value() []byte { return v.value }

// Phase tells where the visit stands.
func (v *Visit) Phase() Phase { return v.phase }

// Attempt counts the attempts of the unit, or the tries of a Parallel or Map, from 1; 0 before the first.
func (v *Visit) Attempt() int { return v.attempt }

// Retries is how often the retrier with this number (from 1) has been used, or with 0, how often all of them have.
func (v *Visit) Retries(retrier int) int {
	if retrier > 0 {
		if retrier > len(v.retries) {
			return 0
		}
		return v.retries[retrier-1]
	}
	n := 0
	for _, r := range v.retries {
		n += r
	}
	return n
}

// Row names the current offer of the unit.
func (v *Visit) Row() RowRef {
	return RowRef{Unit: v.rowUnit(), Attempt: v.attempt, Offer: v.unit.offer}
}

// Unfanned tells whether iterations are left that may begin now, and Complete whether all have ended well.
func (v *Visit) Unfanned() bool {
	return v.fan != nil && v.fan.upcoming() < len(v.fan.items) && (v.fan.limit == 0 || v.fan.active < v.fan.limit)
}

// Complete tells that all branches or iterations have ended well.
func (v *Visit) Complete() bool { return v.fan != nil && v.fan.done == len(v.fan.results) }

// Next is the iteration to begin next, with its item.
func (v *Visit) Next() (index int, item []byte) {
	index = v.fan.upcoming()
	return index, v.fan.items[index]
}

// Branch gives the scope of a branch or iteration that has begun and not ended well; else nil.
func (v *Visit) Branch(index int) *Scope {
	if v.fan == nil || index < 0 || index >= len(v.fan.branches) {
		return nil
	}
	return v.fan.branches[index]
}

// HasWork tells whether the visit has an open unit, or branches or iterations, or pauses before another try, or waits for
// compensations.
func (v *Visit) HasWork() bool {
	return v.phase == PhaseOpen || v.phase == PhaseFanned || v.phase == PhaseRetrying || v.phase == PhaseUndoing || v.due != 0
}

// Branches gives the scopes of the branches or iterations that have begun and not ended well, by index.
func (v *Visit) Branches() []*Scope {
	if v.fan == nil {
		return nil
	}
	var open []*Scope
	for _, c := range v.fan.branches {
		if c != nil {
			open = append(open, c)
		}
	}
	return open
}

// Item is the element that an iteration of a Map began from, nil for a Parallel.
func (v *Visit) Item(index int) []byte {
	if v.fan == nil || index < 0 || index >= len(v.fan.items) {
		return nil
	}
	return v.fan.items[index]
}
