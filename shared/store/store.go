package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options say how a process talks to the database.
type Options struct {
	// MaxConns bounds the pool; 4 when zero.
	MaxConns int
	// Direct is set when the URL leads to PostgreSQL itself. Without it every statement is clean for a transaction-mode
	// pooler: no named prepared statements, no session state, and Listen refuses.
	Direct bool
	// Application is shown in pg_stat_activity, such as "orrery-node n1".
	Application string
	// Tracer sees every statement; nil for none.
	Tracer pgx.QueryTracer
	// Now replaces the database's clock in tests. It is nil everywhere else (I9).
	Now func() time.Time
	// Gate is a statement that tests have sent between the checks of a commit and its COMMIT, to hold the transaction
	// open there. It is empty everywhere else.
	Gate string
}

// Store is the database, one method per thing that a process does with it. It is safe for concurrent calls and keeps no
// state but its connections.
type Store struct {
	pool    *pgxpool.Pool
	options Options
}

// Open prepares a store. It connects with the first call. Close frees the connections.
//
// A node opens two: one for its work, and one with MaxConns 1 for its heartbeats, so that no amount of work delays them.
func Open(ctx context.Context, url string, o Options) (*Store, error) { panic("not written") }

// Close waits for running calls and closes the connections.
func (s *Store) Close() { panic("not written") }
