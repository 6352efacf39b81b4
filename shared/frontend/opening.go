package frontend

import (
	"context"
	"math/rand/v2"

	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// wanted is what a look for a version asks for. Execution is set where it decides, for an alias.
type wanted struct {
	namespace history.NamespaceID
	of        history.WorkflowRef
	execution string
}

// found is what a look for a version gave.
type found struct {
	definition store.Definition
	now        history.Time
	err        error
}

// Open makes the first turns of executions that occurrences of schedules start. Each version of a workflow is read once.
func (f *Frontend) Open(ctx context.Context, list []*cron.Opening) {
	cl, err := f.settings(ctx)
	definitions := map[wanted]found{}
	for _, o := range list {
		if o.Err = err; err == nil {
			o.Err = f.open(ctx, cl, o, definitions)
		}
	}
}

func (f *Frontend) open(ctx context.Context, cl *cluster, o *cron.Opening, definitions map[wanted]found) error {
	ns, err := f.namespace(ctx, o.Call)
	if err != nil {
		return err
	}
	q := &o.Request
	w := wanted{ns, history.WorkflowRef{Name: q.Workflow, Version: q.Version, Alias: q.Alias}, ""}
	if q.Alias != "" {
		w.execution = o.Rollout
	}
	x, ok := definitions[w]
	if !ok {
		x.definition, x.now, x.err = f.version(ctx, w.of, ns, w.execution)
		definitions[w] = x
	}
	if x.err != nil {
		return x.err
	}
	if o.Item, err = f.firstTurn(ctx, o.Call, o.Request, x.definition, x.now, cl.Behaviour, &o.Occurrence); err != nil {
		return err
	}
	o.Item.New.Namespace = ns
	o.Item.Partition = history.Partition(rand.IntN(cl.Partitions))
	o.Version = x.definition.Version
	return nil
}
