package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrUnknownFormat is a snapshot that a newer version wrote. It is skipped: the history is folded instead.
var ErrUnknownFormat = errors.New("history: unknown snapshot format")

// snapshotFormat is the newest format that Snapshot writes. Restore reads the formats before it as well: each has only added to
// them. A state without what a format has added is written in the one before it, which older versions read.
const (
	snapshotFormat = 3 // the results of Maps are written
	usualFormat    = 2
)

// A snapshot is a line of JSON, then the texts of the state, each once, without anything between them. The line says how
// long each of them is and refers to it by its number, from 1; 0 is no text.
type snapshot struct {
	Format     int            `json:"format"`
	Start      rowStart       `json:"start"`
	Input      int            `json:"input"`
	StartedAt  Time           `json:"started"`
	Seq        Seq            `json:"seq"`
	Events     EventID        `json:"events"`
	At         Time           `json:"at"`
	Status     Status         `json:"status"`
	End        *snapEnd       `json:"end,omitempty"`
	Error      string         `json:"error,omitempty"`
	Cause      string         `json:"cause,omitempty"`
	Cancelling bool           `json:"cancelling,omitempty"`
	LastScope  ScopeID        `json:"last"`
	Main       *snapScope     `json:"main,omitempty"`
	Ready      []ScopeID      `json:"ready,omitempty"`
	Waiters    []ScopeID      `json:"waiters,omitempty"`
	Signals    []snapSignal   `json:"signals,omitempty"`
	Reports    []RowRef       `json:"reports,omitempty"`
	Roots      []snapScope    `json:"roots,omitempty"`
	Instances  map[string]int `json:"instances,omitempty"`
	Undos      []snapUndo     `json:"undos,omitempty"`
	Stopping   []RowRef       `json:"stopping,omitempty"`
	Catching   []ScopeID      `json:"catching,omitempty"`
	Ending     *snapEnd       `json:"ending,omitempty"`
	Reason     string         `json:"reason,omitempty"`
	Cleaned    bool           `json:"cleaned,omitempty"`
	Redrives   int            `json:"redrives,omitempty"`
	RedrivenAt Time           `json:"redriven,omitempty"`
	Rewound    bool           `json:"rewound,omitempty"`
	Texts      []int          `json:"texts,omitempty"`
}

type snapEnd struct {
	Status Status `json:"status"`
	Output int    `json:"output,omitempty"`
	Error  string `json:"error,omitempty"`
	Cause  string `json:"cause,omitempty"`
}

type snapSignal struct {
	Name string  `json:"name"`
	Text int     `json:"text"`
	ID   EventID `json:"id"`
}

type snapUndo struct {
	Unit  UnitKey `json:"unit"`
	State string  `json:"state"`
	Input int     `json:"input"`
}

type snapScope struct {
	ID     ScopeID        `json:"id"`
	Root   rootKind       `json:"root,omitempty"`
	Name   string         `json:"name,omitempty"`
	Owner  ScopeID        `json:"owner,omitempty"`
	Undoes UnitKey        `json:"undoes,omitempty"`
	Index  int            `json:"i,omitempty"`
	Round  int            `json:"round,omitempty"`
	Data   int            `json:"data"`
	Status scopeStatus    `json:"status,omitempty"`
	Vars   map[string]int `json:"vars,omitempty"`
	Visits map[string]int `json:"visits,omitempty"`
	Last   EventID        `json:"last"`
	Visit  *snapVisit     `json:"visit,omitempty"`
}

type snapVisit struct {
	ID        EventID   `json:"id"`
	State     string    `json:"state"`
	Kind      StateKind `json:"kind"`
	Key       UnitKey   `json:"key"`
	EnteredAt Time      `json:"at"`
	Input     int       `json:"input"`
	Value     int       `json:"value"`
	Work      int       `json:"work,omitempty"`
	Phase     Phase     `json:"phase"`
	Attempt   int       `json:"attempt,omitempty"`
	Retries   []int     `json:"retries,omitempty"`
	Until     Time      `json:"until,omitempty"`
	Unit      *snapUnit `json:"unit,omitempty"`
	Catcher   int       `json:"catcher,omitempty"`
	Error     string    `json:"error,omitempty"`
	Cause     string    `json:"cause,omitempty"`
	Fan       *snapFan  `json:"fan,omitempty"`
}

