package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// args are the arguments of a statement by name.
type args = pgx.StrictNamedArgs

// pipeline is one round trip: statements that are sent together. Between begin and commit they stand or fall together,
// and the COMMIT travels with the statements that it depends on: what must stop it raises. Statements after it run by
// themselves.
type pipeline struct {
	store *Store
	batch pgx.Batch

	began     bool
	committed bool // the server has confirmed the COMMIT
	// after is the error of a statement that followed the COMMIT.
	after error
}

func (s *Store) pipeline() *pipeline { return &pipeline{store: s} }

// begin names the isolation level, whatever the database's default is: a check must see what was committed while the
// lock before it waited, and a stricter level would show it the state of the transaction's begin.
func (p *pipeline) begin() {
	p.began = true
	p.batch.Queue("begin isolation level read committed")
}

// snapshot begins a transaction in which all reads see one state of the database.
func (p *pipeline) snapshot() {
	p.began = true
	p.batch.Queue("begin isolation level repeatable read read only")
}

func (p *pipeline) commit() {
	if gate := p.store.options.Gate; gate != "" {
		p.batch.Queue(gate)
	}
	p.batch.Queue("commit").Exec(func(pgconn.CommandTag) error {
		p.committed = true
		return nil
	})
}

// exec adds a statement whose rows nobody needs.
func (p *pipeline) exec(sql string, a args) { p.batch.Queue(sql, a) }

// collect adds a statement and puts its rows, by the names of their columns, into the slice.
func collect[T any](p *pipeline, sql string, a args, into *[]T) {
	p.batch.Queue(sql, a).Query(func(rows pgx.Rows) error {
		var err error
		*into, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	})
}

// count adds a statement and puts the number of rows that it changed into n.
func (p *pipeline) count(sql string, a args, n *int) {
	p.batch.Queue(sql, a).Exec(func(tag pgconn.CommandTag) error {
		*n = int(tag.RowsAffected())
		return nil
	})
}

// run sends everything. Its error is of the statements up to the COMMIT, or of all where there is none; it is not translated.
func (p *pipeline) run(ctx context.Context) error {
	conn, err := p.store.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	err = p.store.answered(ctx, func(ctx context.Context) error { return conn.SendBatch(ctx, &p.batch).Close() })
	if err == nil {
		return nil
	}
	rollback(ctx, conn)
	if p.committed {
		p.after = err
		return nil
	}
	return err
}

// rollback ends a transaction that a failed statement has left open, so that the connection can be used again. It works
// without the caller's deadline, which may be why the statement failed.
func rollback(ctx context.Context, conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() || conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, err := conn.Exec(ctx, "rollback"); err != nil {
		conn.Conn().Close(ctx)
	}
}

// list runs one statement that reads, and returns its rows by the names of their columns.
func list[T any](ctx context.Context, s *Store, what, sql string, a args) ([]T, error) {
	out, err := read[T](ctx, s, sql, a)
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", what, translateRead(err))
	}
	return out, nil
}

func read[T any](ctx context.Context, s *Store, sql string, a args) (out []T, err error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	err = s.answered(ctx, func(ctx context.Context) error {
		rows, err := conn.Query(ctx, sql, a)
		if err == nil {
			out, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		}
		return err
	})
	return out, err
}

// one is list for a statement of one row; none is ErrNotFound.
func one[T any](ctx context.Context, s *Store, what, sql string, a args) (T, error) {
	out, err := list[T](ctx, s, what, sql, a)
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("store: %s: %w", what, ErrNotFound)
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return out[0], nil
}

// write runs one statement that writes, in a transaction of its own, and returns its rows.
func write[T any](ctx context.Context, s *Store, what, sql string, a args) ([]T, error) {
	p := s.pipeline()
	var out []T
	collect(p, sql, a, &out)
	if err := p.run(ctx); err != nil {
		return nil, fmt.Errorf("store: %s: %w", what, translateWrite(err))
	}
	return out, nil
}

// exec runs one statement that writes and returns nothing.
func (s *Store) exec(ctx context.Context, what, sql string, a args) error {
	p := s.pipeline()
	p.exec(sql, a)
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("store: %s: %w", what, translateWrite(err))
	}
	return nil
}
