package store_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// crowd fills the tables so that a plan that reads one of them whole costs more than an index. The rows to find are of
// execution 7, partition 7, session of worker w1, contract 'charge' version 1.
const crowd = `
insert into orrery.execution (definition, started_at, namespace, last_seq, partition, status, name, input_hash, wake_at)
select 1, now(), 1, 1, i % 256, 1, 'e' || i, 'x', case when i % 10 = 0 then now() + i * interval '1 second' end
from generate_series(1, 20000) i;
insert into orrery.attribute (execution, namespace, name, value)
select e.id, 1, 'customer', '"c' || e.id % 500 || '"' from orrery.execution e;
insert into orrery.history (execution, at, born, seq, first_event, events)
select e.id, now(), e.born, s, s, '[]' from orrery.execution e cross join generate_series(1, 2) s;
insert into orrery.snapshot (execution, born, seq, state)
select e.id, e.born, 1, 'x' from orrery.execution e where e.id % 2 = 1;
insert into orrery.session (worker, namespace, tasks, versions) select 'w' || i, 1, '{charge}', '{1}' from generate_series(1, 500) i;
insert into orrery.task (execution, partition, namespace, unit, attempt, offer, task, version, idempotency_key, input,
    state, claimed_at, session, worker, poll, noticed)
select i, i % 256, 1, 'A', 1, 0, 'task' || i % 100, 1, '', '{}', 'queued'::orrery.task_state, null::timestamptz, null::uuid, null, null, false
from generate_series(1, 10000) i
union all
select i, i % 256, 1, 'B', 1, 0, 'charge', 1, '', '{}', 'claimed', now(), s.id, s.worker, 'p', i % 50 > 0
from generate_series(1, 10000) i join orrery.session s on s.worker = 'w' || (1 + i % 500);
insert into orrery.task (execution, partition, namespace, unit, attempt, offer, task, version, idempotency_key, input)
select i, i % 256, 1, 'C', 1, 0, 'charge', 1, '', '{}' from generate_series(1, 10) i;
insert into orrery.inbox (execution, partition, kind, awaited, signal, answered_at, outcome)
select i, i % 256, 'signal', true, 's', case when i % 100 > 0 then now() end, case when i % 100 > 0 then 'applied' end
from generate_series(1, 20000) i;
insert into orrery.node (id, address, behaviour, started_at, heartbeat_at) values ('n1', '', 1, now(), now());
update orrery.partition set fence = 1, epoch = 1 where id < 128;
insert into orrery.schedule (namespace, name, title, cursor_at, next_at, next_instant, timeout_ms, retention_ms, direct, zones, key)
select 1, 's' || i, '', now(), now() + i * interval '1 second', now() + i * interval '1 second', 1000, 1000, false, '2026f', 's' || i
from generate_series(1, 5000) i;
insert into orrery.singleton (namespace, key) select 1, 's' || i from generate_series(1, 5000) i;
insert into orrery.schedule_document (schedule, version, document) select i, 1, '{}' from generate_series(1, 5000) i;
insert into orrery.occurrence (schedule, namespace, schedule_version, title, instant, due_at, look_at, trigger, overlap, direct, key, status,
    ended_at, expires_at, started_at, claimant, claim, attempt, token, slot, execution, buffered)
select i % 5000, 1, 1, '', now() + i * interval '1 second', now(), case when kind = 0 then now() + i * interval '1 second' end,
    'cron', 'skip', false, 's' || i % 5000, case when kind in (0, 2) then 'pending' when kind = 7 then 'running' else 'completed' end::orrery.occurrence_status,
    case when kind not in (0, 2, 7) then now() end, case when kind not in (0, 2, 7) then now() + interval '1 day' end, now(),
    case when kind = 7 then 'n' end, 1, 1, 1, case when kind = 7 then 1 + i / 5000 end, case when kind = 7 then i end, kind = 2
from (select i, i % 20 as kind from generate_series(1, 20000) i) x;
insert into orrery.trace (occurrence, claim, retry, attempt, started_at, claimant, context)
select i, 1, 0, 1, now(), '', '' from generate_series(1, 20000) i;
analyze;`

