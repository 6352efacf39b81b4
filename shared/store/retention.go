package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

var (
	expireSQL  = query("expire")
	daysSQL    = query("days")
	keepDaySQL = query("keep_day")
	dropDaySQL = query("drop_day")

	countActiveSQL = query("count_active")
)

// Expiry is one step of the walk over all executions that removes those whose time is over.
type Expiry struct {
	After  history.ExecutionID // where the walk has come to; zero to begin
	Window int                 // executions to look at
}

// Expired is what a step has done.
type Expired struct {
	Busy    bool                // another cleaner is at work; nothing was done
	Last    history.ExecutionID // where the next step goes on; zero when the walk is over
	Removed int
}

// Expire removes executions that ended longer ago than their namespace keeps them. One cleaner works at a time.
func (s *Store) Expire(ctx context.Context, q Expiry) (Expired, error) {
	type row struct {
		Last    int64
		More    bool
		Removed int64
	}
	var rows []row
	p := s.pipeline()
	p.begin()
	p.exec(cleanLockSQL, args{})
	collect(p, expireSQL, args{"after": int64(q.After), "window": q.Window, "now": s.now()}, &rows)
	p.commit()
	err := p.run(ctx)
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "OR005":
		return Expired{Busy: true, Last: q.After}, nil
	case err != nil:
		return Expired{Last: q.After}, fmt.Errorf("store: expire: %w", translateWrite(err))
	}
	out := Expired{Removed: int(rows[0].Removed)}
	if rows[0].More {
		out.Last = history.ExecutionID(rows[0].Last)
	}
	return out, nil
}

// Day is a day of history that has partitions.
type Day struct {
	Date time.Time
	// Age counts the days since; negative for one that is made ahead.
	Age int
	// Old is set where every namespace keeps executions for a shorter time.
	Old bool
}

// Days lists them, oldest first.
func (s *Store) Days(ctx context.Context) ([]Day, error) {
	type row struct {
		Day pgtype.Date
		Age int32
		Old bool
	}
	rows, err := list[row](ctx, s, "list days", daysSQL, args{"now": s.now()})
	var out []Day
	for _, r := range rows {
		out = append(out, Day{r.Day.Time, int(r.Age), r.Old})
	}
	return out, err
}

// KeepDay moves executions of a day, with their history, to the partition that is never dropped: most of them at most. It
// returns how many. What others have locked is left.
func (s *Store) KeepDay(ctx context.Context, day time.Time, most int) (int, error) {
	type row struct{ Kept int32 }
	rows, err := write[row](ctx, s, "keep what is left of a day", keepDaySQL, args{"day": day, "most": int32(most)})
	if err != nil {
		return 0, err
	}
	return int(rows[0].Kept), nil
}

// DropDay drops the history of a day that is over, unless an execution of it is kept, and tells whether it did. ErrConflict
// where readers hold it: try again later.
func (s *Store) DropDay(ctx context.Context, day time.Time) (bool, error) {
	type row struct{ Dropped bool }
	rows, err := write[row](ctx, s, "drop a day", dropDaySQL, args{"day": day})
	if err != nil {
		return false, err
	}
	return rows[0].Dropped, nil
}

// CountActive sets right how many executions run in namespaces that have a limit, every ten minutes, and returns by how much
// that was wrong. Where there is no limit, and before it is time, it costs next to nothing.
func (s *Store) CountActive(ctx context.Context) (wrong int64, err error) {
	type row struct{ Wrong int64 }
	rows, err := write[row](ctx, s, "count active executions", countActiveSQL, args{"now": s.now()})
	if err != nil {
		return 0, err
	}
	return rows[0].Wrong, nil
}
