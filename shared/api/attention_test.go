package api_test

import (
	"net/url"
	"testing"

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