// literals are arguments by name, as SQL writes them; those of a test come before these.
var literals = map[string]string{
	"now": "null::timestamptz", "executions": "array[7]::bigint[]", "partitions": "array[7]::smallint[]", "limit": "10",
	"units": "array['A']", "attempts": "array[1]", "offers": "array[0]", "from": "0::bigint", "except": "array[]::bigint[]",
	"namespace": "1", "name": "'e7'", "fence": "1", "entries": "array[1]::bigint[]", "snapshots": "true",
	"namespaces": "array[1]", "tasks": "array['charge']", "versions": "array[1]", "languages": "array['']",
	"from_ranks": "array[-32768]::smallint[]", "from_ids": "array[0]::bigint[]", "last_ranks": "array[32767]::smallint[]",
	"look_groups": "array[0]", "look_queues": "array[0]", "want_groups": "array[0]", "want_rows": "array[1]", "first_slots": "array[0]", "slot_polls": "array[1]",
	"polls": "array['p']", "sessions": "array['00000000-0000-0000-0000-000000000000']", "workers": "array['w']",
	"recalls": "array[true]", "maxes": "array[1]", "session": "'00000000-0000-0000-0000-000000000000'", "ages": "array[0]::bigint[]",
	"look_namespaces": "array[1]", "look_tasks": "array['charge']", "look_versions": "array[1]", "look_languages": "array['']",
	"write": "true", "look": "true", "node": "'n1'", "inbox_from": "0::bigint", "unnoticed_from": "0::bigint",
	"wake_from": "'2000-01-01'::timestamptz", "session_timeout": "30000::bigint", "node_timeout": "5000::bigint", "beat": "1::bigint",
	"interval": "1000::bigint", "details": "array[null]::text[]", "ats": "array[now()]", "seqs": "array[2]", "first_events": "array[2]",
	"events": "array['[]']", "wakes": "array[null]::timestamptz[]", "owes": "array[false]", "statuses": "array[null]::smallint[]", "changes": "array[-1]::smallint[]", "states": "array['x']::bytea[]",
	"outcomes": "array['applied']", "answers": "array['']", "ended": "array[7]::bigint[]", "reply_executions": "array[7]::bigint[]",
	"reply_entries": "array[7]::bigint[]", "definitions": "false", "entry": "7::bigint", "execution": "7::bigint",
	"before": "9000::bigint", "window": "10000", "status": "2::smallint", "workflow": "''", "version": "0",
	"started_after": "null::timestamptz", "started_before": "null::timestamptz",
	"resolved_executions": "array[7]::bigint[]", "resolved_units": "array['A']", "resolved_attempts": "array[1]",
	"only_queued": "array[false]", "notices": "array[false]", "lost_executions": "array[7]::bigint[]", "lost_units": "array['B']",
	"lost_attempts": "array[1]", "lost_offers": "array[0]", "noticed_partitions": "array[7]::smallint[]",
	"noticed_tasks": "array[15]::bigint[]", "consumed": "array[]::bigint[]",
	"kinds": "array['complete']", "outputs": "array['1']", "reasons": "array[null]::text[]", "errors": "array[null]::text[]",
	"causes": "array[null]::text[]", "finals": "array[null]::boolean[]", "requests": "array[null]::text[]",
	"open_ats": "array[0]", "handed": "array[false]", "culprits": "array[7]::bigint[]", "parents": "array[7]::bigint[]",
	"until": "'2100-01-01'::timestamptz", "lock_timeout": "'1s'",
	"schedule_level": "1", "level": "1", "zones": "'2026f'", "days": "4", "claimant": "'n'", "workflows": "10", "directs": "10",
	"room": "1000000::bigint", "lease": "60000::bigint", "occurrences": "array[7]::bigint[]", "claims": "array[1]", "names": "array['e7']",
	"contexts": "array['00-0']", "workflow_versions": "array[1]", "policies": "array['one']", "oldests": "array[false]",
	"limits": "array[1]", "keys": "array['s7']", "results": "array[null]::text[]", "delays": "array[0]::bigint[]", "strict": "false",
	"schedules": "false", "cursors": "array[now()]", "runs": "array[0]::bigint[]", "new_cursors": "array[now()]",
	"new_runs": "array[1]::bigint[]", "caught_ups": "array[0]", "nexts": "array[now()]", "skips": "array[0]::bigint[]",
	"skips_from": "array[null]::timestamptz[]", "skips_to": "array[null]::timestamptz[]", "notes": "array['']",
	"row_schedules": "array[7]::bigint[]", "instants": "array[now()]", "dues": "array[now()]", "deadlines": "array[null]::timestamptz[]",
	"overlaps": "array['skip']", "schedule": "7::bigint", "trigger": "''", "instant_from": "null::timestamptz",
	"instant_to": "null::timestamptz",
}

