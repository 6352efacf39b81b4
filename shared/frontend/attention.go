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
// execution/attempt/offer/unit.
func (f *Frontend) ListAttention(ctx context.Context, c auth.Call, q wire.AttentionQuery) (wire.AttentionList, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.AttentionList{}, err
	}
	after, ok := attentionKey(q.Cursor)
	if !ok {
		return wire.AttentionList{}, wire.Invalid(wire.Detail{Field: "query cursor", Rule: "cursor", Message: "must be the next of a page before"})
	}
	page, err := f.store.Attention(ctx, store.AttentionQuery{Namespace: ns, After: after, Limit: q.Limit})
	if err != nil {
		return wire.AttentionList{}, failed("list what waits for a human", err)
	}
	a := wire.AttentionList{Items: make([]wire.Attention, len(page.Items))}
	for i, item := range page.Items {
		a.Items[i] = attentionOf(item)
	}
	if k := page.Next; k.Execution != 0 {
		a.Next = fmt.Sprintf("%d/%d/%d/%s", k.Execution, k.Row.Attempt, k.Row.Offer, k.Row.Unit)
	}
	return a, nil
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
