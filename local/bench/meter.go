package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// result is one run. Rates are over the measured time; "step" is one task done.
type result struct {
	Date     string  `json:"date"`
	Scenario string  `json:"scenario"`
	Seconds  float64 `json:"seconds"`
	Done     int     `json:"done"` // executions, or tasks in S4 and S5
	Steps    int     `json:"steps"`
	PerSec   float64 `json:"per_s"`
	StepsSec float64 `json:"steps_per_s"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Max      float64 `json:"max_ms"`
	// CPU seconds per 1,000 steps.
	DBCPU   float64 `json:"db_cpu_s_per_1k"`
	NodeCPU float64 `json:"engine_cpu_s_per_1k"`
	LoadCPU float64 `json:"app_cpu_s_per_1k"`
	WAL     float64 `json:"wal_bytes_per_step"`
	Commits float64 `json:"commits_per_step"`
	Syncs   float64 `json:"wal_syncs_per_step"`
	NodeRSS float64 `json:"engine_rss_mb"`
	// Other is how many cores were busy with processes that are not the run's: above 0.3 rates and latencies are not to be quoted.
	Other  float64 `json:"other_cores"`
	Errors int     `json:"errors,omitempty"`
}

const header = "          per_s   steps/s   p50 ms   p99 ms | CPU s/1k: db  node  load | WAL B/step  commits/step | node MB  other cores  errors"

func (r result) String() string {
	return fmt.Sprintf("%-7s %8.1f %9.1f %8.2f %8.2f | %12.3f %5.3f %5.3f | %10.0f %13.3f | %7.0f %12.2f %7d",
		r.Scenario, r.PerSec, r.StepsSec, r.P50, r.P99, r.DBCPU, r.NodeCPU, r.LoadCPU, r.WAL, r.Commits, r.NodeRSS, r.Other, r.Errors)
}

// median takes the median of each column by itself.
func median(runs []result) result {
	m := runs[len(runs)/2]
	for _, f := range []func(*result) *float64{
		func(r *result) *float64 { return &r.PerSec }, func(r *result) *float64 { return &r.StepsSec },
		func(r *result) *float64 { return &r.P50 }, func(r *result) *float64 { return &r.P99 },
		func(r *result) *float64 { return &r.DBCPU }, func(r *result) *float64 { return &r.NodeCPU },
		func(r *result) *float64 { return &r.LoadCPU }, func(r *result) *float64 { return &r.WAL },
		func(r *result) *float64 { return &r.Commits }, func(r *result) *float64 { return &r.NodeRSS },
		func(r *result) *float64 { return &r.Other },
	} {
		column := make([]float64, len(runs))
		for i := range runs {
			column[i] = *f(&runs[i])
		}
		slices.Sort(column)
		*f(&m) = column[len(column)/2]
	}
	return m
}

// reading is what was used up to one moment.
type reading struct {
	at                time.Time
	wal, syncs, xacts int64
	db, node, load    float64 // CPU seconds
	machine           float64
}

// meter reads what a run uses, on a connection of its own.
type meter struct {
	conn       *pgx.Conn
	postmaster int
	node       int
	from       reading
}

func (m *meter) start(ctx context.Context) error {
	var err error
	m.from, err = m.read(ctx)
	return err
}

func (m *meter) read(ctx context.Context) (reading, error) {
	var r reading
	err := m.conn.QueryRow(ctx, `select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint, (select wal_sync from pg_stat_wal),
		(select sum(xact_commit)::bigint from pg_stat_database)`).Scan(&r.wal, &r.syncs, &r.xacts)
	if err != nil {
		return r, fmt.Errorf("read the database's counters: %w", err)
	}
	r.db, r.node = treeCPU(m.postmaster), treeCPU(m.node)
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return r, err
	}
	r.load = seconds(own.Utime) + seconds(own.Stime)
	r.machine = machineCPU()
	r.at = time.Now()
	return r, nil
}

// stop fills a result for done executions of steps tasks; latencies come in any order.
func (m *meter) stop(ctx context.Context, done, steps int, latencies []time.Duration) (result, error) {
	to, err := m.read(ctx)
	if err != nil {
		return result{}, err
	}
	a := m.from
	took := to.at.Sub(a.at).Seconds()
	r := result{
		Date: to.at.UTC().Format(time.RFC3339), Seconds: took, Done: done, Steps: steps,
		PerSec: float64(done) / took, StepsSec: float64(steps) / took,
		NodeRSS: rss(m.node),
		Other:   (to.machine - a.machine - (to.db - a.db) - (to.node - a.node) - (to.load - a.load)) / took,
	}
	if n := float64(steps); n > 0 {
		r.DBCPU, r.NodeCPU, r.LoadCPU = (to.db-a.db)/n*1000, (to.node-a.node)/n*1000, (to.load-a.load)/n*1000
		r.WAL, r.Commits, r.Syncs = float64(to.wal-a.wal)/n, float64(to.xacts-a.xacts)/n, float64(to.syncs-a.syncs)/n
	}
	r.P50, r.P99, r.Max = quantiles(latencies)
	return r, nil
}

func quantiles(l []time.Duration) (p50, p99, most float64) {
	if len(l) == 0 {
		return 0, 0, 0
	}
	s := slices.Sorted(slices.Values(l))
	at := func(q float64) float64 {
		return float64(s[min(int(q*float64(len(s))), len(s)-1)]) / float64(time.Millisecond)
	}
	return at(.5), at(.99), at(1)
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

const ticksPerSecond = 100 // USER_HZ of Linux

// stat gives the fields of /proc/PID/stat after the command's name; nil when the process is gone.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	s := string(text)
	return strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
}

func ticks(fields []string, indexes ...int) float64 {
	var sum float64
	for _, i := range indexes {
		n, _ := strconv.ParseFloat(fields[i], 64)
		sum += n
	}
	return sum / ticksPerSecond
}

// treeCPU is the CPU time of a process, of its ended children and of its living ones.
func treeCPU(pid int) float64 {
	f := stat(pid)
	if f == nil {
		return 0
	}
	sum := ticks(f, 11, 12, 13, 14)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return sum
	}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if f := stat(child); f != nil && f[1] == strconv.Itoa(pid) {
			sum += ticks(f, 11, 12)
		}
	}
	return sum
}

// machineCPU is the busy time of all cores.
func machineCPU() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	f := strings.Fields(line)
	return ticks(f, 1, 2, 3, 6, 7)
}

// rss is the resident memory of a process in MB.
func rss(pid int) float64 {
	f := stat(pid)
	if f == nil {
		return 0
	}
	pages, _ := strconv.ParseFloat(f[21], 64)
	return pages * float64(os.Getpagesize()) / 1e6
}