// big are the tables that no hot statement reads whole. Days that are empty may be.
var big = regexp.MustCompile(`Seq Scan on (execution|history_today|snapshot_today|task|inbox|schedule|occurrence|singleton|trace|attribute)\b`)

var indexName = regexp.MustCompile(`(?:using|Bitmap Index Scan on) (\w+)`)

// How functions have their statements planned, and how nodes do.
const (
	functions = "force_custom_plan"
	nodes     = "force_generic_plan"
)

// TestPlans holds the hot statements to their indexes, planned with their arguments (as functions send them) and without
// (as nodes do, whose prepared statements have generic plans).
func TestPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := statementFiles(t)
	tests := []struct {
		statement string
		indexes   []string
		literals  map[string]string
	}{
		{"heartbeat", []string{"inbox_open", "task_unnoticed", "execution_wake", "task_queue", "schedule_next_at", "occurrence_look_at"}, nil},
		{"claim", []string{"task_queue", "task_pkey", "task_held", "execution_pkey"}, nil},
		{"marks", []string{"task_queue"}, nil},
		{"turns", []string{"execution_pkey"}, nil},
		{"snapshots", []string{"execution_pkey", "snapshot_pkey"}, nil},
		{"settle", []string{"task_pkey", "task_unnoticed"}, nil},
		{"consume", []string{"inbox_pkey"}, map[string]string{"events": "array[1]"}},
		{"tell", []string{"execution_pkey"}, map[string]string{"statuses": "array[2]::smallint[]"}},
		{"stop", []string{"execution_pkey", "execution_name"}, map[string]string{"names": "array['e7']"}},
		{"leftovers", []string{"inbox_pkey"}, nil},
		{"lock_endings", []string{"execution_pkey"}, nil},
		{"lock_running", []string{"execution_pkey"}, nil},
		{"lock_attempts", []string{"task_pkey"}, nil},
		{"report", []string{"execution_pkey", "task_pkey"}, map[string]string{"sessions": "array[null]::text[]", "workers": "array[null]::text[]"}},
		{"lock_named", []string{"execution_name"}, map[string]string{"ended": "false"}},
		{"reply", []string{"inbox_pkey"}, nil},
		{"ring", []string{"execution_pkey", "inbox_pkey"}, nil},
		{"load", []string{"execution_pkey", "snapshot_pkey"}, nil},
		{"load_turns", []string{"execution_pkey", "history_pkey"}, nil},
		{"inbox", []string{"inbox_open"}, nil},
		{"inbox_of", []string{"inbox_pkey"}, nil},
		{"unnoticed", []string{"task_unnoticed"}, nil},
		{"unnoticed_of", []string{"task_pkey"}, nil},
		{"due", []string{"execution_wake"}, map[string]string{"from": "now()"}},
		{"lost_claims", []string{"task_held"}, nil},
		{"worker_beat", []string{"task_held", "task_pkey"}, nil},
		{"execution", []string{"execution_name", "history_pkey"}, nil},
		{"executions", []string{"execution_pkey"}, nil},
		{"executions_by_attribute", []string{"attribute_value", "attribute_pkey", "execution_pkey"}, map[string]string{
			"names": "array['customer', 'customer']", "values": "array['\"c7\"', '\"c7\"']",
		}},
		{"attributes", []string{"attribute_pkey"}, nil},
		{"attention", []string{"task_pkey", "execution_pkey"}, map[string]string{
			"execution": "0::bigint", "unit": "''", "attempt": "0", "offer": "0",
		}},
		{"history", []string{"history_pkey"}, map[string]string{"from": "1"}},
		{"due_schedules", []string{"schedule_next_at", "schedule_zones", "occurrence_look_at"}, map[string]string{"from": "now()"}},
		{"plan", []string{"schedule_pkey"}, map[string]string{"schedules": "array[7]::bigint[]", "wakes": "array[now()]"}},
		{"miss", []string{"occurrence_deadline"}, nil},
		{"claim_occurrences", []string{"occurrence_look_at", "occurrence_waiting", "occurrence_pkey"}, map[string]string{"from": "now()"}},
		{"hold_occurrences", []string{"occurrence_pkey"}, nil},
		{"lock_keys", []string{"singleton_pkey"}, nil},
		{"grant_keys", []string{"occurrence_pkey", "occurrence_slot", "occurrence_waiting", "singleton_pkey"}, nil},
		{"record_starts", []string{"occurrence_pkey", "execution_name"}, nil},
		{"contend", []string{"occurrence_pkey", "occurrence_buffer"}, nil},
		{"settle_runs", []string{"occurrence_pkey", "trace_pkey", "singleton_pkey"}, map[string]string{"outcomes": "array['completed']"}},
		{"renew", []string{"occurrence_pkey"}, nil},
		{"holders", []string{"occurrence_slot"}, nil},
		{"occurrences", []string{"occurrence_list"}, map[string]string{"status": "''"}},
		{"schedule_documents", []string{"schedule_document_pkey"}, map[string]string{"schedules": "array[7]::bigint[]"}},
		{"clean_occurrences", []string{"occurrence_expires"}, nil},
	}
	var today string
	w.scan("select to_char(now() at time zone 'utc', 'YYYYMMDD')", nil, &today)
	// A node that begins on an empty database keeps its plans while the tables grow, until they are analysed.
	for _, test := range tests {
		plan := strings.ReplaceAll(w.explain(files[test.statement], nodes, test.literals), "_"+today, "_today")
		w.wantIndexes(test.statement, "on empty tables", plan, test.indexes)
	}
	w.exec(crowd)
	for _, test := range tests {
		for _, mode := range []string{functions, nodes} {
			plan := strings.ReplaceAll(w.explain(files[test.statement], mode, test.literals), "_"+today, "_today")
			w.wantIndexes(test.statement, mode, plan, test.indexes)
		}
	}
}

