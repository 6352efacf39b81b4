package store

import (
	"context"
	"fmt"
	"maps"
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
	// AcquireTimeout and AnswerTimeout bound the wait for a free connection, 5 s when zero, and for the database's answer, 15 s.
	AcquireTimeout, AnswerTimeout time.Duration
	// Application is shown in pg_stat_activity, such as "orrery-node n1".
	Application string
	// Tracer sees every statement; nil for none.
	Tracer pgx.QueryTracer
	// Now replaces the database's clock in tests. It is nil everywhere else (I9).
	Now func() time.Time
	// Gate is a statement that tests have sent between the checks of a transaction and its COMMIT, to hold it open there.
	// It is empty everywhere else.
	Gate string
}

// Store is the database, one method per thing that a process does with it. It is safe for concurrent calls and keeps no
// state but its connections.
type Store struct {
	pool    *pgxpool.Pool
	options Options
}

// lockTimeout is how long a statement of a commit waits for a lock. What a commit may have to wait for it skips, but for its
// fence: whoever holds that exclusively is done in a round trip.
var lockTimeout = "500ms" // tests have more patience

// The limits of a direct connection; migrations/roles.sql sets the same for connections through a pooler.
const (
	idleTimeout      = "2000"  // milliseconds in a transaction without a statement
	statementTimeout = "10000" // milliseconds
)

// planning fixes the plans of a direct connection. Statements are prepared once and planned once, often while the tables are
// empty, and run on until the tables are analysed: so their plans must not follow from how many rows there are. Every hot
// statement finds its rows by an index for each row that it is given, and the tests hold it to that. A plan that reads and hashes a whole
// table, which looks cheap while it is small, is kept out.
var planning = map[string]string{
	"plan_cache_mode":  "force_generic_plan",
	"enable_seqscan":   "off",
	"enable_hashjoin":  "off",
	"enable_mergejoin": "off",
	"jit":              "off",
}

// pingAfter is how long a connection may have been idle without being tried before it is used. It is longer than the time
// between two heartbeats, which would else be two statements each.
const pingAfter = 5 * time.Second

// Open prepares a store. It connects with the first call. Close frees the connections.
//
// A node opens two: one for its work, and one with MaxConns 1 for its heartbeats, so that no amount of work delays them.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("store: read the database URL: %w", err)
	}
	config.MaxConns = 4
	if o.MaxConns > 0 {
		config.MaxConns = int32(o.MaxConns)
	}
	config.MinConns = 0
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool { return p.IdleDuration > pingAfter }
	config.ConnConfig.Tracer = o.Tracer
	params := config.ConnConfig.RuntimeParams
	if o.Application != "" {
		params["application_name"] = o.Application
	}
	if o.Direct {
		params["idle_in_transaction_session_timeout"] = idleTimeout
		params["statement_timeout"] = statementTimeout
		maps.Copy(params, planning)
	} else {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		config.ConnConfig.StatementCacheCapacity = 0
		config.ConnConfig.DescriptionCacheCapacity = 0
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	return &Store{pool: pool, options: o}, nil
}

// Close waits for running calls and closes the connections.
func (s *Store) Close() { s.pool.Close() }

// now is the argument of that name: nothing, but in tests.
func (s *Store) now() any {
	if s.options.Now == nil {
		return nil
	}
	return s.options.Now()
}
