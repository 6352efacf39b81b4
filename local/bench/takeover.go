package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// takeOver is S7: o.sleepers executions wait for a signal at one of two nodes, which is killed. From then on a signal to one
// execution of each of its partitions is sent to the other node. Latencies are from the kill to the answers.
func takeOver(ctx context.Context, r *rig, o options) (result, error) {
	other, err := r.bench.startNode(ctx, r.database, "bench-2")
	if err != nil {
		return result{}, err
	}
	defer other.stop()
	if err := r.share(ctx); err != nil {
		return result{}, err
	}
	targets, err := sleep(ctx, r, o)
	if err != nil {
		return result{}, err
	}
	r.meter.node = other.cmd.Process.Pid
	if err := r.measure(ctx, o); err != nil {
		return result{}, err
	}
	if err := r.countStatements(ctx); err != nil {
		return result{}, err
	}
	killed, byDatabase, err := r.killNode(ctx)
	if err != nil {
		return result{}, err
	}
	latencies, err := signalAll(ctx, client(other.url, len(targets)), targets, killed)
	if err != nil {
		return result{}, err
	}
	res, err := r.meter.stop(ctx, len(latencies), len(latencies), latencies)
	if err != nil {
		return res, err
	}
	n, err := r.statements(ctx)
	if err != nil {
		return res, err
	}
	owned, err := r.ownedAfter(ctx, other, byDatabase)
	if err != nil {
		return res, err
	}
	fmt.Printf("S7: %d executions in %d partitions of the killed node: the first moved after %.2f s, all had their owner after %.2f s, "+
		"the last signal was answered after %.2f s; %d statements\n",
		o.sleepers, len(targets), slices.Min(latencies).Seconds(), owned.Seconds(), slices.Max(latencies).Seconds(), n)
	return res, nil
}

// killNode kills the first node, and gives the time of that by this machine's clock and by the database's.
func (r *rig) killNode(ctx context.Context) (at, byDatabase time.Time, err error) {
	if err := r.meter.conn.QueryRow(ctx, "select clock_timestamp()").Scan(&byDatabase); err != nil {
		return at, byDatabase, err
	}
	at = time.Now()
	return at, byDatabase, r.node.cmd.Process.Kill()
}

// ownedAfter gives the time until the node owned every partition.
func (r *rig) ownedAfter(ctx context.Context, n *node, since time.Time) (time.Duration, error) {
	var all bool
	var last time.Time
	err := r.meter.conn.QueryRow(ctx, `
		select bool_and(n.id = $1 and n.ended is null), max(p.changed_at)
		from orrery.partition p left join orrery.node n on n.fence = p.fence`, n.id).Scan(&all, &last)
	if err == nil && !all {
		err = fmt.Errorf("%s does not own every partition", n.id)
	}
	return last.Sub(since), err
}

// sleep starts the executions at the first node, and gives one of each of its partitions.
func sleep(ctx context.Context, r *rig, o options) (targets []string, err error) {
	c := client(r.url, o.clients)
	wait := object{"StartAt": "Listen", "States": object{"Listen": object{"Type": "Task", "Resource": "signal:go", "End": true}}}
	if err := publish(ctx, c, "bench", wait); err != nil {
		return nil, err
	}
	if err := queue(ctx, o.clients, o.sleepers, func(ctx context.Context) error {
		_, err := start(ctx, c, "bench", object{}, 0)
		return err
	}); err != nil {
		return nil, err
	}
	rows, err := r.meter.conn.Query(ctx, `
		select min(e.name) from orrery.execution e join orrery.partition p on p.id = e.partition join orrery.node n on n.fence = p.fence
		where n.id = $1 and n.ended is null group by e.partition`, r.node.id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		targets = append(targets, name)
	}
	return targets, rows.Err()
}

// share waits until the nodes have their shares and nothing has moved for a second.
func (r *rig) share(ctx context.Context) error {
	for range 600 {
		var resting bool
		err := r.meter.conn.QueryRow(ctx, `
			select count(distinct fence) = 2 and max(changed_at) < now() - interval '1 second' from orrery.partition`).Scan(&resting)
		if err != nil || resting {
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("the partitions do not come to rest within a minute")
}

// signalAll sends a signal to every execution at once, each again until it is confirmed.
func signalAll(ctx context.Context, c *wire.Client, targets []string, since time.Time) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("not every signal was confirmed within a minute"))
	defer cancel()
	latencies := make([]time.Duration, len(targets))
	var sending sync.WaitGroup
	for i, name := range targets {
		sending.Go(func() {
			header := http.Header{wire.HeaderIdempotencyKey: {"go " + name}}
			for ctx.Err() == nil {
				var a wire.SignalResponse
				_, err := c.Call(ctx, http.MethodPost, wire.Path("executions", name, "signals", "go"), header, wire.SignalRequest{Payload: json.RawMessage("1")}, &a)
				if err == nil && a.Confirmed {
					latencies[i] = time.Since(since)
					return
				}
				_ = pause(ctx, 20*time.Millisecond)
			}
		})
	}
	sending.Wait()
	return latencies, context.Cause(ctx)
}

// countStatements has the database count its statements from now on.
func (r *rig) countStatements(ctx context.Context) error {
	for _, sql := range []string{
		"create extension if not exists pg_stat_statements", "alter system set pg_stat_statements.track = 'top'",
		"select pg_reload_conf()", "select pg_stat_statements_reset()",
	} {
		if _, err := r.meter.conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("count statements: %w", err)
		}
	}
	return nil
}

// statements is how many statements the database has run since then, but for those that only begin and end transactions.
func (r *rig) statements(ctx context.Context) (n int64, err error) {
	for _, sql := range []string{"alter system reset pg_stat_statements.track", "select pg_reload_conf()"} {
		if _, err := r.meter.conn.Exec(ctx, sql); err != nil {
			return 0, err
		}
	}
	err = r.meter.conn.QueryRow(ctx, `
		select coalesce(sum(calls), 0)::bigint from pg_stat_statements
		where query !~* '^(begin|commit|rollback|alter system|select pg_reload_conf|create extension)'`).Scan(&n)
	return n, err
}
