package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// Queue is one line of waiting tasks: a contract in a namespace.
type Queue struct {
	Namespace history.NamespaceID
	Contract  history.Contract
	// Language is the tasks' wish for who polls, "" for none; a poll looks in that of its own language and in "".
	Language string
}

// Poll is one waiting call for tasks.
type Poll struct {
	ID        string // the worker's poll id
	Session   string
	Worker    string
	Namespace history.NamespaceID
	Language  string // of the worker, "" for none
	Contracts []history.Contract
	Max       int // from 1 to 100
	// Recall first looks for what an earlier try of the same poll has claimed within the last minute: the answer to that may have been
	// lost. What is found is the answer, and nothing is claimed for the poll. It costs a read of what the session holds.
	Recall bool
}

// ClaimRequest claims for many polls at once.
type ClaimRequest struct {
	Fence history.FenceNumber // of the node that claims; zero for a function
	Polls []Poll
	// Marks are where to look in the queues; nil looks from their start.
	Marks *Marks
	// Flag leaves the node's flag at the queues, in a transaction before the look, so that a writer after the look rings.
	// Heartbeats renew flags.
	Flag bool
}

// Claimed is one task for one poll of the request.
type Claimed struct {
	Poll int // index into ClaimRequest.Polls
	Assignment
}

// Assignment is everything that a worker is told about a task, but the token.
type Assignment struct {
	Task      history.TaskID
	Partition history.Partition
	Execution history.ExecutionID
	Name      string // of the execution
	Workflow  string
	Version   int
	Trace     string
	Token     int64 // fencing token of the key that the execution holds, zero for none
	Row       history.RowRef
	Contract  history.Contract
	Work      history.Task
	Claim     history.Claim
	Deadline  history.Time // zero for none
	// Turn is the one that has handed it over, where that owes its row; zero for a task that has a row.
	Turn history.Seq
}

// ClaimResult is what a claim brought.
type ClaimResult struct {
	Tasks []Claimed
	// More tells that more rows were seen than were had, because they were not wanted or because others were at them: a
	// poll that got too few looks again at once.
	More bool
	Now  history.Time
}

var (
	claimSQL      = query("claim")
	marksSQL      = query("marks")
	flagQueuesSQL = query("flag_queues")
)

// Claim takes the oldest queued rows for the polls, by priority, then age, and writes who holds them. It locks no
// execution and waits for nobody. A failure with an unknown outcome may have claimed: repeat the polls with Recall.
func (s *Store) Claim(ctx context.Context, q ClaimRequest) (ClaimResult, error) {
	groups := group(q.Polls)
	looked, _ := q.Marks.stretches(groups.queues)
	p := s.pipeline()
	if q.Flag {
		tasks, versions := contractColumns(contractsOf(groups.queues))
		p.begin()
		p.exec(flagQueuesSQL, args{"tasks": tasks, "versions": versions, "fence": int32(q.Fence), "now": s.now()})
		p.commit()
	}
	var rows []claimRow
	collect(p, claimSQL, s.claimArgs(q, groups, looked), &rows)
	var firsts []markRow
	if q.Marks != nil {
		collect(p, marksSQL, s.marksArgs(groups.queues, looked), &firsts)
	}
	err := p.run(ctx)
	if err == nil {
		err = p.after
	}
	if err != nil {
		return ClaimResult{}, fmt.Errorf("store: claim for %d polls: %w", len(q.Polls), translateWrite(err))
	}
	if q.Marks != nil {
		q.Marks.observe(groups.queues, looked, firsts)
	}
	return claimResult(rows), nil
}

// grouped are polls by what they can take: those of one group are interchangeable. Each group has queues of its own.
type grouped struct {
	of     []int32 // group of each poll
	wanted []int32 // rows, by group
	queues []Queue
	owner  []int32 // group of each queue
}

func group(polls []Poll) grouped {
	var g grouped
	known := map[string]int32{}
	for _, p := range polls {
		name := groupName(p)
		n, ok := known[name]
		if !ok {
			n = int32(len(known))
			known[name] = n
			g.wanted = append(g.wanted, 0)
			for _, q := range p.queues() {
				g.queues = append(g.queues, q)
				g.owner = append(g.owner, n)
			}
		}
		g.of = append(g.of, n)
		g.wanted[n] += int32(p.Max)
	}
	return g
}

// slots lists the polls, by their places from 1, that the rows of each group are for, the groups one after the other.
// The polls of a group take turns, so that a short queue is shared.
func (g *grouped) slots(polls []Poll) (slots, first []int32) {
	for group := range g.wanted {
		first = append(first, int32(len(slots)))
		for round, more := 0, true; more; round++ {
			more = false
			for i, p := range polls {
				if g.of[i] == int32(group) && round < p.Max {
					slots = append(slots, int32(i)+1)
					more = true
				}
			}
		}
	}
	return slots, first
}

