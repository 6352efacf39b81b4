package store_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestWrongRowsAreRefused tries rows that no code should write.
func TestWrongRowsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.join("n1", 1, 0)
	s := w.session("w1")
	e := w.start("e", 0, offer("Q", 1, 0), offer("C", 1, 0))
	w.claim(s, "p", 2)
	w.exec("update orrery.task set state = 'queued', claimed_at = null, session = null, worker = null, poll = null where unit = 'Q'")
	w.exec("insert into orrery.inbox (execution, partition, kind, awaited, signal) values ($1, 0, 'signal', true, 's')", e.id)

	tests := []struct{ constraint, sql string }{
		{"execution_status", "update orrery.execution set status = 9, ended_at = now()"},
		{"execution_end", "update orrery.execution set status = 2"},
		{"execution_end", "update orrery.execution set ended_at = now()"},
		{"execution_timer", "update orrery.execution set status = 2, ended_at = now(), wake_at = now()"},
		{"execution_timer", "update orrery.execution set status = 2, ended_at = now(), ending = true"},
		{"execution_last_seq_check", "update orrery.execution set last_seq = 0"},
		{"execution_name", "insert into orrery.execution (definition, started_at, namespace, last_seq, partition, status, name, input_hash) select definition, now(), 1, 1, 0, 1, 'e', 'x' from orrery.execution"},
		{"execution_input_hash_check", "update orrery.execution set input_hash = ''"},
		{"task_pkey", "update orrery.task set unit = 'C'"},
		{"task_queued", "update orrery.task set state = 'queued' where unit = 'C'"},
		{"task_claimed", "update orrery.task set state = 'claimed' where unit = 'Q'"},
		{"task_claimed", "update orrery.task set state = 'lost' where unit = 'Q'"},
		{"task_holder", "update orrery.task set session = null where unit = 'C'"},
		{"task_holder", "update orrery.task set worker = 'x' where unit = 'Q'"},
		{"task_holder", "update orrery.task set missed = 1 where unit = 'Q'"},
		{"task_done", "update orrery.task set state = 'done' where unit = 'C'"},
		{"task_noticed", "update orrery.task set noticed = true where unit = 'Q'"},
		{"task_attempt_check", "update orrery.task set attempt = 0"},
		{"inbox_awaited", "update orrery.inbox set awaited = false"},
		{"inbox_awaited", "insert into orrery.inbox (execution, partition, kind, awaited, unit, attempt, offer) values (1, 0, 'lost', true, 'A', 1, 1)"},
		{"inbox_child", "update orrery.inbox set status = 2"},
		{"inbox_child", "insert into orrery.inbox (execution, partition, kind, awaited, unit, attempt) values (1, 0, 'child_ended', false, 'A', 1)"},
		{"inbox_child", "insert into orrery.inbox (execution, partition, kind, awaited, unit, status, ended_at) values (1, 0, 'child_ended', false, 'A', 2, now())"},
		{"inbox_signal", "update orrery.inbox set signal = null"},
		{"inbox_answer", "update orrery.inbox set answered_at = now()"},
		{"inbox_answer", "update orrery.inbox set event = 3"},
		{"inbox_row", "insert into orrery.inbox (execution, partition, kind, awaited) values (1, 0, 'lost', false)"},
		{"inbox_complete", "insert into orrery.inbox (execution, partition, kind, awaited, unit, attempt, offer) values (1, 0, 'complete', false, 'A', 1, 0)"},
		{"inbox_fail", "insert into orrery.inbox (execution, partition, kind, awaited, unit, attempt, offer) values (1, 0, 'fail', false, 'A', 1, 0)"},
		{"inbox_failure", "update orrery.inbox set cause = 'x'"},
		{"inbox_resolve", "insert into orrery.inbox (execution, partition, kind, awaited, unit, resolution) values (1, 0, 'resolve', true, 'A', 'maybe')"},
		{"inbox_resolve", "insert into orrery.inbox (execution, partition, kind, awaited, unit) values (1, 0, 'resolve', true, 'A')"},
		{"inbox_holder", "update orrery.inbox set worker = 'x'"},
		{"session_contracts", "update orrery.session set versions = '{1,2}'"},
		{"session_beat", "update orrery.session set beat = 1"},
		{"node_end", "update orrery.node set ended = 'left'"},
		{"node_id", "insert into orrery.node (id, address, behaviour, started_at, heartbeat_at) values ('n1', '', 1, now(), now())"},
		{"partition_owner", "update orrery.partition set epoch = 0"},
		{"partition_fence_fkey", "update orrery.partition set fence = 99, epoch = 1"},
		{"definition_namespace_name_version_key", "insert into orrery.definition (namespace, name, version, hash, document) select namespace, name, version, hash, document from orrery.definition"},
		{"cluster_one_check", "insert into orrery.cluster (one, mac_key) select false, mac_key from orrery.cluster"},
		{"cluster_mac_key_check", "update orrery.cluster set mac_key = 'short'"},
		{"idempotency_key_answer", "insert into orrery.idempotency_key (namespace, key, request_hash, execution, entry, expires_at, event) values (1, 'k', '', 1, 1, now(), 3)"},
	}
	for _, test := range tests {
		_, err := w.pool.Exec(ctx(t), test.sql)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.ConstraintName != test.constraint {
			t.Errorf("%s: %v, want constraint %s", test.sql, err, test.constraint)
		}
	}
	// History rows are never written twice (I2), and never without their day.
	_, err := w.pool.Exec(ctx(t), "insert into orrery.history select * from orrery.history")
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "23505" {
		t.Errorf("a turn twice: %v", err)
	}
	if _, err := w.pool.Exec(ctx(t), "insert into orrery.history (execution, at, born, seq, first_event, events) values (1, now(), '1999-01-01', 1, 1, '[]')"); err == nil {
		t.Error("a turn of a day without a partition is stored")
	}
	w.exec("insert into orrery.history (execution, at, born, seq, first_event, events) values (1, now(), 'infinity', 1, 1, '[]')")
}
