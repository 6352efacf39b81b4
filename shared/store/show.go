package store

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/orrery-dev/orrery/shared/telemetry"
)

// Show has the pool's figures read at every scrape.
func (s *Store) Show(m *telemetry.Metrics) {
	read := func(f func(*pgxpool.Stat) float64) func() float64 {
		return func() float64 { return f(s.pool.Stat()) }
	}
	m.GaugeFunc("orrery_pool_connections", "connections to the database that are open",
		read(func(p *pgxpool.Stat) float64 { return float64(p.TotalConns()) }))
	m.GaugeFunc("orrery_pool_connections_in_use", "connections that work for somebody",
		read(func(p *pgxpool.Stat) float64 { return float64(p.AcquiredConns()) }))
	m.GaugeFunc("orrery_pool_connections_most", "connections that the pool may open",
		read(func(p *pgxpool.Stat) float64 { return float64(p.MaxConns()) }))
	m.CounterFunc("orrery_pool_waits_total", "calls that found no connection free, and waited",
		read(func(p *pgxpool.Stat) float64 { return float64(p.EmptyAcquireCount()) }))
	m.CounterFunc("orrery_pool_wait_seconds_total", "how long those have waited",
		read(func(p *pgxpool.Stat) float64 { return p.EmptyAcquireWaitTime().Seconds() }))
	m.CounterFunc("orrery_pool_given_up_total", "calls that ended before they had a connection",
		read(func(p *pgxpool.Stat) float64 { return float64(p.CanceledAcquireCount()) }))
}
