package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The limits of a call. The database has limits of its own for what it runs; these are for what never gets there, and for
// a server or a network that falls silent with its connections open, of which no error tells.
const (
	// acquireTimeout is how long a call waits for a connection. When it is over the pool is exhausted, or nobody can
	// connect: the caller is told to come again, instead of waiting in a queue that only grows.
	acquireTimeout = 5 * time.Second
	// answerTimeout is how long a call waits for the answer to what it has sent. It is longer than the database lets a
	// statement run, and than a pause that everybody survives; the connection is given up then.
	answerTimeout = 15 * time.Second
)

// acquire takes a connection from the pool. Its errors are those of something that was not sent.
func (s *Store) acquire(ctx context.Context) (conn *pgxpool.Conn, err error) {
	err = limited(ctx, s.options.acquireTimeout(), "no connection was free", func(ctx context.Context) error {
		conn, err = s.pool.Acquire(ctx)
		return err
	})
	if err != nil {
		return nil, notSent{err}
	}
	return conn, nil
}

// answered runs what waits for the server's answer.
func (s *Store) answered(ctx context.Context, wait func(context.Context) error) error {
	return limited(ctx, s.options.answerTimeout(), "the database did not answer", wait)
}

// limited bounds a wait. The error of the limit is none of the context's, which are the caller's affair.
func limited(ctx context.Context, most time.Duration, what string, wait func(context.Context) error) error {
	timed, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := wait(timed)
	if err != nil && timed.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%s within %v: %v", what, most, err)
	}
	return err
}

func (o Options) acquireTimeout() time.Duration { return orElse(o.AcquireTimeout, acquireTimeout) }

func (o Options) answerTimeout() time.Duration { return orElse(o.AnswerTimeout, answerTimeout) }

func orElse(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
