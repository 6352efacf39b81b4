package store_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestAppendsStayHOT: what a turn changes on an execution's row is in no index, but for its timer; so a turn that leaves that
// alone writes no index.
func TestAppendsStayHOT(t *testing.T) {
	w := newWorld(t)
	rows, err := w.pool.Query(ctx(t), `select distinct a.attname::text
		from pg_index i join pg_attribute a on a.attrelid = i.indrelid
		where i.indrelid = 'orrery.execution'::regclass
		  and (a.attnum = any (i.indkey) or pg_get_expr(i.indpred, i.indrelid) ~ ('\m' || a.attname || '\M'))
		  and (select amname from pg_class c join pg_am m on m.oid = c.relam where c.oid = i.indexrelid) <> 'brin'`)
	if err != nil {
		t.Fatal(err)
	}
	indexed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{"last_seq", "status", "ended_at", "ending"} {
		if slices.Contains(indexed, column) {
			t.Errorf("%s is in an index", column)
		}
	}
	if !slices.Contains(indexed, "wake_at") || !slices.Contains(indexed, "name") {
		t.Errorf("only %v are found in indexes", indexed)
	}
}
