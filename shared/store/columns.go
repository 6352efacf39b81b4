package store

import (
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// itemColumns are the items of a batch as its statements take them: arrays, in the order of the rows' locks.
type itemColumns struct {
	fence     history.FenceNumber
	endings   []int64 // executions that end
	marked    []int64 // executions that cannot end yet
	turns     turnColumns
	starts    startColumns
	told      toldColumns
	stopped   stopColumns
	snapshots snapshotColumns
	owed      owedColumns
	owing     []int64 // executions that exist and whose turns leave something to be written
	settled   settleColumns
	offers    offerColumns // of executions that exist; those of new ones are with their starts
	consumed  consumedColumns
	// occurrences end with the executions that they have started, and retaken ones go on with them.
	occurrences settledColumns
	retaken     retakeColumns
}

func columnsOfItems(fence history.FenceNumber, items []Item) *itemColumns {
	c := &itemColumns{fence: fence, endings: []int64{}, marked: []int64{}}
	c.consumed.entries = []int64{}
	for _, i := range sortedItems(items) {
		c.add(i, &items[i])
	}
	return c
}

func (c *itemColumns) add(index int, it *Item) {
	t := it.Turn
	switch {
	case t == nil:
		if it.Ending {
			c.marked = append(c.marked, int64(it.Execution))
		}
		return
	case it.New != nil:
		c.starts.add(index, it)
		c.told.add(it)
		return
	case t.End != nil:
		c.endings = append(c.endings, int64(t.Execution))
		if t.Settles != 0 {
			c.occurrences.addTurn(t)
		}
	}
	if t.Retakes != 0 {
		c.retaken.add(t)
	}
	c.turns.add(t, it.Owes)
	if it.Owes {
		c.owing = append(c.owing, int64(t.Execution))
	}
	c.told.add(it)
	for i := range t.Stops {
		c.stopped.add(t.Execution, &t.Stops[i])
	}
	if t.Snapshot != nil {
		c.snapshots.add(t)
	}
	for i := range it.Owed {
		c.owed.add(t, &it.Owed[i])
	}
	c.settled.add(it.Partition, t)
	for i := range t.Offers {
		c.offers.add(int64(t.Execution), t.At, &t.Offers[i])
	}
	for i := range t.Consumed {
		c.consumed.add(t.Execution, &t.Consumed[i])
	}
}

// ended is the status that a turn gives its execution, NULL where that stays; and no timer outlives the end.
func ended(t *history.Turn) (status *int16, wake *time.Time) {
	switch {
	case t.End != nil:
		s := int16(t.End.Status)
		return &s, nil
	case t.Reopened:
		s := int16(history.Running)
		return &s, timestamp(t.WakeAt)
	}
	return nil, timestamp(t.WakeAt)
}

// encoded is the row of history of the turn's events, NULL without events.
func encoded(t *history.Turn) *string {
	if len(t.Events) == 0 {
		return nil
	}
	return text(history.EncodeEvents(t.Events))
}

type turnColumns struct {
	executions  []int64
	seqs        []int32
	ats         []time.Time
	firstEvents []int32
	events      []*string
	wakes       []*time.Time
	owes        []bool
	statuses    []*int16
	changes     []int16
}

func (c *turnColumns) add(t *history.Turn, owes bool) {
	status, wake := ended(t)
	c.executions = append(c.executions, int64(t.Execution))
	c.seqs = append(c.seqs, int32(t.Seq))
	c.ats = append(c.ats, t.At.Time())
	c.firstEvents = append(c.firstEvents, int32(t.FirstEvent))
	c.events = append(c.events, encoded(t))
	c.wakes = append(c.wakes, wake)
	c.owes = append(c.owes, owes)
	c.statuses = append(c.statuses, status)
	c.changes = append(c.changes, change(t))
}

// change is by how much a turn changes the number of running executions.
func change(t *history.Turn) int16 {
	switch {
	case t.End != nil && !t.Reopened:
		return -1
	case t.End == nil && t.Reopened:
		return 1
	}
	return 0
}

func (c *turnColumns) args(fence history.FenceNumber) args {
	return args{
		"fence": int32(fence), "changes": c.changes, "executions": c.executions, "seqs": c.seqs, "ats": c.ats, "first_events": c.firstEvents, "events": c.events,
		"wakes": c.wakes, "owes": c.owes, "statuses": c.statuses,
	}
}

// toldColumns are the ends of children as their parents are told of them.
type toldColumns struct {
	culprits, parents       []int64
	units                   []string
	attempts                []int32
	statuses                []int16
	ats                     []time.Time
	outputs, errors, causes []*string
}

func (c *toldColumns) add(it *Item) {
	t := it.Turn
	if t.End == nil || t.Told == nil {
		return
	}
	culprit := it.execution()
	if culprit == 0 {
		culprit = it.parent
	}
	c.culprits = append(c.culprits, int64(culprit))
	c.parents = append(c.parents, int64(t.Told.Execution))
	c.units = append(c.units, string(t.Told.Unit))
	c.attempts = append(c.attempts, int32(t.Told.Attempt))
	c.statuses = append(c.statuses, int16(t.End.Status))
	c.ats = append(c.ats, t.At.Time())
	c.outputs = append(c.outputs, text(t.End.Output))
	var code, cause *string
	if t.End.Status != history.Succeeded {
		code, cause = &t.End.Error, &t.End.Cause
	}
	c.errors, c.causes = append(c.errors, code), append(c.causes, cause)
}

func (c *toldColumns) args() args {
	return args{
		"culprits": c.culprits, "parents": c.parents, "units": c.units, "attempts": c.attempts, "statuses": c.statuses,
		"ats": c.ats, "outputs": c.outputs, "errors": c.errors, "causes": c.causes,
	}
}

// stopColumns are children that are told to cancel.
type stopColumns struct {
	parents        []int64
	names, reasons []string
	finals         []*bool
}

func (c *stopColumns) add(parent history.ExecutionID, s *history.Stop) {
	c.parents = append(c.parents, int64(parent))
	c.names = append(c.names, s.Name)
	c.reasons = append(c.reasons, s.Reason)
	var final *bool
	if s.Terminate {
		final = &s.Terminate
	}
	c.finals = append(c.finals, final)
}

func (c *stopColumns) args() args {
	return args{"parents": c.parents, "names": c.names, "reasons": c.reasons, "finals": c.finals}
}

type snapshotColumns struct {
	executions []int64
	seqs       []int32
	states     [][]byte
}

func (c *snapshotColumns) add(t *history.Turn) {
	c.executions = append(c.executions, int64(t.Execution))
	c.seqs = append(c.seqs, int32(t.Seq))
	c.states = append(c.states, t.Snapshot)
}

func (c *snapshotColumns) args() args {
	return args{"executions": c.executions, "seqs": c.seqs, "states": c.states}
}

// settleColumns are changes of queue rows that exist.
type settleColumns struct {
	resolved struct {
		executions          []int64
		units               []string
		attempts            []int32
		onlyQueued, notices []bool
	}
	lost struct {
		executions       []int64
		units            []string
		attempts, offers []int32
	}
	noticed struct {
		partitions []int16
		tasks      []int64
	}
}

func (c *settleColumns) add(p history.Partition, t *history.Turn) {
	for _, r := range t.Resolved {
		c.resolved.executions = append(c.resolved.executions, int64(t.Execution))
		c.resolved.units = append(c.resolved.units, string(r.Unit))
		c.resolved.attempts = append(c.resolved.attempts, int32(r.Attempt))
		c.resolved.onlyQueued = append(c.resolved.onlyQueued, r.OnlyQueued)
		c.resolved.notices = append(c.resolved.notices, r.CancelNotice)
	}
	for _, l := range t.Lost {
		c.lost.executions = append(c.lost.executions, int64(t.Execution))
		c.lost.units = append(c.lost.units, string(l.Unit))
		c.lost.attempts = append(c.lost.attempts, int32(l.Attempt))
		c.lost.offers = append(c.lost.offers, int32(l.Offer))
	}
	for _, n := range t.Noticed {
		c.noticed.partitions = append(c.noticed.partitions, int16(p))
		c.noticed.tasks = append(c.noticed.tasks, int64(n.Task))
	}
}

func (c *settleColumns) any() bool {
	return len(c.resolved.executions)+len(c.lost.executions)+len(c.noticed.tasks) > 0
}

func (c *settleColumns) args(consumed []int64) args {
	return args{
		"resolved_executions": c.resolved.executions, "resolved_units": c.resolved.units,
		"resolved_attempts": c.resolved.attempts, "only_queued": c.resolved.onlyQueued, "notices": c.resolved.notices,
		"lost_executions": c.lost.executions, "lost_units": c.lost.units, "lost_attempts": c.lost.attempts,
		"lost_offers": c.lost.offers, "noticed_partitions": c.noticed.partitions, "noticed_tasks": c.noticed.tasks,
		"consumed": consumed,
	}
}

// offerColumns are queue rows to write. Places are the executions' numbers, or the places of new ones among the starts.
type offerColumns struct {
	places               []int64
	units                []string
	attempts, offers     []int32
	tasks                []string
	versions             []int32
	languages            []string
	ranks                []int16
	redeliveries         []int32
	timeouts, heartbeats []*int64
	keys, inputs         []string
	claimedAts           []*time.Time
	sessions, workers    []*string
	polls                []*string
}

func (c *offerColumns) add(place int64, at history.Time, o *history.Offer) {
	c.places = append(c.places, place)
	c.units = append(c.units, string(o.Unit))
	c.attempts = append(c.attempts, int32(o.Attempt))
	c.offers = append(c.offers, int32(o.Offer))
	c.tasks = append(c.tasks, o.Contract.Task)
	c.versions = append(c.versions, int32(o.Contract.Version))
	c.languages = append(c.languages, o.Language)
	c.ranks = append(c.ranks, rankOf(o.Priority))
	c.redeliveries = append(c.redeliveries, int32(o.Task.Redelivery))
	c.timeouts = append(c.timeouts, positive(o.Task.Timeout))
	c.heartbeats = append(c.heartbeats, positive(o.Task.HeartbeatTimeout))
	c.keys = append(c.keys, o.Task.IdempotencyKey)
	c.inputs = append(c.inputs, string(o.Task.Input))
	var claim history.Claim
	switch {
	case o.Claim != nil:
		claim = *o.Claim
	case o.TokenTask:
		claim.At = at
	}
	c.claimedAts = append(c.claimedAts, timestamp(claim.At))
	c.sessions = append(c.sessions, optional(claim.Session))
	c.workers = append(c.workers, optional(claim.Worker))
	c.polls = append(c.polls, optional(claim.PollID))
}

// rankOf orders rows, lower first.
func rankOf(priority int) int16 { return int16(-min(max(priority, -maxPriority), maxPriority)) }

// maxPriority bounds priorities on both sides; what is beyond counts as the bound.
const maxPriority = 30_000

func (c *offerColumns) args(fence history.FenceNumber) args {
	return args{
		"fence": int32(fence), "executions": c.places, "units": c.units, "attempts": c.attempts, "offers": c.offers,
		"tasks": c.tasks, "versions": c.versions, "languages": c.languages, "ranks": c.ranks, "redeliveries": c.redeliveries,
		"timeouts": c.timeouts, "heartbeats": c.heartbeats, "idempotency_keys": c.keys, "inputs": c.inputs,
		"claimed_ats": c.claimedAts, "sessions": c.sessions, "workers": c.workers, "polls": c.polls,
	}
}

// owedColumns are rows of earlier hand-overs.
type owedColumns struct {
	offerColumns
	origins, turns []int32
}

func (c *owedColumns) add(t *history.Turn, h *HandOut) {
	c.offerColumns.add(int64(t.Execution), t.At, &h.Offer)
	if poll := &c.polls[len(c.polls)-1]; h.Claim.Session != "" && *poll == nil {
		*poll = new(string)
	}
	c.origins = append(c.origins, int32(h.From))
	c.turns = append(c.turns, int32(h.Turn))
}

func (c *owedColumns) args() args {
	a := c.offerColumns.args(0)
	delete(a, "fence")
	a["fences"], a["turns"] = c.origins, c.turns
	return a
}

type consumedColumns struct {
	executions, entries []int64
	outcomes            []string
	events              []int32
	answers             []string
}

func (c *consumedColumns) add(id history.ExecutionID, e *history.Consumed) {
	reply := history.Reply{Outcome: history.Applied}
	if e.Reply != nil {
		reply = *e.Reply
	}
	c.executions = append(c.executions, int64(id))
	c.entries = append(c.entries, int64(e.ID))
	c.outcomes = append(c.outcomes, string(reply.Outcome))
	c.events = append(c.events, int32(reply.Event))
	c.answers = append(c.answers, reply.Message)
}

func (c *consumedColumns) args(s *Store) args {
	return args{
		"executions": c.executions, "entries": c.entries, "outcomes": c.outcomes, "events": c.events, "answers": c.answers,
		"now": s.now(),
	}
}