type snapUnit struct {
	Kind        UnitKind   `json:"kind,omitempty"`
	Status      UnitStatus `json:"status,omitempty"`
	Signal      string     `json:"signal,omitempty"`
	Child       string     `json:"child,omitempty"`
	Workflow    string     `json:"workflow,omitempty"`
	Version     int        `json:"version,omitempty"`
	Submitted   bool       `json:"submitted,omitempty"`
	Key         string     `json:"key,omitempty"`
	Offer       int        `json:"offer,omitempty"`
	Redelivery  int        `json:"redelivery,omitempty"`
	ScheduledAt Time       `json:"scheduled,omitempty"`
	OfferedAt   Time       `json:"offered,omitempty"`
	ClaimedAt   Time       `json:"claimed,omitempty"`
	Timeout     int64      `json:"timeout,omitempty"`
	Heartbeat   int64      `json:"heartbeat,omitempty"`
	Queue       int64      `json:"queue,omitempty"`
	Worker      string     `json:"worker,omitempty"`
	Session     string     `json:"session,omitempty"`
	Progress    int        `json:"progress,omitempty"`
	Work        int        `json:"work,omitempty"`
}

type snapFan struct {
	Limit    int         `json:"limit,omitempty"`
	Tolerate int         `json:"tolerate,omitempty"`
	Failed   int         `json:"failed,omitempty"`
	Run      string      `json:"run,omitempty"`
	Kids     []int       `json:"kids,omitempty"`
	Lost     []int       `json:"lost,omitempty"`
	Again    []int       `json:"again,omitempty"`
	Earlier  []string    `json:"earlier,omitempty"`
	Wrote    bool        `json:"wrote,omitempty"`
	Written  int         `json:"written,omitempty"`
	Error    string      `json:"error,omitempty"`
	Cause    string      `json:"cause,omitempty"`
	Count    int         `json:"n"`
	Next     int         `json:"next,omitempty"`
	Active   int         `json:"active,omitempty"`
	Done     int         `json:"done,omitempty"`
	Tail     EventID     `json:"tail"`
	Ended    EventID     `json:"ended"`
	Branches []snapScope `json:"branches,omitempty"`
	Results  map[int]int `json:"results,omitempty"`
}

// Snapshot writes the whole state, so that a load need not fold what was before it. Equal states give equal bytes. It
// also notes, outside the folded state, that SinceSnapshot counts from here.
func (s *State) Snapshot() []byte {
	w := snapWriter{number: map[string]int{}, format: usualFormat}
	sn := snapshot{
		Start: s.start.row(), Input: w.text(s.start.Input), StartedAt: s.startedAt,
		Seq: s.seq, Events: s.events, At: s.at, Status: s.status, Error: s.failure.code, Cause: s.failure.cause,
		Cancelling: s.cancelled, LastScope: s.lastScope, Ready: scopesOf(s.ready), Waiters: scopesOf(s.waiters),
		Reports: s.reports, Stopping: s.stopping, Catching: scopesOf(s.catching), Reason: s.reason, Cleaned: s.cleaned, Instances: s.instances,
		Redrives: s.redrives, RedrivenAt: s.redrivenAt, Rewound: s.rewound,
	}
	sn.End, sn.Ending = w.end(s.end), w.end(s.ending)
	for _, g := range s.signals {
		sn.Signals = append(sn.Signals, snapSignal{Name: g.name, Text: w.text(g.text), ID: g.id})
	}
	if c := s.scopes[MainScope]; c != nil {
		main := w.scope(c)
		sn.Main = &main
	}
	for _, c := range s.roots {
		sn.Roots = append(sn.Roots, w.scope(c))
	}
	for _, u := range s.undos {
		sn.Undos = append(sn.Undos, snapUndo{Unit: u.unit, State: u.state, Input: w.text(u.input)})
	}
	sn.Texts, sn.Format = w.lengths, w.format
	s.snapshotAt = s.events
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(sn); err != nil {
		panic("history: a snapshot is plain data: " + err.Error())
	}
	out.Write(w.texts)
	return out.Bytes()
}