// wantIndexes checks that a plan uses the indexes, and reads no big table whole: neither by itself nor by a whole index.
func (w *world) wantIndexes(statement, when, plan string, indexes []string) {
	w.t.Helper()
	var used []string
	for _, m := range indexName.FindAllStringSubmatch(plan, -1) {
		used = append(used, strings.Replace(m[1], "_today_pkey", "_pkey", 1))
	}
	for _, index := range indexes {
		if !slices.Contains(used, index) {
			w.t.Errorf("%s, %s: the plan does not use %s:\n%s", statement, when, index, plan)
		}
	}
	if m := big.FindString(plan); m != "" {
		w.t.Errorf("%s, %s: %s:\n%s", statement, when, m, plan)
	}
	lines := strings.Split(plan, "\n")
	for i, line := range lines {
		scan := wholeIndex.FindString(line)
		if scan != "" && !strings.Contains(scan, "singleton_free") && (i+1 == len(lines) || !strings.Contains(lines[i+1], "Index Cond:")) && !slices.Contains(ordered, statement) {
			w.t.Errorf("%s, %s: %s without a condition:\n%s", statement, when, scan, plan)
		}
	}
}

// wholeIndex finds the scan of an index. That of the keys that are wanted and free has nothing else in it, so it is read as it is.
var wholeIndex = regexp.MustCompile(`(Index Scan|Index Only Scan|Bitmap Index Scan).* on (execution|history_today|snapshot_today|task|inbox|schedule|occurrence|singleton|trace)\b.*`)

// ordered are statements that read an index from its end, up to a limit.
var ordered = []string{"executions"}

