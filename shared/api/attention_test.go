package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// TestAttentionIsPaged: an execution that is blocked and its uncertain unit are an entry each, and a cursor names a unit.
func TestAttentionIsPaged(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", oneTask)
	s.start("orders", "order-1", `{}`)
	s.start("orders", "order-2", `{}`)
	if tasks := s.poll(s.register("w"), "p1"); len(tasks) != 2 {
		t.Fatalf("the poll got %d tasks, want 2", len(tasks))
	}
	for _, sql := range []string{
		`update orrery.task set state = 'lost', noticed = true`,
		`insert into orrery.blocked (execution, partition, reason) select id, partition, 'it hurts' from orrery.execution where name = 'order-1'`,
	} {
		if _, err := s.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	var got []wire.Attention
	for next := ""; ; {
		var l wire.AttentionList
		s.call("GET", "/v1/attention?limit=1&cursor="+url.QueryEscape(next), nil, 200, &l)
		got = append(got, l.Items...)
		if next = l.Next; next == "" || len(got) > 3 {
			break
		}
	}
	if len(got) != 3 {
		t.Fatalf("%d entries, want 3: %+v", len(got), got)
	}
	if a := got[0]; a.Kind != wire.AttentionBlocked || a.Execution != "order-1" || a.Reason != "it hurts" || a.Unit != nil || a.Since.IsZero() {
		t.Errorf("first %+v", a)
	}
	unit := wire.UncertainUnit{Key: "Charge", Task: "payments.charge", ContractVersion: 2, Attempt: 1}
	for i, name := range []string{"order-1", "order-2"} {
		if a := got[i+1]; a.Kind != wire.AttentionUncertain || a.Execution != name || a.Workflow != "orders" || a.Version != 1 || a.Unit == nil || *a.Unit != unit {
			t.Errorf("entry %d: %+v", i+1, a)
		}
	}
	for _, cursor := range []string{"x", "1", "1/1/1", "0/1/0/A", "1/-1/0/A", "1/1/x/A", "99999999999999999999/1/0/A"} {
		s.refused("GET", "/v1/attention?cursor="+url.QueryEscape(cursor), nil, wire.InvalidRequest)
	}
}

// TestAttentionListsOccurrences: behind what waits of executions come occurrences, over pages of any size.
func TestAttentionListsOccurrences(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", oneTask)
	s.start("orders", "order-1", `{}`)
	s.createSchedule("job", yearly)
	for range 3 {
		s.call("POST", "/v1/schedules/job/trigger", "", 201, nil)
	}
	s.exec(`insert into orrery.blocked (execution, partition, reason) select id, partition, 'it hurts' from orrery.execution`)
	s.exec(`update orrery.occurrence set status = 'failed', look_at = null, ended_at = now(), expires_at = now() + interval '1 day'`)
	s.exec(`insert into orrery.dead_letter (occurrence, schedule, namespace, tries, reason)
		select id, schedule, namespace, row_number() over (order by id) - 1, 'no luck' from orrery.occurrence`)
	for _, limit := range []string{"1", "2", "3", "4", "100"} {
		var got []string
		for next := ""; ; {
			var l wire.AttentionList
			s.call("GET", "/v1/attention?limit="+limit+"&cursor="+url.QueryEscape(next), nil, 200, &l)
			for _, a := range l.Items {
				got = append(got, string(a.Kind))
				if o := a.Occurrence; o != nil && (o.Schedule != "job" || a.Reason != "no luck" || o.Tries != len(got)-2 || a.Since.IsZero()) {
					t.Errorf("entry %d: %+v %+v", len(got), a, o)
				}
			}
			if next = l.Next; next == "" || len(got) > 4 {
				break
			}
		}
		if want := []string{"blocked", "missed", "dead_letter", "dead_letter"}; !slices.Equal(got, want) {
			t.Errorf("by %s: %v, want %v", limit, got, want)
		}
	}
	// Whoever has one tried again has dealt with it.
	var l wire.AttentionList
	s.call("GET", "/v1/attention", nil, 200, &l)
	s.call("POST", fmt.Sprintf("/v1/schedules/job/occurrences/%d/retry", l.Items[2].Occurrence.ID), "", 200, nil)
	s.call("GET", "/v1/attention", nil, 200, &l)
	if len(l.Items) != 3 {
		t.Errorf("%d entries, want 3: %+v", len(l.Items), l.Items)
	}
	for _, cursor := range []string{"occurrence/x", "occurrence/-1", "occurrence/", "occurrence"} {
		s.refused("GET", "/v1/attention?cursor="+url.QueryEscape(cursor), nil, wire.InvalidRequest)
	}
}

// TestMissedOccurrencesWaitForSomebody: one that came too late for its start is missed by the next claim, and listed.
func TestMissedOccurrencesWaitForSomebody(t *testing.T) {
	s := newSurface(t)
	s.createSchedule("job", yearly)
	s.call("POST", "/v1/schedules/job/trigger", "", 201, nil)
	s.exec(`update orrery.occurrence set deadline_at = now() - interval '1 minute'`)
	claimed, err := s.store.ClaimRuns(t.Context(), store.RunClaim{Claimant: "c", Workflows: 10, Lease: time.Minute, Level: 1})
	if err != nil || claimed.Missed != 1 || len(claimed.Runs) != 0 {
		t.Fatalf("claimed %+v, %v", claimed, err)
	}
	var l wire.AttentionList
	s.call("GET", "/v1/attention", nil, 200, &l)
	if len(l.Items) != 1 || l.Items[0].Kind != wire.AttentionMissed || l.Items[0].Occurrence.Tries != 0 || !strings.Contains(l.Items[0].Reason, "deadline was over") {
		t.Errorf("attention %+v", l.Items)
	}
	if got := s.occurrences("job", "status=missed_deadline"); len(got) != 1 {
		t.Errorf("missed: %v", got)
	}
}
