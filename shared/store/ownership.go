package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/orrery-dev/orrery/shared/history"
)

// Owner says who owns a partition. Fence is zero while nobody does.
type Owner struct {
	Partition   history.Partition
	Epoch       history.Epoch
	Fence       history.FenceNumber
	Node        string
	Incarnation string
}

// Held is a partition and the epoch of its ownership.
type Held struct {
	Partition history.Partition
	Epoch     history.Epoch
}

var (
	partitionsSQL      = query("partitions")
	takeSQL            = query("take")
	releaseSQL         = query("release")
	fenceSQL           = query("fence")
	fenceExclusiveSQL  = query("fence_exclusive")
	endFenceHoldersSQL = query("end_fence_holders")
	checkFenceSQL      = query("check_fence")
)

// Partitions lists all partitions by number, with the generation of Pulse.Owners that the list is of or newer.
func (s *Store) Partitions(ctx context.Context) (owners []Owner, generation int64, err error) {
	type row struct {
		ID          int16
		Epoch       int64
		Fence       int32
		Node        string
		Incarnation string
		Generation  int64
	}
	rows, err := list[row](ctx, s, "read partitions", partitionsSQL, args{})
	for _, r := range rows {
		generation = r.Generation
		owners = append(owners, Owner{
			Partition: history.Partition(r.ID), Epoch: history.Epoch(r.Epoch), Fence: history.FenceNumber(r.Fence),
			Node: r.Node, Incarnation: r.Incarnation,
		})
	}
	return owners, generation, err
}

// TakeRequest takes partitions from one incarnation that is dead, or from nobody.
type TakeRequest struct {
	By         history.FenceNumber
	From       history.FenceNumber // zero for partitions without an owner
	Partitions []history.Partition
	// Timeout is the node timeout: From is not taken from while its heartbeat is younger, unless it is fenced or gone.
	Timeout time.Duration
}

// Take moves those of the partitions that From still owns, raises their epochs and returns them. It holds From's fence
// exclusively and marks that incarnation fenced in the same transaction, so none of its commits is under way or can
// follow. A holder of that fence that does not end within a second loses its session. Of concurrent takers each gets a disjoint set.
// The error matches ErrFenced when By itself is fenced.
func (s *Store) Take(ctx context.Context, q TakeRequest) ([]Held, error) {
	type row struct {
		ID    int16
		Epoch int64
	}
	var rows []row
	err := s.underFences(ctx, fences{shared: q.By, exclusive: q.From}, func(p *pipeline) {
		p.exec(checkFenceSQL, args{"fence": int32(q.By), "partitions": []int16{}, "epochs": []int64{}})
		collect(p, takeSQL, args{
			"by": int32(q.By), "from": int32(q.From), "partitions": int16s(q.Partitions),
			"timeout": q.Timeout.Milliseconds(), "now": s.now(),
		}, &rows)
	})
	if err != nil {
		return nil, fmt.Errorf("store: take partitions of incarnation %d: %w", q.From, translateWrite(err))
	}
	var out []Held
	for _, r := range rows {
		out = append(out, Held{history.Partition(r.ID), history.Epoch(r.Epoch)})
	}
	return out, nil
}

// Handover names the new owner of a partition.
type Handover struct {
	Partition history.Partition
	To        history.FenceNumber
}

// Release gives partitions of By to nodes that are live, under By's own fence held exclusively, and returns what it gave. A
// partition that By does not own, or whose new owner is fenced or gone, stays. The new owners are rung.
func (s *Store) Release(ctx context.Context, by history.FenceNumber, to []Handover) ([]history.Partition, error) {
	type row struct{ ID int16 }
	var partitions []int16
	var owners []int32
	for _, h := range to {
		partitions = append(partitions, int16(h.Partition))
		owners = append(owners, int32(h.To))
	}
	var rows []row
	err := s.underFences(ctx, fences{exclusive: by}, func(p *pipeline) {
		p.exec(checkFenceSQL, args{"fence": int32(by), "partitions": []int16{}, "epochs": []int64{}})
		collect(p, releaseSQL, args{"by": int32(by), "partitions": partitions, "owners": owners, "now": s.now()}, &rows)
	})
	if err != nil {
		return nil, fmt.Errorf("store: release partitions: %w", translateWrite(err))
	}
	var out []history.Partition
	for _, r := range rows {
		out = append(out, history.Partition(r.ID))
	}
	// The release stands; who is not rung sees it with its next heartbeat.
	_ = s.Ring(ctx, Bells{From: by, Inbox: out})
	return out, nil
}

// TakeOwnFence waits until no commit of the incarnation is under way: after it, a commit whose outcome was unknown has
// either happened or never will. A session that holds the fence for more than a second is ended.
func (s *Store) TakeOwnFence(ctx context.Context, fence history.FenceNumber) error {
	err := s.underFences(ctx, fences{exclusive: fence}, func(*pipeline) {})
	if err != nil {
		return fmt.Errorf("store: take own fence: %w", translateWrite(err))
	}
	return nil
}

// fences are those that a transaction holds; zero for none.
type fences struct {
	shared    history.FenceNumber // of who acts: not taken away meanwhile
	exclusive history.FenceNumber // of who is acted upon: no commit of it is under way
}

// takerPatience is how long a taker waits for a fence before it ends the sessions that hold it; a variable for tests.
var takerPatience = "1s"

// takerTries is how often a taker waits.
const takerTries = 3

// underFences runs statements in a transaction that holds the fences. Whoever keeps the exclusive one from it for more than
// a second is frozen or hangs, and loses its session: a node that has died must not hold up its successor. The error is not translated.
func (s *Store) underFences(ctx context.Context, f fences, add func(*pipeline)) error {
	for try := 1; ; try++ {
		p := s.pipeline()
		p.begin()
		p.lock(f)
		add(p)
		p.commit()
		err := p.run(ctx)
		var pg *pgconn.PgError
		if err == nil || try == takerTries || !errors.As(err, &pg) || pg.Code != "55P03" {
			return err
		}
		if err := s.exec(ctx, "end the holders of a fence", endFenceHoldersSQL, args{"fence": int32(f.exclusive)}); err != nil {
			return err
		}
	}
}

// lock adds the locks in the order of the fences' numbers, so that two takers of each other do not wait in a circle.
func (p *pipeline) lock(f fences) {
	type lock struct {
		fence history.FenceNumber
		sql   string
	}
	locks := []lock{{f.shared, fenceSQL}, {f.exclusive, fenceExclusiveSQL}}
	slices.SortFunc(locks, func(a, b lock) int { return cmp.Compare(a.fence, b.fence) })
	for _, l := range locks {
		if l.fence != 0 {
			p.exec(l.sql, args{"fence": int32(l.fence), "lock_timeout": takerPatience})
		}
	}
}
