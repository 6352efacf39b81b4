package schedule_test

import (
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/schedule"
)

func BenchmarkNew(b *testing.B) {
	d := defined("unix", "America/New_York", "*/10 9-17 1,15,L * MON-FRI")
	d.Exclude = []string{"2026-12-25", "* * * 8 *"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schedule.New("bench", d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, row := range []struct{ name, zone, spec string }{
		{"minute", "UTC", "0 * * * * * *"},
		{"day", "America/New_York", "0 30 2 * * * *"},
		{"leap-day", "America/New_York", "0 0 0 29 2 * *"},
		{"never", "America/New_York", "0 0 0 29 2 * 2027"},
	} {
		b.Run(row.name, func(b *testing.B) {
			s := must(b, defined("year", row.zone, row.spec))
			after := utc(b, "2026-11-30T12:34:56Z")
			b.ReportAllocs()
			for b.Loop() {
				s.Next(after)
			}
		})
	}
}

// BenchmarkOutage plans a schedule that runs each second after an outage.
func BenchmarkOutage(b *testing.B) {
	for name, hours := range map[string]time.Duration{"72h": 72, "1year": 8766} {
		b.Run(name, func(b *testing.B) {
			s := must(b, defined("seconds", "America/New_York", "* * * * * *"))
			down := schedule.Begin(utc(b, "2026-01-01"))
			now := down.At.Add(hours * time.Hour)
			b.ReportAllocs()
			for b.Loop() {
				if plan := s.Plan(down, now, enough); plan.Skipped.Count != int64(hours)*3600-1 {
					b.Fatal(plan)
				}
			}
		})
	}
}