func scopesOf(visits []*Visit) []ScopeID {
	var ids []ScopeID
	for _, v := range visits {
		if v != nil {
			ids = append(ids, v.scope.id)
		}
	}
	return ids
}

// snapWriter collects the texts.
type snapWriter struct {
	number  map[string]int
	lengths []int
	format  int
	texts   []byte
}

func (w *snapWriter) text(b []byte) int {
	if b == nil {
		return 0
	}
	if n := w.number[string(b)]; n > 0 {
		return n
	}
	w.lengths = append(w.lengths, len(b))
	w.texts = append(w.texts, b...)
	w.number[string(b)] = len(w.lengths)
	return len(w.lengths)
}

func (w *snapWriter) end(e *End) *snapEnd {
	if e == nil {
		return nil
	}
	return &snapEnd{Status: e.Status, Output: w.text(e.Output), Error: e.Error, Cause: e.Cause}
}

func (w *snapWriter) scope(c *Scope) snapScope {
	sc := snapScope{
		ID: c.id, Root: c.root, Name: c.name, Owner: c.owner, Undoes: c.undoes, Index: c.index, Round: c.round, Data: w.text(c.data),
		Status: c.status, Visits: c.visits, Last: c.last,
	}
	for _, name := range slices.Sorted(maps.Keys(c.vars)) {
		if sc.Vars == nil {
			sc.Vars = make(map[string]int, len(c.vars))
		}
		sc.Vars[name] = w.text(c.vars[name])
	}
	if c.visit != nil {
		sc.Visit = w.visit(c.visit)
	}
	return sc
}

func (w *snapWriter) visit(v *Visit) *snapVisit {
	sv := &snapVisit{
		ID: v.id, State: v.state, Kind: v.kind, Key: v.key, EnteredAt: v.enteredAt, Input: w.text(v.input),
		Value: w.text(v.value), Work: w.text(v.work), Phase: v.phase, Attempt: v.attempt, Retries: v.retries, Until: v.until,
		Catcher: v.catcher, Error: v.failure.code, Cause: v.failure.cause,
	}
	if u := v.unit; u.key != "" || u.scheduledAt != 0 {
		sv.Unit = &snapUnit{
			Kind: u.kind, Status: u.status, Signal: u.signal, Child: u.child, Workflow: u.workflow, Version: u.version,
			Submitted: u.submitted, Key: u.key, Offer: u.offer, Redelivery: u.redelivery,
			ScheduledAt: u.scheduledAt, OfferedAt: u.offeredAt, ClaimedAt: u.claimedAt, Timeout: u.timeout,
			Heartbeat: u.heartbeat, Queue: u.queue, Worker: u.worker, Session: u.session, Progress: w.text(u.progress), Work: w.text(u.work),
		}
	}
	if f := v.fan; f != nil {
		sv.Fan = &snapFan{
			Limit: f.limit, Count: len(f.branches), Next: f.next, Active: f.active, Done: f.done, Tail: f.tail,
			Ended: f.ended, Tolerate: f.tolerate, Failed: f.failed, Run: f.run, Kids: v.Kids(), Lost: f.lost, Again: f.again, Results: map[int]int{},
			Earlier: f.earlier, Wrote: f.wrote, Written: w.text(f.written), Error: f.fault.code, Cause: f.fault.cause,
		}
		if f.earlier != nil || f.wrote || v.Writes() {
			w.format = snapshotFormat
		}
		for i, c := range f.branches {
			if c != nil {
				sv.Fan.Branches = append(sv.Fan.Branches, w.scope(c))
			}
			if f.results[i] != nil {
				sv.Fan.Results[i] = w.text(f.results[i])
			}
		}
	}
	return sv
}

