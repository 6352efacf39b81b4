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

// printWAL shows what the log since a position is made of, per step: kinds of records with the table or index that they are
// of, the largest first.
func printWAL(ctx context.Context, conn *pgx.Conn, n int, from int64, steps int) error {
	rows, err := conn.Query(ctx, `
		with r as (
			select resource_manager || '/' || record_type as kind, record_length + fpi_length as bytes, fpi_length as images,
				substring(block_ref from 'rel \d+/\d+/(\d+)')::oid as node
			from pg_get_wal_records_info('0/0'::pg_lsn + $1::bigint, pg_current_wal_flush_lsn()))
		select kind, coalesce(regexp_replace(c.relname, '_\d{8}', ''), '') as relation, count(*), sum(bytes)::bigint as bytes,
			sum(images)::bigint
		from r left join pg_class c on pg_relation_filenode(c.oid) = r.node
		group by 1, 2 order by bytes desc limit $2`, from, n)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	defer rows.Close()
	fmt.Println("   records/step  WAL B/step  images B/step  B/record  kind, relation")
	per := float64(max(steps, 1))
	for rows.Next() {
		var kind, relation string
		var records, bytes, images int64
		if err := rows.Scan(&kind, &relation, &records, &bytes, &images); err != nil {
			return err
		}
		fmt.Printf("   %12.3f %11.1f %14.1f %9.0f  %s %s\n", float64(records)/per, float64(bytes)/per, float64(images)/per,
			float64(bytes)/float64(records), kind, relation)
	}
	return rows.Err()
}
