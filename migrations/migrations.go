// Package migrations holds the schema of the database, as numbered SQL, and applies it.
//
//	0001_cluster.sql ... 000n_*.sql   applied once each, in order, never changed afterwards
//	roles.sql                         settings of the role that runs them, applied every time
//	schema.sql                        what they make, the page to read; a test keeps it true
//
// A migration is such that the previous version of the program keeps working with what it leaves: it adds, with
// defaults, and what is no longer needed goes one version later. Each runs in a transaction of its own together with
// the row in orrery.migration that records it, under one advisory lock, so any number of processes may apply at once, and
// one that dies leaves whole steps.
package migrations

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// FS has the numbered files.
//
//go:embed 0*.sql
var FS embed.FS

//go:embed roles.sql
var rolesSQL string

// Partitions is over how many parts executions are spread, unless a database is initialised with another number.
const Partitions = 256

// daysAhead is how many days of history have their partitions made ahead.
const daysAhead = 4

// migration is one numbered file.
type migration struct {
	number   int
	name     string // of the file
	checksum string // SHA-256, hexadecimal
	sql      string
}

// Apply brings the schema up to date and initialises a new database. It does nothing that was done before.
func Apply(ctx context.Context, conn *pgx.Conn) error {
	return ApplyWithPartitions(ctx, conn, Partitions)
}

// ApplyWithPartitions is Apply for a database that, when it is new, gets another number of partitions, from 1 to 4096. A
// number once chosen stays.
func ApplyWithPartitions(ctx context.Context, conn *pgx.Conn, partitions int) error {
	if partitions < 1 || partitions > 4096 {
		return fmt.Errorf("migrations: %d partitions are not between 1 and 4096", partitions)
	}
	list, err := read(FS)
	if err != nil {
		return err
	}
	for _, m := range list {
		if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return apply(ctx, tx, m) }); err != nil {
			return fmt.Errorf("migrations: apply %s: %w", m.name, err)
		}
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return initialise(ctx, tx, partitions) })
	if err != nil {
		return fmt.Errorf("migrations: initialise: %w", err)
	}
	return nil
}

// read lists the migrations in order and refuses gaps and doubles.
func read(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var list []migration
	for i, name := range names {
		number, err := strconv.Atoi(strings.SplitN(name, "_", 2)[0])
		if err != nil || number != i+1 {
			return nil, fmt.Errorf("migrations: %s is not number %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		list = append(list, migration{number, name, hex.EncodeToString(sum[:]), string(text)})
	}
	return list, nil
}

// begin takes the lock and lifts the role's time limits, in the transaction.
const begin = `
select pg_advisory_xact_lock(20307, 1);
set local statement_timeout = 0;
set local idle_in_transaction_session_timeout = 0;
set local client_min_messages = warning;
create schema if not exists orrery;
create table if not exists orrery.migration (
    number     integer primary key,
    name       text not null,
    checksum   text not null,
    applied_at timestamptz not null default now()
)`

func apply(ctx context.Context, tx pgx.Tx, m migration) error {
	if err := script(ctx, tx, begin); err != nil {
		return err
	}
	var applied string
	err := tx.QueryRow(ctx, "select coalesce((select checksum from orrery.migration where number = $1), '')", m.number).Scan(&applied)
	switch {
	case err != nil:
		return err
	case applied == m.checksum:
		return nil
	case applied != "":
		return fmt.Errorf("the file has changed since it was applied: %s is not %s", m.checksum, applied)
	}
	if err := script(ctx, tx, m.sql); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "insert into orrery.migration (number, name, checksum) values ($1, $2, $3)", m.number, m.name, m.checksum)
	return err
}

func initialise(ctx context.Context, tx pgx.Tx, partitions int) error {
	if err := script(ctx, tx, begin); err != nil {
		return err
	}
	for _, statement := range []struct {
		sql  string
		args []any
	}{
		{`insert into orrery.cluster (mac_key) select ` + newKey + ` where not exists (select from orrery.cluster)`, nil},
		{`insert into orrery.partition (id)
		  select generate_series(0, $1::int - 1) where not exists (select from orrery.partition)`, []any{partitions}},
		{`select orrery.make_days($1)`, []any{daysAhead}},
	} {
		if _, err := tx.Exec(ctx, statement.sql, statement.args...); err != nil {
			return err
		}
	}
	return script(ctx, tx, rolesSQL)
}

// script runs statements that have no arguments.
func script(ctx context.Context, tx pgx.Tx, sql string) error {
	return tx.Conn().PgConn().Exec(ctx, sql).Close()
}
