package frontend

import (
	"context"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Iterations shows executions by name, as far as they are kept, in no order. Each is read whole, so a call has few names.
func (f *Frontend) Iterations(ctx context.Context, c auth.Call, names []string) ([]wire.ExecutionDetail, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return nil, err
	}
	rows, err := f.store.Named(ctx, ns, names)
	if err != nil {
		return nil, failed("read the executions of a Map", err)
	}
	list := make([]wire.ExecutionDetail, 0, len(rows))
	for _, row := range rows {
		loaded, state, err := f.load(ctx, row)
		if err != nil {
			return nil, err
		}
		d := wire.ExecutionDetail{Execution: executionOf(loaded.Execution), Input: state.Input()}
		d.Output, d.Error = outcomeOf(state.End())
		list = append(list, d)
	}
	return list, nil
}