// explain plans a statement as a prepared one, and forgets it.
func (w *world) explain(sql, mode string, own map[string]string) string {
	w.t.Helper()
	tx, err := w.pool.Begin(ctx(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	defer tx.Rollback(ctx(w.t))
	settings := []string{"set local plan_cache_mode = " + mode}
	if mode == nodes {
		for _, off := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin"} {
			settings = append(settings, "set local "+off+" = off")
		}
	}
	for _, s := range append(settings, "prepare q as "+numbered(w.t, sql)) {
		if _, err := tx.Exec(ctx(w.t), s); err != nil {
			w.t.Fatalf("%s: %v", s, err)
		}
	}
	defer tx.Exec(ctx(w.t), "deallocate q")
	execute := "execute q"
	if values := w.values(sql, own); values != "" {
		execute += "(" + values + ")"
	}
	rows, err := tx.Query(ctx(w.t), "explain (costs off) "+execute)
	if err != nil {
		w.t.Fatalf("%s: %v", execute, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.t.Fatalf("%s: %v", execute, err)
	}
	return strings.Join(lines, "\n")
}

func (w *world) values(sql string, own map[string]string) string {
	w.t.Helper()
	var out []string
	for _, a := range arguments(sql) {
		value, ok := own[a]
		if !ok {
			value, ok = literals[a]
		}
		if !ok {
			w.t.Fatalf("no literal for @%s", a)
		}
		out = append(out, value)
	}
	return strings.Join(out, ", ")
}

var buffersLine = regexp.MustCompile(`Buffers: shared hit=(\d+)(?: read=(\d+))?`)

// claimBuffers is how many pages one claim of one row reads; the claim is undone.
func (w *world) claimBuffers(own map[string]string) int {
	w.t.Helper()
	sql := statementFiles(w.t)["claim"]
	for _, a := range arguments(sql) {
		value, ok := own[a]
		if !ok {
			value = literals[a]
		}
		sql = regexp.MustCompile(`@`+a+`\b`).ReplaceAllLiteralString(sql, value)
	}
	tx, err := w.pool.Begin(ctx(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	defer tx.Rollback(ctx(w.t))
	rows, err := tx.Query(ctx(w.t), "explain (analyze, buffers, timing off) "+sql)
	if err != nil {
		w.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.t.Fatal(err)
	}
	m := buffersLine.FindStringSubmatch(strings.Join(lines, "\n")) // the first is of the whole plan
	hit, _ := strconv.Atoi(m[1])
	read, _ := strconv.Atoi(m[2])
	return hit + read
}

// TestClaimCost counts pages: of a claim behind a backlog of other contracts, and of a claim in whose queue a long transaction
// keeps dead rows.
func TestClaimCost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	queue := func(contract string, from, n int) {
		w.exec(`insert into orrery.task (execution, partition, namespace, unit, attempt, offer, task, version, idempotency_key, input)
			select i, 0, 1, 'U', 1, 0, $1, 1, '', '{}' from generate_series($2::int, $3::int) i`, contract, from, from+n-1)
		w.exec("analyze orrery.task")
	}
	queue("charge", 1, 200)
	alone := w.claimBuffers(nil)
	queue("foreign", 1_000, 50_000)
	if behind := w.claimBuffers(nil); behind > alone+alone/2 {
		t.Errorf("a claim behind 50,000 foreign rows reads %d pages, alone %d", behind, alone)
	}

	held, err := w.pool.BeginTx(ctx(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Rollback(ctx(t))
	if _, err := held.Exec(ctx(t), "select set_config('idle_in_transaction_session_timeout', '0', true) from orrery.task limit 1"); err != nil {
		t.Fatal(err)
	}
	queue("charge", 100_000, 5_000)
	w.exec("delete from orrery.task where task = 'charge' and execution between 1 and 104900")
	w.exec("vacuum analyze orrery.task")
	low := w.count("select min(id) from orrery.task where task = 'charge'")
	blind := w.claimBuffers(nil)
	marked := w.claimBuffers(map[string]string{
		"from_ranks": "array[0]::smallint[]", "from_ids": fmt.Sprintf("array[%d]::bigint[]", low),
	})
	if marked > alone+alone/2 || blind < 3*marked {
		t.Errorf("with dead rows a claim reads %d pages from the mark and %d without, alone %d", marked, blind, alone)
	}
}
