package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// yearly is a schedule that is not due while a test runs.
const yearly = `{"specs":["0 0 1 1 *"],"zone":"Pacific/Kiritimati","target":{"workflow":{"name":"orders"}},"input":{"a":"<&>"}}`

func (s *surface) createSchedule(id, definition string) wire.ScheduleDetail {
	s.t.Helper()
	var d wire.ScheduleDetail
	s.call("POST", "/v1/schedules", strings.Replace(definition, "{", `{"id":"`+id+`",`, 1), 201, &d)
	return d
}

func (s *surface) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.pool.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatal(err)
	}
}

// occurrences gives the occurrences of a schedule, newest first, as "status trigger instant".
func (s *surface) occurrences(id, query string) (all []string) {
	s.t.Helper()
	for next, pages := "", 0; ; pages++ {
		var l wire.OccurrenceList
		s.call("GET", "/v1/schedules/"+id+"/occurrences?"+query+"&cursor="+next, nil, 200, &l)
		for _, o := range l.Occurrences {
			all = append(all, fmt.Sprint(o.Status, " ", o.Trigger, " ", o.Instant.Format(time.RFC3339)))
		}
		if next = l.Next; next == "" || pages > 50 {
			return all
		}
	}
}

func (s *surface) events(id string) (kinds []string) {
	s.t.Helper()
	var l wire.ScheduleEventList
	s.call("GET", "/v1/schedules/"+id+"/events", nil, 200, &l)
	for _, e := range l.Events {
		if e.At.IsZero() || e.Kind != "completed" && !strings.Contains(e.Detail, "by anonymous, request ") {
			s.t.Errorf("event %+v", e)
		}
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func TestScheduleLife(t *testing.T) {
	s := newSurface(t)
	d := s.createSchedule("report", yearly)
	if d.ID != "report" || d.Title != "report" || d.Status != wire.ScheduleActive || d.Version != 1 || d.CreatedAt.IsZero() {
		t.Errorf("created %+v", d)
	}
	if y, m, day := d.NextAt.Add(14 * time.Hour).Date(); m != time.January || day != 1 || y <= time.Now().UTC().Year() {
		t.Errorf("next at %v, want midnight of a New Year's Day at +14:00", d.NextAt)
	}
	if string(d.Definition.Input) != `{"a":"<&>"}` || d.Definition.Zone != "Pacific/Kiritimati" || d.Definition.ID != "report" {
		t.Errorf("definition %+v", d.Definition)
	}
	rows := s.rows()
	var again, got wire.ScheduleDetail
	s.call("POST", "/v1/schedules", `{"id":"report",`+yearly[1:], 200, &again)
	s.call("GET", "/v1/schedules/report", nil, 200, &got)
	for _, other := range []wire.ScheduleDetail{again, got} {
		if a, b := mustJSON(t, other), mustJSON(t, d); a != b {
			t.Errorf("got  %s\nwant %s", a, b)
		}
	}
	s.refused("POST", "/v1/schedules", `{"id":"report","title":"other",`+yearly[1:], wire.ScheduleExists)
	s.call("PUT", "/v1/schedules/report", yearly, 200, &again)
	if after := s.rows(); again.Version != 1 || !maps.Equal(rows, after) {
		t.Errorf("an equal definition makes version %d and the rows %v, want %v", again.Version, after, rows)
	}
	s.replaces()
	s.pauses()
	s.archives()
	if got, want := s.events("report"), []string{"archived", "resumed", "paused", "replaced", "created"}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s *surface) replaces() {
	s.t.Helper()
	other := strings.Replace(yearly, `"0 0 1 1 *"`, `"0 0 */2 1 *"`, 1)
	s.refused("PUT", "/v1/schedules/report?version=7", other, wire.ScheduleChanged)
	s.refused("PUT", "/v1/schedules/report", strings.Replace(other, "{", `{"id":"another",`, 1), wire.InvalidRequest)
	s.refused("PUT", "/v1/schedules/nothing", other, wire.ScheduleNotFound)
	var d wire.ScheduleDetail
	s.call("PUT", "/v1/schedules/report?version=1", other, 200, &d)
	if d.Version != 2 || d.Definition.Specs[0] != "0 0 */2 1 *" || len(d.Warnings) != 1 || d.Warnings[0].Rule != "day_step" {
		s.t.Errorf("replaced %+v", d)
	}
}

func (s *surface) pauses() {
	s.t.Helper()
	var d wire.ScheduleDetail
	for range 2 {
		s.call("POST", "/v1/schedules/report/pause", `{"reason":"audit"}`, 200, &d)
		if d.Status != wire.SchedulePaused || d.PauseReason != "audit" || d.PausedAt.IsZero() || !d.NextAt.IsZero() {
			s.t.Errorf("paused %+v", d)
		}
	}
	var l wire.ScheduleList
	s.call("GET", "/v1/schedules?status=paused", nil, 200, &l)
	if len(l.Schedules) != 1 || l.Schedules[0].ID != "report" {
		s.t.Errorf("paused ones: %+v", l)
	}
	for range 2 {
		s.call("POST", "/v1/schedules/report/resume", `{"instants":"latest"}`, 200, &d)
		if d = s.getSchedule("report"); d.Status != wire.ScheduleActive || d.PauseReason != "" || !d.PausedAt.IsZero() || d.NextAt.IsZero() {
			s.t.Errorf("resumed %+v", d)
		}
	}
}

func (s *surface) getSchedule(id string) (d wire.ScheduleDetail) {
	s.t.Helper()
	s.call("GET", "/v1/schedules/"+id, nil, 200, &d)
	return d
}

func (s *surface) archives() {
	s.t.Helper()
	s.call("POST", "/v1/schedules/report/trigger", "", 201, nil)
	var d wire.ScheduleDetail
	for range 2 {
		s.call("POST", "/v1/schedules/report/archive", "", 200, &d)
		if d.Status != wire.ScheduleArchived || !d.NextAt.IsZero() {
			s.t.Errorf("archived %+v", d)
		}
	}
	if got := s.occurrences("report", "status=cancelled_by_archive"); len(got) != 1 {
		s.t.Errorf("%v, want the one that had not begun", got)
	}
	rows := s.rows()
	for path, body := range map[string]string{
		"pause": "", "resume": "", "trigger": "", "backfill": `{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`,
	} {
		s.refused("POST", "/v1/schedules/report/"+path, body, wire.ScheduleState)
	}
	s.refused("PUT", "/v1/schedules/report", yearly, wire.ScheduleState)
	s.refused("POST", "/v1/schedules", `{"id":"report",`+yearly[1:], wire.ScheduleExists)
	if after := s.rows(); !maps.Equal(rows, after) {
		s.t.Errorf("rows %v, want %v", after, rows)
	}
	for query, want := range map[string]int{"": 0, "status=archived": 1, "status=active": 0} {
		var l wire.ScheduleList
		if s.call("GET", "/v1/schedules?"+query, nil, 200, &l); len(l.Schedules) != want {
			s.t.Errorf("list with %q: %+v, want %d", query, l, want)
		}
	}
}

func TestListSchedules(t *testing.T) {
	s := newSurface(t)
	for _, id := range []string{"c", "a", "b"} {
		s.createSchedule(id, yearly)
	}
	var made wire.ScheduleDetail
	s.call("POST", "/v1/schedules", yearly, 201, &made, "Idempotency-Key", "k")
	s.call("POST", "/v1/schedules", yearly, 200, &made, "Idempotency-Key", "k")
	var ids []string
	for next := ""; ; {
		var l wire.ScheduleList
		s.call("GET", "/v1/schedules?limit=2&cursor="+next, nil, 200, &l)
		for _, x := range l.Schedules {
			ids = append(ids, x.ID)
		}
		if next = l.Next; next == "" || len(ids) > 4 {
			break
		}
	}
	if want := []string{"a", "b", "c", made.ID}; !slices.Equal(ids, want) || len(made.ID) != 36 {
		t.Errorf("ids %v, want %v", ids, want)
	}
}

// hourly catches up: all of the instants that nobody planned.
const hourly = `{"specs":["0 * * * *"],"misfire":{"policy":"all","max":1000},"target":{"workflow":{"name":"orders"}}}`

// TestChangesPlanWhatIsDue: no planner has run for five hours. A change of any sort makes the occurrences first.
func TestChangesPlanWhatIsDue(t *testing.T) {
	s := newSurface(t)
	other := strings.Replace(hourly, "0 *", "30 *", 1)
	for id, change := range map[string][]string{
		"paused": {"POST", "/pause", ""}, "replaced": {"PUT", "", other}, "retitled": {"PUT", "", strings.Replace(hourly, "{", `{"title":"t",`, 1)},
	} {
		s.createSchedule(id, hourly)
		s.exec(`update orrery.schedule set cursor_at = date_trunc('hour', now()) - interval '5 hours', next_at = now(), next_instant = null where name = $1`, id)
		var d wire.ScheduleDetail
		s.call(change[0], "/v1/schedules/"+id+change[1], change[2], 200, &d)
		got := s.occurrences(id, "")
		if len(got) != 5 || d.Runs != 5 {
			t.Errorf("%s: %d runs, occurrences %v, want the five of five hours", id, d.Runs, got)
		}
	}
	if d := s.getSchedule("replaced"); d.NextAt.Minute() != 30 || !d.NextAt.After(time.Now()) {
		t.Errorf("with its new timing the next one is at %v", d.NextAt)
	}
	if d := s.getSchedule("retitled"); d.NextAt.Minute() != 0 || !d.NextAt.After(time.Now()) || d.Title != "t" {
		t.Errorf("with its old timing the next one is at %v", d.NextAt)
	}
	// The pause began three hours ago: of its instants the newest one runs, or none, and none counts as missed.
	for _, how := range []string{"skip", "latest"} {
		s.exec(`update orrery.schedule set cursor_at = date_trunc('hour', now()) - interval '3 hours', state = 'paused', paused_at = now(),
			pause_reason = 'x', next_at = null, next_instant = null where name = 'paused'`)
		s.exec(`delete from orrery.occurrence`)
		s.call("POST", "/v1/schedules/paused/resume", `{"instants":"`+how+`"}`, 200, nil)
		got := s.occurrences("paused", "")
		if len(got) != map[string]int{"skip": 0, "latest": 1}[how] {
			t.Errorf("after %s: %v", how, got)
		}
		if d := s.getSchedule("paused"); d.Status != wire.ScheduleActive || !d.NextAt.After(time.Now()) {
			t.Errorf("after %s: %+v", how, d)
		}
	}
}

// TestChangePlansMoreThanFitsIntoOnePlan: what one plan has no rows for is not lost, and a plan that ends the schedule is
// heard.
func TestChangePlansMoreThanFitsIntoOnePlan(t *testing.T) {
	s := newSurface(t)
	s.createSchedule("busy", `{"specs":["* * * * * *"],"dialect":"seconds","misfire":{"policy":"all","max":600},"target":{"workflow":{"name":"orders"}}}`)
	s.exec(`update orrery.schedule set cursor_at = now() - interval '20 minutes'`)
	s.call("PUT", "/v1/schedules/busy", yearly, 200, nil)
	if n := len(s.occurrences("busy", "status=pending&limit=1000")); n < 600 || n > 620 {
		t.Errorf("%d occurrences, want 600 that were late and the few of the last five seconds", n)
	}
	if got := s.occurrences("busy", "status=skipped_misfire"); len(got) != 1 {
		t.Errorf("%v, want one entry for the instants beyond", got)
	}
	s.createSchedule("short", `{"specs":["0 * * * *"],"limit":2,"misfire":{"policy":"all"},"target":{"workflow":{"name":"orders"}}}`)
	s.exec(`update orrery.schedule set cursor_at = date_trunc('hour', now()) - interval '5 hours' where name = 'short'`)
	s.refused("POST", "/v1/schedules/short/pause", "", wire.ScheduleState)
	if d := s.getSchedule("short"); d.Status != wire.ScheduleCompleted || d.Runs != 2 {
		t.Errorf("%+v, want it completed after two runs", d)
	}
	if got := s.events("short"); !slices.Equal(got, []string{"completed", "created"}) {
		t.Errorf("events %v", got)
	}
}

func TestTrigger(t *testing.T) {
	s := newSurface(t)
	s.createSchedule("job", yearly)
	var a, b, c wire.Occurrence
	s.call("POST", "/v1/schedules/job/trigger", `{"input":{"x":1}}`, 201, &a, "Idempotency-Key", "k1")
	s.call("POST", "/v1/schedules/job/trigger", `{"input": {"x":1}}`, 200, &b, "Idempotency-Key", "k1")
	if a != b || a.Status != wire.OccurrencePending || a.Trigger != "manual" || a.ID == 0 {
		t.Errorf("the first is %+v, the repeat %+v", a, b)
	}
	s.refused("POST", "/v1/schedules/job/trigger", `{"input":{"x":2}}`, wire.IdempotencyKeyReused, "Idempotency-Key", "k1")
	s.refused("POST", "/v1/schedules/job/trigger", `{"input":{"x":1},"overlap":"allow"}`, wire.IdempotencyKeyReused, "Idempotency-Key", "k1")
	s.call("POST", "/v1/schedules/job/trigger", `{"overlap":"allow"}`, 201, &c)
	var first, second wire.OccurrenceDetail
	s.call("GET", fmt.Sprintf("/v1/schedules/job/occurrences/%d", a.ID), nil, 200, &first)
	s.call("GET", fmt.Sprintf("/v1/schedules/job/occurrences/%d", c.ID), nil, 200, &second)
	if first.Overlap != "skip" || first.Key != "job" || string(first.Input) != `{"x":1}` || second.Overlap != "allow" || second.Key != "" || second.Input != nil {
		t.Errorf("%+v\n%+v", first, second)
	}
	rows := s.rows()
	for _, body := range []string{`{"input":[]}`, `{"input":null}`, `{"input":"x"}`, `{"overlap":"queue"}`} {
		s.refused("POST", "/v1/schedules/job/trigger", body, wire.InvalidRequest)
	}
	s.refused("POST", "/v1/schedules/job/trigger", `{"input":{"x":"`+strings.Repeat("x", 17<<10)+`"}}`, wire.PayloadTooLarge)
	s.refused("POST", "/v1/schedules/nothing/trigger", ``, wire.ScheduleNotFound)
	if after := s.rows(); !maps.Equal(rows, after) {
		t.Errorf("rows %v, want %v", after, rows)
	}
}

func TestBackfill(t *testing.T) {
	s := newSurface(t)
	const daily = `{"specs":["0 6 * * *"],"target":{"workflow":{"name":"orders"}}}`
	s.createSchedule("daily", daily)
	s.createSchedule("free", strings.Replace(daily, "{", `{"overlap":{"policy":"allow"},`, 1))
	const month = `"from":"2026-01-01T00:00:00Z","to":"2026-02-01T00:00:00Z"`
	backfill := func(id, body string) (b wire.BackfillResponse) {
		t.Helper()
		s.call("POST", "/v1/schedules/"+id+"/backfill", body, 200, &b)
		return b
	}
	if b := backfill("daily", `{"from":"2026-01-03T06:00:00Z","to":"2026-01-13T06:00:00Z"}`); b.All != 10 || len(b.Instants) != 10 {
		t.Errorf("ten days: %+v", b)
	}
	preview := backfill("daily", `{"preview":true,`+month+`}`)
	if preview.All != 31 || len(preview.Instants) != 21 || !preview.Instants[2].Equal(time.Date(2026, 1, 13, 6, 0, 0, 0, time.UTC)) {
		t.Errorf("preview: %+v", preview)
	}
	if got := s.occurrences("daily", ""); len(got) != 10 {
		t.Errorf("a preview has made occurrences: %v", got)
	}
	if b := backfill("daily", `{`+month+`}`); mustJSON(t, b) != mustJSON(t, preview) {
		t.Errorf("made %+v, previewed %+v", b, preview)
	}
	if b := backfill("daily", `{`+month+`}`); b.All != 31 || len(b.Instants) != 0 {
		t.Errorf("a repeat has made %+v", b)
	}
	if got := s.occurrences("daily", "trigger=backfill&from=2026-01-05T00:00:00Z&to=2026-01-07T00:00:00Z"); len(got) != 2 {
		t.Errorf("%v, want those of two days", got)
	}
	backfill("free", `{"slots":3,`+month+`}`)
	var slots int
	if err := s.pool.QueryRow(t.Context(), `select slots from orrery.singleton where key = 'backfill of free'`).Scan(&slots); err != nil || slots != 3 {
		t.Errorf("%d slots, %v, want 3", slots, err)
	}
	rows := s.rows()
	future := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	s.createSchedule("minutely", `{"specs":["* * * * *"],"target":{"workflow":{"name":"orders"}}}`)
	for _, tt := range []struct{ id, body, rule string }{
		{"daily", `{"from":"2026-01-02T00:00:00Z","to":"2026-01-02T00:00:00Z"}`, "after=from"},
		{"daily", `{"from":"2020-01-02T00:00:00Z","to":"2026-01-02T00:00:00Z"}`, "span=366d"},
		{"daily", `{"from":"2026-01-02T00:00:00Z","to":"` + future + `"}`, "past"},
		{"minutely", `{` + month + `}`, "max=1000"},
	} {
		e := s.refused("POST", "/v1/schedules/"+tt.id+"/backfill", tt.body, wire.InvalidRequest)
		if !slices.Contains(faultsOf(e), "to "+tt.rule) {
			t.Errorf("%s: %+v, want %s", tt.body, e.Details, tt.rule)
		}
	}
	if after := s.rows(); after["occurrence"] != rows["occurrence"] {
		t.Errorf("%d occurrences, want %d", after["occurrence"], rows["occurrence"])
	}
}

func TestOperatorsWordOnOccurrences(t *testing.T) {
	s := newSurface(t)
	s.createSchedule("job", yearly)
	s.createSchedule("other", yearly)
	var o wire.Occurrence
	s.call("POST", "/v1/schedules/job/trigger", "", 201, &o)
	path := fmt.Sprintf("/v1/schedules/job/occurrences/%d", o.ID)
	var r wire.OccurrenceResponse
	s.refused("POST", path+"/retry", "", wire.ScheduleState)
	s.call("POST", path+"/cancel", `{"reason":"no need"}`, 200, &r)
	if r.Occurrence.Status != wire.OccurrenceCancelled || !strings.Contains(r.Occurrence.Reason, "anonymous: no need") || r.Occurrence.EndedAt.IsZero() {
		t.Errorf("cancelled %+v", r)
	}
	s.refused("POST", path+"/cancel", "", wire.ScheduleState)
	s.call("POST", path+"/retry", `{"reason":"after all"}`, 200, &r)
	if r.Occurrence.Status != wire.OccurrencePending || r.Occurrence.Retry != 1 || !strings.Contains(r.Occurrence.Reason, "after all") {
		t.Errorf("tried again: %+v", r)
	}
	// A runner under a lease hears of it later.
	s.exec(`update orrery.occurrence set status = 'running', claimant = 'c', claim = 1, attempt = 1, token = 1, started_at = now(), slot = 1 where id = $1`, o.ID)
	var d wire.OccurrenceDetail
	s.call("POST", path+"/cancel", `{"reason":"stop"}`, 202, &r)
	s.call("GET", path, nil, 200, &d)
	if r.Confirmed || d.Status != wire.OccurrenceRunning || d.CancelledBy != "anonymous" || d.CancelReason != "stop" || d.FencingToken != 1 || d.Slot != 1 {
		t.Errorf("asked to end: %+v", d)
	}
	for _, path := range []string{"/v1/schedules/nothing/occurrences/1", "/v1/schedules/nothing/occurrences/1/cancel", "/v1/schedules/nothing/occurrences/1/retry"} {
		s.refused(methodOf(path), path, "", wire.ScheduleNotFound)
	}
	foreign := fmt.Sprintf("/v1/schedules/other/occurrences/%d", o.ID)
	for _, path := range []string{foreign, foreign + "/cancel", foreign + "/retry", "/v1/schedules/job/occurrences/999999"} {
		s.refused(methodOf(path), path, "", wire.OccurrenceNotFound)
	}
	for _, path := range []string{"/v1/schedules/job/occurrences/0", "/v1/schedules/job/occurrences/x", "/v1/schedules/job/occurrences/99999999999999999999"} {
		s.refused("GET", path, nil, wire.InvalidRequest)
	}
	for _, query := range []string{"cursor=x", "cursor=0", "status=done", "trigger=x", "limit=0", "from=yesterday"} {
		s.refused("GET", "/v1/schedules/job/occurrences?"+query, nil, wire.InvalidRequest)
	}
}

func methodOf(path string) string {
	if strings.HasSuffix(path, "/cancel") || strings.HasSuffix(path, "/retry") {
		return "POST"
	}
	return "GET"
}

// TestPreviewAcrossTransitions shows what the clocks of New York do to half past two and half past one.
func TestPreviewAcrossTransitions(t *testing.T) {
	s := newSurface(t)
	const spring = `{"specs":["30 2 * * *"],"zone":"America/New_York","target":{"workflow":{"name":"orders"}}}`
	var p wire.Preview
	s.call("POST", "/v1/schedules/preview", `{"definition":`+spring+`,"after":"2030-03-09T00:00:00Z","count":3}`, 200, &p)
	got := previewText(p)
	want := []string{
		"2030-03-09T07:30:00Z 2030-03-09T02:30:00-05:00 EST ",
		"2030-03-10T07:00:00Z 2030-03-10T03:00:00-04:00 EDT shifted",
		"2030-03-11T06:30:00Z 2030-03-11T02:30:00-04:00 EDT ",
	}
	if !slices.Equal(got, want) || !strings.Contains(p.Instants[1].Note, "2030-03-10 02:30:00") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.createSchedule("autumn", strings.Replace(spring, "30 2", "30 1", 1))
	p = wire.Preview{}
	s.call("GET", "/v1/schedules/autumn/preview?after=2030-11-02T12:00:00Z&count=2", nil, 200, &p)
	want = []string{
		"2030-11-03T05:30:00Z 2030-11-03T01:30:00-04:00 EDT first_showing",
		"2030-11-04T06:30:00Z 2030-11-04T01:30:00-05:00 EST ",
	}
	if got := previewText(p); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.call("GET", "/v1/schedules/autumn/preview", nil, 200, &p)
	if len(p.Instants) != 10 || !p.Instants[0].Instant.After(time.Now()) {
		t.Errorf("by default %d from %v", len(p.Instants), p.Instants[0].Instant)
	}
	if n := s.rows()["schedule"]; n != 1 {
		t.Errorf("%d schedules, want 1: a preview stores nothing", n)
	}
}

func previewText(p wire.Preview) (lines []string) {
	for _, i := range p.Instants {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", i.Instant.Format(time.RFC3339), i.Local, i.Zone, i.Mark))
	}
	return lines
}

// TestEveryFieldOfADefinitionIsChecked gives each field a value that breaks its rule, by itself and all together.
func TestEveryFieldOfADefinitionIsChecked(t *testing.T) {
	s := newSurface(t)
	s.createSchedule("slots", strings.Replace(yearly, "{", `{"overlap":{"key":"shared","slots":2},`, 1))
	rows := s.rows()
	const long = 3660*24*3600*1000 + 1
	faults := []struct{ field, value, place, code string }{
		{"id", `"a b"`, "id", "syntax"},
		{"id", `"` + strings.Repeat("x", 41) + `"`, "id", "syntax"},
		{"title", `"` + strings.Repeat("x", 129) + `"`, "title", "too_long"},
		{"title", `"a\nb"`, "title", "syntax"},
		{"specs", `[]`, "specs", "required"},
		{"specs", `["0 0 30 2 *"]`, "specs[0].day_of_month", "impossible_date"},
		{"specs", `["@daily","0 0 * * * *"]`, "specs[1]", "field_count"},
		{"specs", `["at 2020-01-01T00:00:00Z"]`, "specs[0]", "no_future"},
		{"exclude", `["* * * * *"]`, "exclude", "excludes_all"},
		{"dialect", `"posix"`, "dialect", "unknown"},
		{"zone", `"Mars/Olympus"`, "zone", "unknown_zone"},
		{"day_match", `"xor"`, "day_match", "unknown"},
		{"gap", `"jump"`, "gap", "unknown"},
		{"repeat", `"never"`, "repeat", "unknown"},
		{"end_at", `"2020-01-01T00:00:00Z"`, "specs[0]", "no_future"},
		{"limit", `-1`, "limit", "out_of_range"},
		{"jitter_ms", `86400001`, "jitter_ms", "out_of_range"},
		{"misfire", `{"policy":"some"}`, "misfire.policy", "unknown"},
		{"misfire", `{"max":1001}`, "misfire.max", "out_of_range"},
		{"misfire", fmt.Sprintf(`{"window_ms":%d}`, long), "misfire.window_ms", "out_of_range"},
		{"misfire", `{"grace_ms":300001}`, "misfire.grace_ms", "out_of_range"},
		{"start_deadline_ms", `-5`, "start_deadline_ms", "out_of_range"},
		{"overlap", `{"policy":"queue"}`, "overlap.policy", "unknown"},
		{"overlap", `{"slots":65}`, "overlap.slots", "out_of_range"},
		{"overlap", `{"key":"` + strings.Repeat("x", 129) + `"}`, "overlap.key", "too_long"},
		{"overlap", `{"policy":"buffer_one","keep":"both"}`, "overlap.keep", "unknown"},
		{"overlap", `{"policy":"buffer_all","limit":1001}`, "overlap.limit", "out_of_range"},
		{"overlap", `{"policy":"allow","key":"k"}`, "overlap.key", "unknown"},
		{"retry", `{"attempts":0}`, "retry.attempts", "out_of_range"},
		{"retry", `{"attempts":1,"backoff_ms":86400001}`, "retry.backoff_ms", "out_of_range"},
		{"retry", `{"attempts":1,"backoff_ms":5,"max_backoff_ms":4}`, "retry.max_backoff_ms", "out_of_range"},
		{"pause_after", `1001`, "pause_after", "out_of_range"},
		{"on_resume", `"all"`, "on_resume", "unknown"},
		{"timeout_ms", `9223372036854775807`, "timeout_ms", "out_of_range"},
		{"retention_ms", `1`, "retention_ms", "out_of_range"},
		{"target", `{}`, "target", "required"},
		{"target", `{"workflow":{"name":"w"},"lambda":{"function":"f"}}`, "target", "required"},
		{"target", `{"workflow":{"name":""}}`, "target.workflow.name", "syntax"},
		{"target", `{"workflow":{"name":"w","version":-1}}`, "target.workflow.version", "out_of_range"},
		{"target", `{"workflow":{"name":"w","alias":"a/b"}}`, "target.workflow.alias", "syntax"},
		{"target", `{"http":{"url":"ftp://x/"}}`, "target.http.url", "syntax"},
		{"target", `{"http":{"url":"http://u:p@x/"}}`, "target.http.url", "syntax"},
		{"target", `{"http":{"url":"http://x/","method":"TRACE"}}`, "target.http.method", "unknown"},
		{"target", `{"http":{"url":"http://x/","headers":[{"name":"A","value":"a"},{"name":"Host","value":"x"}]}}`, "target.http.headers[1].name", "unknown"},
		{"target", `{"lambda":{"function":""}}`, "target.lambda.function", "out_of_range"},
		{"input", `[]`, "input", "syntax"},
		{"input", `{"x":"` + strings.Repeat("x", 17<<10) + `"}`, "input", "too_long"},
	}
	all := map[string]json.RawMessage{}
	var places []string
	for _, f := range faults {
		body := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(yearly), &body); err != nil {
			t.Fatal(err)
		}
		body[f.field] = json.RawMessage(f.value)
		e := s.refused("POST", "/v1/schedules", body, wire.InvalidSchedule)
		if !slices.Contains(faultsOf(e), f.place+" "+f.code) {
			t.Errorf("%s %.60s: %+v, want %s: %s", f.field, f.value, e.Details, f.place, f.code)
		}
		if _, there := all[f.field]; !there && f.code != "no_future" && f.code != "excludes_all" {
			all[f.field] = json.RawMessage(f.value)
			places = append(places, f.place+" "+f.code)
		}
	}
	got := faultsOf(s.refused("POST", "/v1/schedules", all, wire.InvalidSchedule))
	for _, p := range places {
		if !slices.Contains(got, p) {
			t.Errorf("all together: no %q in %v", p, got)
		}
	}
	s.refused("POST", "/v1/schedules", strings.Replace(yearly, "{", `{"overlap":{"key":"shared","slots":3},`, 1), wire.KeyShared)
	for _, path := range []string{"/v1/schedules?status=gone", "/v1/schedules?limit=1001", "/v1/schedules/slots/preview?count=0", "/v1/schedules/slots/events?limit=0"} {
		s.refused("GET", path, nil, wire.InvalidRequest)
	}
	if after := s.rows(); !maps.Equal(rows, after) {
		t.Errorf("rows %v, want %v", after, rows)
	}
}

func TestSchedulesOfOtherNamespacesAreNotSeen(t *testing.T) {
	s := newSurface(t)
	s.exec(`insert into orrery.namespace (name) values ('shop')`)
	s.createSchedule("job", yearly)
	var o wire.Occurrence
	s.call("POST", "/v1/schedules/job/trigger", "", 201, &o)
	rows := s.rows()
	in := []string{wire.HeaderNamespace, "shop"}
	for path, body := range map[string]string{
		"GET /v1/schedules/job": "", "PUT /v1/schedules/job": yearly, "GET /v1/schedules/job/preview": "", "GET /v1/schedules/job/events": "",
		"POST /v1/schedules/job/pause": "", "POST /v1/schedules/job/resume": "", "POST /v1/schedules/job/archive": "",
		"POST /v1/schedules/job/trigger": "", "POST /v1/schedules/job/backfill": `{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`,
		"GET /v1/schedules/job/occurrences":                               "",
		fmt.Sprintf("GET /v1/schedules/job/occurrences/%d", o.ID):         "",
		fmt.Sprintf("POST /v1/schedules/job/occurrences/%d/cancel", o.ID): "",
		fmt.Sprintf("POST /v1/schedules/job/occurrences/%d/retry", o.ID):  "",
	} {
		method, path, _ := strings.Cut(path, " ")
		s.refused(method, path, body, wire.ScheduleNotFound, in...)
	}
	var l wire.ScheduleList
	s.call("GET", "/v1/schedules", nil, 200, &l, in...)
	if len(l.Schedules) != 0 || !maps.Equal(rows, s.rows()) {
		t.Errorf("seen from another namespace: %+v", l)
	}
}

// TestHealthCountsWhatSchedulesHaveWaiting counts an occurrence that nobody starts.
func TestHealthCountsWhatSchedulesHaveWaiting(t *testing.T) {
	s := newSurface(t)
	s.createSchedule("job", yearly)
	s.call("POST", "/v1/schedules/job/trigger", "", 201, nil)
	s.exec(`update orrery.occurrence set look_at = look_at - interval '1 minute'`)
	var h wire.Health
	s.call("GET", "/v1/health", nil, 200, &h)
	if h.Schedules.Due != 1 || h.Schedules.OldestAgeMS < 60_000 || h.Schedules.DeadLetters != 0 {
		t.Errorf("health %+v", h.Schedules)
	}
}
