package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// printStatements shows what the database spent its time on since the measurement began, per step.
func printStatements(ctx context.Context, conn *pgx.Conn, n, steps int) error {
	rows, err := conn.Query(ctx, `select calls, total_exec_time, total_plan_time, wal_bytes::bigint,
		shared_blks_hit, query from pg_stat_statements order by total_exec_time + total_plan_time desc limit $1`, n)
	if err != nil {
		return fmt.Errorf("read pg_stat_statements: %w", err)
	}
	defer rows.Close()
	fmt.Println("   calls/step  run µs/step  plan µs/step  WAL B/step  blocks/call  statement")
	for rows.Next() {
		var calls, wal, blocks int64
		var run, plan float64
		var query string
		if err := rows.Scan(&calls, &run, &plan, &wal, &blocks, &query); err != nil {
			return err
		}
		text := strings.Join(strings.Fields(query), " ")
		per := float64(max(steps, 1))
		fmt.Printf("   %10.3f %12.1f %13.1f %11.0f %12.1f  %.130s\n", float64(calls)/per, run*1000/per, plan*1000/per,
			float64(wal)/per, float64(blocks)/float64(calls), text)
	}
	return rows.Err()
}
