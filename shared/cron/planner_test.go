package cron_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/schedule"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

func TestScenario46Database(t *testing.T) {
	r := newRig(t)
	r.at("10:20:00")
	r.create("hourly", workflow("0 0 * * * *"))
	x := r.runner(cron.Options{})
	if c := r.tick(x); c != (cron.Counts{}) {
		t.Errorf("a tick did %+v", c)
	}
	r.wantLedger("hourly")
	if s, _ := r.schedule("hourly"); !s.Next.Equal(r.instant("11:00:00")) || !s.Wake.Equal(s.Next) {
		t.Errorf("next is %s, at %s", s.Next, s.Wake)
	}
	r.tickAt(x, "11:00:00")
	r.wantLedger("hourly", "11:00:00 running")
}

// TestScenario47And48Database: a planner that dies before or after its one statement, and another one that plans after it.
func TestScenario47And48Database(t *testing.T) {
	for _, dies := range []string{"before", "after"} {
		t.Run(dies, func(t *testing.T) {
			r := newRig(t)
			d := workflow("0 0 * * * *")
			d.Misfire = &wire.ScheduleMisfire{Policy: "all", Max: 2}
			r.create("hourly", d)
			r.at("13:00:10")
			dying := errors.New("killed")
			f := &faulty{Store: r.db}
			kill := func(method string) error {
				if method == "Plan" {
					return dying
				}
				return nil
			}
			if dies == "before" {
				f.before = kill
			} else {
				f.after = kill
			}
			if _, err := r.runnerOver(f, r.front, cron.Options{}).Tick(t.Context()); !errors.Is(err, dying) {
				t.Fatalf("the tick says %v", err)
			}
			r.tick(r.runner(cron.Options{}))
			r.wantLedger("hourly", "11:00:00 running", "12:00:00 waiting", "13:00:00 skipped_misfire 1")
			r.tick(r.runner(cron.Options{}))
			if s, _ := r.schedule("hourly"); s.Cursor.Runs != 2 || !s.Next.Equal(r.instant("14:00:00")) {
				t.Errorf("%d runs are counted, and next is %s", s.Cursor.Runs, s.Next)
			}
		})
	}
}