// Restore reads what Snapshot wrote. The error is ErrUnknownFormat where a newer version wrote it.
func Restore(data []byte) (*State, error) {
	line, texts, _ := bytes.Cut(data, []byte{'\n'})
	var probe struct {
		Format int      `json:"format"`
		Start  rowStart `json:"start"`
	}
	if err := json.Unmarshal(line, &probe); err != nil {
		return nil, fmt.Errorf("history: restore snapshot: %w", err)
	}
	if probe.Format < 1 || probe.Format > snapshotFormat || probe.Start.Behaviour > BehaviourLevel {
		return nil, fmt.Errorf("%w: format %d, behaviour level %d", ErrUnknownFormat, probe.Format, probe.Start.Behaviour)
	}
	var sn snapshot
	if err := json.Unmarshal(line, &sn); err != nil {
		return nil, fmt.Errorf("history: restore snapshot: %w", err)
	}
	r := snapReader{texts: make([][]byte, 1, len(sn.Texts)+1)}
	for _, n := range sn.Texts {
		if n < 0 || n > len(texts) {
			return nil, fmt.Errorf("history: restore snapshot: %d bytes of texts are missing", n-len(texts))
		}
		r.texts = append(r.texts, texts[:n:n])
		texts = texts[n:]
	}
	s := r.state(&sn)
	if r.err != nil {
		return nil, fmt.Errorf("history: restore snapshot: %w", r.err)
	}
	return s, nil
}

// snapReader builds the state; the first fault stays in err.
type snapReader struct {
	s     *State
	texts [][]byte
	err   error
}

func (r *snapReader) text(n int) []byte {
	if n < 0 || n >= len(r.texts) {
		r.fail("there is no text %d", n)
		return nil
	}
	return r.texts[n]
}

func (r *snapReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *snapReader) state(sn *snapshot) *State {
	s := New()
	r.s = s
	s.start = *sn.Start.start()
	s.start.Input = r.text(sn.Input)
	s.startedAt, s.seq, s.events, s.snapshotAt, s.at = sn.StartedAt, sn.Seq, sn.Events, sn.Events, sn.At
	s.status, s.failure, s.cancelled = sn.Status, failure{sn.Error, sn.Cause}, sn.Cancelling
	s.lastScope, s.reports, s.instances = sn.LastScope, sn.Reports, sn.Instances
	s.stopping = sn.Stopping
	s.end, s.ending, s.reason, s.cleaned = r.end(sn.End), r.end(sn.Ending), sn.Reason, sn.Cleaned
	s.redrives, s.redrivenAt, s.rewound = sn.Redrives, sn.RedrivenAt, sn.Rewound
	s.setDeadline()
	for _, g := range sn.Signals {
		text := r.text(g.Text)
		s.signals = append(s.signals, signal{name: g.Name, text: text, id: g.ID})
		s.held += len(text)
	}
	if sn.Main != nil {
		r.scope(sn.Main, nil)
	}
	for i := range sn.Roots {
		s.roots = append(s.roots, r.scope(&sn.Roots[i], nil))
	}
	for _, u := range sn.Undos {
		s.undos = append(s.undos, undo{unit: u.Unit, state: u.State, input: r.text(u.Input)})
	}
	for _, v := range r.visits(sn.Ready) {
		s.markReady(v)
	}
	s.waiters, s.catching = r.visits(sn.Waiters), r.visits(sn.Catching)
	return s
}

func (r *snapReader) end(e *snapEnd) *End {
	if e == nil {
		return nil
	}
	return &End{Status: e.Status, Output: r.text(e.Output), Error: e.Error, Cause: e.Cause}
}

func (r *snapReader) visits(ids []ScopeID) []*Visit {
	var list []*Visit
	for _, id := range ids {
		if c := r.s.scopes[id]; c != nil && c.visit != nil {
			list = append(list, c.visit)
			continue
		}
		r.fail("scope %d has no visit", id)
	}
	return list
}

