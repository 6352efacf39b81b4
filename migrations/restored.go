package migrations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Restored makes a database that was restored from a backup safe to run on: nothing that a process remembers from before
// the restore, and the backup does not, can be written any more.
//
//   - Every incarnation is fenced, under its fence held exclusively, so none of its commits is under way or can follow.
//   - Every partition has a new epoch. Its owner stays the fenced one, so that the nodes take it over as from the dead, with
//     what is owed in it.
//   - Task tokens have a new key: what was handed out is not accepted any more. Its workers' heartbeats tell so, and the tasks
//     are offered again.
//
// The nodes join again by themselves. It may be called again; each call does it anew.
func Restored(ctx context.Context, conn *pgx.Conn) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`set local statement_timeout = 0`,
			`select count(pg_advisory_xact_lock(20306, n.fence))
			 from (select fence from orrery.node where ended is null order by fence) n`,
			`update orrery.node set ended = 'fenced', ended_at = now() where ended is null`,
			`update orrery.partition set epoch = epoch + 1, changed_at = now() where fence is not null`,
			`update orrery.cluster set mac_key = ` + newKey,
			`update orrery.generation set value = value + 1 where name = 'owners'`,
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("migrations: after a restore: %w", err)
	}
	return nil
}

// newKey is a key for task tokens: two random UUIDs have 244 random bits.
const newKey = `decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')`