// TestScenario49Database: three processes plan and start at the same time, again and again.
func TestScenario49Database(t *testing.T) {
	passes := 60
	if os.Getenv("ORRERY_SOAK") != "" {
		passes = 1000
	}
	r := newRig(t)
	r.create("seconds", overlapping(workflow("* * * * * *"), "allow"))
	xs := []*cron.Runner{r.runner(cron.Options{}), r.runner(cron.Options{}), r.runner(cron.Options{})}
	for range passes {
		r.pass(time.Second)
		var all sync.WaitGroup
		for _, x := range xs {
			all.Go(func() {
				if _, err := x.Tick(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	r.tick(xs[0])
	r.want(passes, "select count(*) from orrery.occurrence where status = 'running'")
	r.want(passes, "select count(distinct instant) from orrery.occurrence")
	r.want(passes, "select count(*) from orrery.execution")
	r.want(passes, "select count(*) from orrery.trace")
	if s, _ := r.schedule("seconds"); s.Cursor.Runs != int64(passes) {
		t.Errorf("%d runs are counted in %d passes", s.Cursor.Runs, passes)
	}
	for _, x := range xs {
		if h := x.Health(); len(h.Faults) > 0 {
			t.Errorf("faults: %q", h.Faults)
		}
	}
}

func TestScenario50And51Database(t *testing.T) {
	for _, x := range []struct {
		policy string
		max    int64
		back   string
		want   string
	}{
		{"none", 0, "14:10:00", "14:00:00 skipped_misfire 4"},
		{"latest", 0, "14:10:00", "13:00:00 skipped_misfire 3, 14:00:00 running"},
		{"all", 2, "14:10:00", "11:00:00 running, 12:00:00 waiting, 14:00:00 skipped_misfire 2"},
		{"all", 100, "14:10:00", "11:00:00 running, 12:00:00 waiting, 13:00:00 waiting, 14:00:00 waiting"},
		{"latest", 0, "14:00:02", "13:00:00 skipped_misfire 3, 14:00:00 running"},
	} {
		t.Run(fmt.Sprint(x.policy, x.max, x.back), func(t *testing.T) {
			r := newRig(t)
			r.at("10:30:00")
			d := workflow("0 0 * * * *")
			d.Misfire = &wire.ScheduleMisfire{Policy: x.policy, Max: x.max}
			r.create("hourly", d)
			r.tickAt(r.runner(cron.Options{}), x.back)
			r.wantLedger("hourly", strings.Split(x.want, ", ")...)
		})
	}
}

func TestScenario52Database(t *testing.T) {
	r := newRig(t)
	r.create("seconds", workflow("* * * * * *"))
	r.pass(72 * time.Hour)
	r.tick(r.runner(cron.Options{}))
	r.want(2, "select count(*) from orrery.occurrence")
	r.want(72*3600-1, "select skipped::integer from orrery.occurrence where status = 'skipped_misfire'")
	r.want(1, "select count(*) from orrery.occurrence where status = 'running' and instant = $1", r.time())
}

func TestScenario53Database(t *testing.T) {
	r := newRig(t)
	d := overlapping(workflow("0 */10 * * * *"), "allow")
	d.Misfire = &wire.ScheduleMisfire{Policy: "all", WindowMS: time.Hour.Milliseconds()}
	r.create("tens", d)
	r.tickAt(r.runner(cron.Options{}), "13:05:00")
	r.wantLedger("tens", "12:00:00 skipped_misfire 12", "12:10:00 running", "12:20:00 running", "12:30:00 running", "12:40:00 running",
		"12:50:00 running", "13:00:00 running")
}

// TestScenario54Database: the one place for requests is taken for ten minutes.
func TestScenario54Database(t *testing.T) {
	r := newRig(t)
	r.create("long", direct("0 0 10 * * *", "0 1 10 * * *"))
	late := direct("0 2 10 * * *")
	late.StartDeadlineMS = 120_000
	r.create("late", late)
	p := r.process(nil, cron.Options{Workers: 1})
	r.ringAt("10:01:00", p)
	busy := p.outside.next(t)
	r.ringAt("10:02:00", p)
	r.until("the occurrence is planned", func() bool { return r.ledger("late") == "10:02:00 pending" })
	r.ringAt("10:12:00", p)
	r.until("it is too late", func() bool { return r.ledger("late") == "10:02:00 missed_deadline" })
	if o := r.only("late"); !strings.Contains(o.Reason, "480000 ms") {
		t.Errorf("the reason is %q", o.Reason)
	}
	busy.answer <- nil
	r.until("the other run ends", func() bool { return r.ledger("long") == "10:01:00 completed" })
	r.want(1, "select count(*) from orrery.trace")
}

// TestScenario55Database: rows that are pending keep their instants, and the new specs count from the change on.
func TestScenario55Database(t *testing.T) {
	r := newRig(t)
	r.create("minutes", workflow("0 * * * * *"))
	x := r.runner(cron.Options{})
	r.tickAt(x, "10:01:00")
	r.at("10:02:00")
	r.replace("minutes", workflow("30 * * * * *"))
	r.wantLedger("minutes", "10:01:00 running", "10:02:00 pending")
	r.end(history.Succeeded, r.execution("minutes", "10:01:00"))
	r.tick(x)
	r.wantLedger("minutes", "10:01:00 completed", "10:02:00 running")
	r.end(history.Succeeded, r.execution("minutes", "10:02:00"))
	r.tickAt(x, "10:03:30")
	r.wantLedger("minutes", "10:01:00 completed", "10:02:00 completed", "10:02:30 skipped_misfire 1", "10:03:30 running")
	if o := r.occurrences("minutes")[3]; o.ScheduleVersion != 2 {
		t.Errorf("the last one is of version %d", o.ScheduleVersion)
	}
}

// TestScenario56Database: another input changes nothing about what is due.
func TestScenario56Database(t *testing.T) {
	r := newRig(t)
	d := workflow("0 * * * * *")
	r.create("minutes", d)
	before, _ := r.schedule("minutes")
	r.at("10:00:30")
	d.Input = []byte(`{"n":2}`)
	d.Misfire = &wire.ScheduleMisfire{Policy: "all", Max: 7}
	r.replace("minutes", d)
	if s, _ := r.schedule("minutes"); !s.Cursor.At.Equal(before.Cursor.At) || !s.Next.Equal(before.Next) {
		t.Errorf("the cursor went from %s to %s", before.Cursor.At, s.Cursor.At)
	}
	r.at("10:03:00") // the third one is in time
	d.Misfire = &wire.ScheduleMisfire{Policy: "none"}
	r.replace("minutes", d)
	r.wantLedger("minutes", "10:01:00 waiting", "10:02:00 waiting", "10:03:00 pending")
}

func TestScenario57Database(t *testing.T) {
	for how, want := range map[schedule.Resume][]string{
		schedule.ResumeSkip: {"13:00:00 running"}, schedule.ResumeLatest: {"12:00:00 running", "13:00:00 skipped_overlap"},
	} {
		t.Run(string(how), func(t *testing.T) {
			r := newRig(t)
			r.create("hourly", workflow("0 0 * * * *"))
			x := r.runner(cron.Options{})
			r.at("10:10:00")
			r.pause("hourly")
			r.tickAt(x, "12:10:00")
			r.wantLedger("hourly")
			r.resume("hourly", how)
			r.tick(x)
			r.tickAt(x, "13:00:00")
			r.wantLedger("hourly", want...)
			r.want(0, "select count(*) from orrery.occurrence where status = 'skipped_misfire'")
		})
	}
}

// TestScenario58: a process that cannot read a schedule neither plans it nor claims its rows, and others do.
func TestScenario58(t *testing.T) {
	r := newRig(t)
	r.create("minutes", workflow("0 * * * * *"))
	r.exec("update orrery.schedule set level = 2")
	old, young := r.runner(cron.Options{Level: 1}), r.runner(cron.Options{Level: 2})
	r.tickAt(old, "10:01:00")
	r.wantLedger("minutes")
	r.want(1, "select count(*) from orrery.schedule where next_at = $1 and state = 'active'", r.instant("10:01:00"))
	r.trigger(store.Trigger{Schedule: "minutes", Overlap: store.OverlapAllow})
	r.tick(old)
	r.wantLedger("minutes", "10:01:00 pending")
	r.tick(young)
	r.want(2, "select count(*) from orrery.occurrence where status = 'running'")
}

// TestScenario59: the database's clock is five minutes ahead of this process, and is what counts.
func TestScenario59(t *testing.T) {
	r := newRig(t)
	ahead := func() time.Time { return time.Now().UTC().Add(5 * time.Minute) }
	db, err := store.Open(t.Context(), r.pool.Config().ConnString(), store.Options{Direct: true, Now: ahead})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	r.now = ahead()
	r.create("seconds", overlapping(workflow("* * * * * *"), "allow"))
	ps := []*process{r.process(db, cron.Options{}), r.process(db, cron.Options{})}
	r.until("three seconds have run", func() bool {
		return r.count("select count(*) from orrery.execution") >= 3
	})
	for _, p := range ps {
		p.stop()
	}
	r.want(0, "select count(*) from orrery.occurrence where instant <= $1 or instant > $2 or status = 'skipped_misfire'", r.now, ahead())
	r.want(0, "select count(*) from (select from orrery.occurrence group by schedule, instant having count(*) > 1) x")
}

// TestScenario60: the clock goes back by an hour. Nothing runs again, and what comes due by the new time is found.
func TestScenario60(t *testing.T) {
	r := newRig(t)
	r.create("hourly", workflow("0 0 * * * *"))
	x := r.runner(cron.Options{})
	r.tickAt(x, "11:00:00")
	r.at("10:00:01")
	r.create("minutes", workflow("0 * * * * *"))
	r.tickAt(x, "10:01:00")
	r.wantLedger("minutes", "10:01:00 running")
	r.tickAt(x, "11:00:05")
	r.wantLedger("hourly", "11:00:00 running")
}

func TestScenario61Database(t *testing.T) {
	r := newRig(t)
	r.create("hourly", workflow("0 0 * * * *"))
	x := r.runner(cron.Options{})
	r.tickAt(x, "11:00:00")
	// What was planned with an older database said 12:30.
	r.exec("update orrery.schedule set zones = '2000a', next_instant = $1, next_at = $1", r.instant("12:30:00"))
	r.tickAt(x, "11:30:00")
	r.wantLedger("hourly", "11:00:00 running")
	if s, _ := r.schedule("hourly"); !s.Next.Equal(r.instant("12:00:00")) || s.Zones != schedule.ZonesVersion() {
		t.Errorf("next is %s, by %s", s.Next, s.Zones)
	}
	r.want(1, "select count(*) from orrery.schedule_event where kind = 'replanned' and detail like '%12:30:00Z%2000a%12:00:00Z%'")
	r.tick(x)
	r.want(1, "select count(*) from orrery.schedule_event where kind = 'replanned'")
}

// TestScenario62Database: of 31 instants 10 have a row. The others run one after the other.
func TestScenario62Database(t *testing.T) {
	r := newRig(t)
	r.create("minutes", overlapping(workflow("0 * 10 * * *"), "allow"))
	x := r.runner(cron.Options{})
	for i := range 10 {
		r.tickAt(x, fmt.Sprintf("10:%02d:00", i+1))
	}
	s, d := r.schedule("minutes")
	instants, all := d.Schedule.Backfill(r.instant("10:01:00"), r.instant("10:32:00"), 1000)
	if all != 31 {
		t.Fatalf("%d instants, want 31", all)
	}
	taken, err := r.db.TakenInstants(t.Context(), s.ID, instants)
	if err != nil || len(taken) != 10 {
		t.Fatalf("%d are taken: %v", len(taken), err)
	}
	made, err := r.db.Backfill(t.Context(), store.Backfill{Schedule: s.ID, Instants: instants, Key: "minutes", OwnKey: true, Slots: 1})
	if err != nil || len(made) != 21 {
		t.Fatalf("%d were made: %v", len(made), err)
	}
	r.want(10, "select count(*) from orrery.occurrence where trigger = 'cron'")
	for i := range 21 {
		r.tick(x)
		r.want(1, "select count(*) from orrery.occurrence where trigger = 'backfill' and status = 'running'")
		r.end(history.Succeeded, r.execution("minutes", fmt.Sprintf("10:%02d:00", 11+i)))
	}
	r.want(21, "select count(*) from orrery.occurrence where trigger = 'backfill' and status = 'completed'")
	r.tickAt(x, "10:11:00")
	r.want(31, "select count(*) from orrery.occurrence")
}