func (r *snapReader) scope(sc *snapScope, parent *Visit) *Scope {
	c := &Scope{
		id: sc.ID, root: sc.Root, name: sc.Name, parent: parent, owner: sc.Owner, undoes: sc.Undoes, index: sc.Index, round: sc.Round,
		data: r.text(sc.Data), status: sc.Status, visits: sc.Visits, last: sc.Last,
	}
	c.prefix = c.prefixOf()
	for name, n := range sc.Vars {
		if c.vars == nil {
			c.vars = make(map[string][]byte, len(sc.Vars))
		}
		c.vars[name] = r.text(n)
		r.s.variables += len(c.vars[name])
	}
	r.s.scopes[c.id] = c
	if sc.Visit != nil {
		r.visit(sc.Visit, c)
	}
	return c
}

func (r *snapReader) visit(sv *snapVisit, c *Scope) {
	v := &Visit{
		scope: c, id: sv.ID, state: sv.State, kind: sv.Kind, key: sv.Key, enteredAt: sv.EnteredAt, input: r.text(sv.Input),
		value: r.text(sv.Value), work: r.text(sv.Work), phase: sv.Phase, attempt: sv.Attempt, retries: sv.Retries, until: sv.Until,
		catcher: sv.Catcher, failure: failure{sv.Error, sv.Cause},
	}
	c.visit = v
	if u := sv.Unit; u != nil {
		v.unit = unit{
			kind: u.Kind, status: u.Status, signal: u.Signal, child: u.Child, workflow: u.Workflow, version: u.Version,
			submitted: u.Submitted, key: u.Key, offer: u.Offer, redelivery: u.Redelivery,
			scheduledAt: u.ScheduledAt, offeredAt: u.OfferedAt, claimedAt: u.ClaimedAt, timeout: u.Timeout,
			heartbeat: u.Heartbeat, queue: u.Queue, worker: u.Worker, session: u.Session, progress: r.text(u.Progress), work: r.text(u.Work),
		}
	}
	if sv.Fan != nil {
		r.fan(sv.Fan, v)
	}
	if r.s.status == Running && c.status == scopeRuns && v.waits() {
		r.s.units[v.key] = v
		if v.HasRow() {
			r.s.units[v.rowUnit()] = v
		}
		r.s.setTimer(v)
	}
}

// waits tells whether the visit belongs among the open units.
func (v *Visit) waits() bool {
	return v.phase == PhaseOpen || v.phase == PhaseRetrying || v.phase == PhaseFanned && v.Run() != "" ||
		v.phase == PhaseEntered && v.kind == WaitState && v.until > v.enteredAt
}

func (r *snapReader) fan(sf *snapFan, v *Visit) {
	if sf.Count < 0 || sf.Count > MaxBranches {
		r.fail("%d branches", sf.Count)
		return
	}
	f := &fan{
		limit: sf.Limit, next: sf.Next, active: sf.Active, done: sf.Done, tail: sf.Tail, ended: sf.Ended,
		branches: make([]*Scope, sf.Count), results: make([][]byte, sf.Count), tolerate: sf.Tolerate, failed: sf.Failed,
		run: sf.Run, lost: sf.Lost, again: sf.Again, earlier: sf.Earlier, wrote: sf.Wrote, written: r.text(sf.Written),
		fault: failure{sf.Error, sf.Cause},
	}
	if sf.Run != "" && v.phase == PhaseFanned && !sf.Wrote {
		f.kids = make(map[int]Seq, len(sf.Kids))
		for _, index := range sf.Kids {
			f.kids[index] = 0
		}
	}
	if v.kind == MapState {
		f.items, _ = splitArray(v.work)
		if len(f.items) != sf.Count || f.next > sf.Count {
			r.fail("%d items for %d iterations", len(f.items), sf.Count)
		}
	}
	v.fan = f
	for i := range sf.Branches {
		if n := sf.Branches[i].Index; n < 0 || n >= sf.Count {
			r.fail("no branch %d", n)
			continue
		}
		f.branches[sf.Branches[i].Index] = r.scope(&sf.Branches[i], v)
	}
	for i, n := range sf.Results {
		if i < 0 || i >= sf.Count {
			r.fail("no result %d", i)
			continue
		}
		f.results[i] = r.text(n)
	}
}