func groupName(p Poll) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %q", p.Namespace, p.Language)
	for _, c := range sortedContracts(p.Contracts) {
		fmt.Fprintf(&b, " %q@%d", c.Task, c.Version)
	}
	return b.String()
}

func sortedContracts(cs []history.Contract) []history.Contract {
	cs = slices.Clone(cs)
	slices.SortFunc(cs, func(a, b history.Contract) int {
		if c := strings.Compare(a.Task, b.Task); c != 0 {
			return c
		}
		return a.Version - b.Version
	})
	return slices.Compact(cs)
}

// queues are where the poll looks: for each contract, tasks of no language and of its own.
func (p Poll) queues() []Queue {
	var out []Queue
	for _, c := range sortedContracts(p.Contracts) {
		out = append(out, Queue{p.Namespace, c, ""})
		if p.Language != "" {
			out = append(out, Queue{p.Namespace, c, p.Language})
		}
	}
	return out
}

func (s *Store) claimArgs(q ClaimRequest, g grouped, looked []stretch) args {
	var polls, sessions, workers []string
	var recalls []bool
	var maxes []int32
	for _, p := range q.Polls {
		polls = append(polls, p.ID)
		sessions = append(sessions, p.Session)
		workers = append(workers, p.Worker)
		recalls = append(recalls, p.Recall)
		maxes = append(maxes, int32(p.Max))
	}
	c := columnsOfStretches(g.queues, looked)
	groups := make([]int32, len(c.queues))
	for i, queue := range c.queues {
		groups[i] = g.owner[queue]
	}
	wants := make([]int32, len(g.wanted))
	for i := range wants {
		wants[i] = int32(i)
	}
	slots, first := g.slots(q.Polls)
	return args{
		"fence": int32(q.Fence), "now": s.now(),
		"polls": polls, "sessions": sessions, "workers": workers, "recalls": recalls, "maxes": maxes,
		"want_groups": wants, "want_rows": g.wanted, "first_slots": first, "slot_polls": slots,
		"look_groups": groups, "namespaces": c.namespaces, "tasks": c.tasks, "versions": c.versions, "languages": c.languages,
		"from_ranks": c.fromRanks, "from_ids": c.fromIDs, "last_ranks": c.lastRanks,
	}
}

func (s *Store) marksArgs(queues []Queue, looked []stretch) args {
	c := columnsOfStretches(queues, looked)
	return args{
		"now": s.now(), "namespaces": c.namespaces, "tasks": c.tasks, "versions": c.versions, "languages": c.languages,
		"from_ranks": c.fromRanks, "from_ids": c.fromIDs, "last_ranks": c.lastRanks,
	}
}

// claimRow is a task with the poll that it is for; Place is zero in the one row of a claim that got nothing.
type claimRow struct {
	Now             pgtype.Timestamptz
	More            bool
	Place           int64 // of the poll, from 1
	ID              *int64
	Partition       *int16
	Execution       *int64
	Name            *string
	Workflow        *string
	WorkflowVersion *int32
	Trace           *string
	FencingToken    *int64
	Unit            *string
	Attempt         *int32
	Offer           *int32
	Task            *string
	Version         *int32
	Input           *string
	IdempotencyKey  *string
	Redelivery      *int32
	TimeoutMs       *int64
	HeartbeatMs     *int64
	Session         *string
	Worker          *string
	Poll            *string
	ClaimedAt       pgtype.Timestamptz
	Turn            int32
}

func claimResult(rows []claimRow) ClaimResult {
	out := ClaimResult{Now: instant(rows[0].Now), More: rows[0].More}
	for i := range rows {
		if r := &rows[i]; r.Place > 0 {
			out.Tasks = append(out.Tasks, Claimed{Poll: int(r.Place) - 1, Assignment: r.assignment()})
		}
	}
	return out
}

func (r *claimRow) assignment() Assignment {
	a := Assignment{
		Task: history.TaskID(*r.ID), Partition: history.Partition(*r.Partition), Execution: history.ExecutionID(*r.Execution),
		Name: *r.Name, Workflow: *r.Workflow, Version: int(*r.WorkflowVersion), Trace: value(r.Trace), Token: value(r.FencingToken),
		Row:      history.RowRef{Unit: history.UnitKey(*r.Unit), Attempt: int(*r.Attempt), Offer: int(*r.Offer)},
		Contract: history.Contract{Task: *r.Task, Version: int(*r.Version)},
		Work: history.Task{
			Input: []byte(*r.Input), IdempotencyKey: *r.IdempotencyKey, Redelivery: int(*r.Redelivery),
			Timeout: value(r.TimeoutMs), HeartbeatTimeout: value(r.HeartbeatMs),
		},
		Claim: history.Claim{
			Task: history.TaskID(*r.ID), Session: value(r.Session), Worker: value(r.Worker), PollID: value(r.Poll),
			At: instant(r.ClaimedAt),
		},
		Turn: history.Seq(r.Turn),
	}
	if a.Work.Timeout > 0 {
		a.Deadline = a.Claim.At + history.Time(a.Work.Timeout)
	}
	return a
}
