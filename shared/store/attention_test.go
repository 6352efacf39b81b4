package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// attention reads the list page by page, as execution/unit/attempt/offer each, and counts the pages.
func (w *world) attention(ns history.NamespaceID, limit, window int) (all []string, pages int) {
	w.t.Helper()
	q := store.AttentionQuery{Namespace: ns, Limit: limit}
	for pages < 100 {
		got, err := w.fn.AttentionWindow(ctx(w.t), q, window)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(got.Items) > limit {
			w.t.Fatalf("a page has %d entries, the limit is %d", len(got.Items), limit)
		}
		pages++
		for _, i := range got.Items {
			all = append(all, fmt.Sprintf("%s/%s/%d/%d", i.Name, i.Row.Unit, i.Row.Attempt, i.Row.Offer))
		}
		if got.Next == (store.AttentionKey{}) {
			return all, pages
		}
		q.After = got.Next
	}
	w.t.Fatalf("the list does not end: %v", all)
	return nil, 0
}

// troubled makes executions in every state that the list tells apart: "e" is blocked and has an uncertain unit, "f" has one
// that was redelivered, and one each that is queued, claimed and offered again; "g" is blocked; "h" has ended.
func troubled(t *testing.T) *world {
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e := w.start("e", 0, offer("A", 1, 0))
	f := w.start("f", 0, offer("B", 1, 0), offer("C", 1, 0), offer("D", 1, 0))
	g, h := w.start("g", 0), w.start("h", 0, offer("E", 1, 0))
	s := w.session("w1")
	if got := w.claim(s, "p1", 10); len(got) != 5 {
		t.Fatalf("claimed %d rows, want 5", len(got))
	}
	lose := func(offers []history.Offer, rows ...history.RowRef) func(*history.Turn) {
		return func(t *history.Turn) { t.Lost, t.Offers = rows, offers }
	}
	row := func(unit string, offer int) history.RowRef {
		return history.RowRef{Unit: history.UnitKey(unit), Attempt: 1, Offer: offer}
	}
	w.mustCommit(n,
		e.turn(n, lose(nil, row("A", 0))),
		f.turn(n, lose([]history.Offer{offer("B", 1, 1), offer("C", 1, 1), offer("F", 1, 0)}, row("B", 0), row("C", 0))),
		h.turn(n, lose(nil, row("E", 0))))
	f.seq, h.seq = f.seq+1, h.seq+1
	w.exec("update orrery.task set state = 'claimed', claimed_at = now() where unit = 'B' and offer = 1")
	w.mustCommit(n, f.turn(n, lose(nil, row("B", 1))))
	w.mustCommit(n, h.turn(n, end))
	for _, x := range []*execution{e, g} {
		if err := w.db.Block(ctx(t), n.Fence, store.Held{Partition: 0, Epoch: n.epochs[0]}, x.id, "it hurts"); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestAttention(t *testing.T) {
	w := troubled(t)
	got, err := w.fn.Attention(ctx(t), store.AttentionQuery{Namespace: namespace, Limit: 10})
	if err != nil || len(got.Items) != 4 || got.Next != (store.AttentionKey{}) {
		t.Fatalf("%+v, %v, want 4 entries on one page", got, err)
	}
	blocked, unit := got.Items[0], got.Items[1]
	if blocked.Name != "e" || blocked.Workflow != "orders" || blocked.Version != 1 || blocked.Reason != "it hurts" || blocked.Since == 0 || blocked.Row.Unit != "" {
		t.Errorf("blocked: %+v", blocked)
	}
	if unit.Name != "e" || unit.Row.Unit != "A" || unit.Reason != "" || unit.Contract != contract || unit.Since == 0 {
		t.Errorf("uncertain: %+v", unit)
	}
}

// TestAttentionPages reads the same list in pages of every size, through windows that end in the middle of a unit's rows.
func TestAttentionPages(t *testing.T) {
	w := troubled(t)
	want := []string{"e//0/0", "e/A/1/0", "f/B/1/1", "g//0/0"}
	for limit := 1; limit <= 5; limit++ {
		for _, window := range []int{1, 2, 3, 100} {
			got, pages := w.attention(namespace, limit, window)
			if !slices.Equal(got, want) {
				t.Errorf("limit %d, window %d: %v, want %v", limit, window, got, want)
			}
			if window == 1 && pages < 5 {
				t.Errorf("limit %d: %d pages, but each reads one row", limit, pages)
			}
		}
	}
	if got, _ := w.attention(namespace+1, 10, 100); got != nil {
		t.Errorf("another namespace shows %v", got)
	}
}
