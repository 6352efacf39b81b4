package frontend

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// ListAttention lists what waits for a human; the cursor is the place of the last row that the page before has seen, as
// execution/attempt/offer/unit, or, behind all of them, as occurrence/number.
func (f *Frontend) ListAttention(ctx context.Context, c auth.Call, q wire.AttentionQuery) (wire.AttentionList, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.AttentionList{}, err
	}
	a := wire.AttentionList{Items: []wire.Attention{}}
	last, ok := occurrenceKey(q.Cursor)
	if !ok {
		after, ok := attentionKey(q.Cursor)
		if !ok {
			return a, wire.Invalid(wire.Detail{Field: "query cursor", Rule: "cursor", Message: "must be the next of a page before"})
		}
		page, err := f.store.Attention(ctx, store.AttentionQuery{Namespace: ns, After: after, Limit: q.Limit})
		if err != nil {
			return a, failed("list what waits for a human", err)
		}
		for _, item := range page.Items {
			a.Items = append(a.Items, attentionOf(item))
		}
		if k := page.Next; k.Execution != 0 {
			a.Next = fmt.Sprintf("%d/%d/%d/%s", k.Execution, k.Row.Attempt, k.Row.Offer, k.Row.Unit)
			return a, nil
		}
	}
	return a, f.deadLetters(ctx, ns, last, q.Limit, &a)
}

// deadLetters fills a page with occurrences, behind one of them.
func (f *Frontend) deadLetters(ctx context.Context, ns history.NamespaceID, last history.OccurrenceID, limit int, a *wire.AttentionList) error {
	room := limit - len(a.Items)
	list, err := f.store.DeadLetters(ctx, ns, last, room+1)
	if err != nil {
		return failed("list what waits for a human", err)
	}
	more := len(list) > room
	for _, d := range list[:min(len(list), room)] {
		kind := wire.AttentionDeadLetter
		if d.Tries == 0 {
			kind = wire.AttentionMissed
		}
		a.Items = append(a.Items, wire.Attention{
			Kind: kind, Since: d.At.Time(), Reason: d.Reason,
			Occurrence: &wire.DeadOccurrence{Schedule: d.Schedule, ID: int64(d.Occurrence), Instant: wireTime(d.Instant), Tries: d.Tries},
		})
		last = d.Occurrence
	}
	if more {
		a.Next = occurrencePrefix + strconv.FormatInt(int64(last), 10)
	}
	return nil
}

// occurrencePrefix begins the cursors that name an occurrence.
const occurrencePrefix = "occurrence/"

// occurrenceKey reads such a cursor.
func occurrenceKey(cursor string) (history.OccurrenceID, bool) {
	number, ok := strings.CutPrefix(cursor, occurrencePrefix)
	n, err := strconv.ParseInt(number, 10, 64)
	return history.OccurrenceID(n), ok && err == nil && n >= 0
}

func attentionOf(item store.Attention) wire.Attention {
	a := wire.Attention{
		Kind: wire.AttentionBlocked, Execution: item.Name, Workflow: item.Workflow, Version: item.Version,
		Since: item.Since.Time(), Reason: item.Reason,
	}
	if item.Row.Unit != "" {
		a.Kind = wire.AttentionUncertain
		a.Unit = &wire.UncertainUnit{
			Key: string(item.Row.Unit), Task: item.Contract.Task, ContractVersion: item.Contract.Version,
			Attempt: item.Row.Attempt, Redelivery: item.Redelivery,
		}
	}
	return a
}

// attentionKey reads a cursor; the zero key for none.
func attentionKey(cursor string) (store.AttentionKey, bool) {
	if cursor == "" {
		return store.AttentionKey{}, true
	}
	parts := strings.SplitN(cursor, "/", 4)
	if len(parts) != 4 {
		return store.AttentionKey{}, false
	}
	execution, err := strconv.ParseInt(parts[0], 10, 64)
	attempt, err2 := strconv.ParseInt(parts[1], 10, 32)
	offer, err3 := strconv.ParseInt(parts[2], 10, 32)
	if err != nil || err2 != nil || err3 != nil || execution < 1 || attempt < 0 || offer < 0 {
		return store.AttentionKey{}, false
	}
	return store.AttentionKey{
		Execution: history.ExecutionID(execution),
		Row:       history.RowRef{Unit: history.UnitKey(parts[3]), Attempt: int(attempt), Offer: int(offer)},
	}, true
}
