package frontend

import (
	"context"
	"math/rand/v2"

	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// workflowRef names a version of a workflow, 0 for the newest.
type workflowRef struct {
	namespace history.NamespaceID
	name      string
	version   int
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
	definitions := map[workflowRef]found{}
	for _, o := range list {
		if o.Err = err; err == nil {
			o.Err = f.open(ctx, cl, o, definitions)
		}
	}
}

func (f *Frontend) open(ctx context.Context, cl *cluster, o *cron.Opening, definitions map[workflowRef]found) error {
	ns, err := f.namespace(ctx, o.Call)
	if err != nil {
		return err
	}
	ref := workflowRef{ns, o.Request.Workflow, o.Request.Version}
	x, ok := definitions[ref]
	if !ok {
		x.definition, x.now, x.err = f.store.Definition(ctx, ns, ref.name, ref.version)
		definitions[ref] = x
	}
	if x.err != nil {
		return notFound(x.err, noWorkflow, workflowName(ref.name, ref.version))
	}
	if o.Item, err = f.firstTurn(o.Call, o.Request, x.definition, x.now, cl.Behaviour, &o.Occurrence); err != nil {
		return err
	}
	o.Item.New.Namespace = ns
	o.Item.Partition = history.Partition(rand.IntN(cl.Partitions))
	o.Version = x.definition.Version
	return nil
}
