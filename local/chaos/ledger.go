package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/orrery-dev/orrery/shared/pgserver"
	"github.com/orrery-dev/orrery/shared/wire"
)

// ledger is what workers and clients know, in a database that no harm is done to.
type ledger struct {
	server *pgserver.Server
	pool   *pgxpool.Pool

	effects, answers, temporary atomic.Int64
}

const ledgerSchema = `
	create table effect (
		key text, execution text, unit text, attempt integer, redelivery integer, worker text,
		at timestamptz default clock_timestamp());
	create table answer (
		call text, execution text, detail text, status integer, error text, temporary boolean,
		at timestamptz default clock_timestamp())`

func newLedger(ctx context.Context) (_ *ledger, err error) {
	l := &ledger{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.server, err = pgserver.Start(ctx, pgserver.Options{Volatile: true}); err != nil {
		return nil, err
	}
	if l.pool, err = pgxpool.New(ctx, l.server.URL("postgres")); err != nil {
		return nil, err
	}
	if _, err := l.pool.Exec(ctx, ledgerSchema); err != nil {
		return nil, fmt.Errorf("make the ledger: %w", err)
	}
	return l, nil
}

func (l *ledger) close() error {
	if l.pool != nil {
		l.pool.Close()
	}
	if l.server != nil {
		return l.server.Close()
	}
	return nil
}

// effect notes that a worker has had the effect of a task.
func (l *ledger) effect(ctx context.Context, worker string, a wire.Assignment) error {
	l.effects.Add(1)
	_, err := l.pool.Exec(ctx, "insert into effect values ($1, $2, $3, $4, $5, $6)",
		a.IdempotencyKey, a.Execution, a.Unit, a.Attempt, a.Redelivery, worker)
	if err != nil {
		return fmt.Errorf("note an effect: %w", err)
	}
	return nil
}

// answer notes what a client was told.
func (l *ledger) answer(ctx context.Context, call, execution, detail string, status int, answer error) error {
	l.answers.Add(1)
	text, temporary := "", answer != nil && wire.Temporary(answer)
	if answer != nil {
		text = answer.Error()
	}
	if temporary {
		l.temporary.Add(1)
	}
	_, err := l.pool.Exec(ctx, "insert into answer values ($1, $2, $3, $4, $5, $6)", call, execution, detail, status, text, temporary)
	if err != nil {
		return fmt.Errorf("note an answer: %w", err)
	}
	return nil
}

// effectRow is a unit of an execution with the times that its effect was had.
type effectRow struct {
	Execution, Unit string
	// Keys is how many idempotency keys it came under, Effects how often, Deliveries how many of them as different
	// hand-outs: pairs of attempt and redelivery.
	Keys, Effects, Deliveries int
	// Each says who had the effect and when, for people.
	Each string
}

func (l *ledger) byUnit(ctx context.Context) ([]effectRow, error) {
	rows, err := l.pool.Query(ctx, `
		select execution, unit, count(distinct key)::int as keys, count(*)::int as effects,
		       count(distinct (attempt, redelivery))::int as deliveries,
		       string_agg(format('attempt %s redelivery %s by %s at %s', attempt, redelivery, worker, at), ', ' order by at) as each
		from effect group by execution, unit`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[effectRow])
}

// acknowledged gives the details that a call's successes carry, by execution. A status of 202 is a success too: durable.
func (l *ledger) acknowledged(ctx context.Context, call string) (map[string][]string, error) {
	rows, err := l.pool.Query(ctx, "select execution, detail from answer where call = $1 and error = '' order by at", call)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	var execution, detail string
	_, err = pgx.ForEachRow(rows, []any{&execution, &detail}, func() error {
		out[execution] = append(out[execution], detail)
		return nil
	})
	return out, err
}
