package frontend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Start starts an execution and, where the request says so, waits for its end.
func (f *Frontend) Start(ctx context.Context, c auth.Call, q wire.StartRequest) (wire.StartResponse, bool, error) {
	e, created, err := f.begin(ctx, c, q)
	a := wire.StartResponse{Execution: e}
	if err != nil || q.WaitMS == 0 {
		return a, created, err
	}
	// The execution is durable: a look that fails now must not hide that. The caller asks for the result.
	if r, err := f.Result(ctx, c, e.ID, wire.ResultQuery{WaitMS: q.WaitMS}); err == nil {
		a.Status, a.EndedAt, a.Output, a.Error = r.Status, r.EndedAt, r.Output, r.Error
	}
	return a, created, nil
}

// begin starts an execution: its first turn is decided here and written with its row. The same name, workflow and input
// answer the execution that is there; under strict rules only while it runs.
func (f *Frontend) begin(ctx context.Context, c auth.Call, q wire.StartRequest) (wire.Execution, bool, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.Execution{}, false, err
	}
	cl, err := f.settings(ctx)
	if err != nil {
		return wire.Execution{}, false, err
	}
	q.Name = executionName(c, q)
	def, now, err := f.version(ctx, history.WorkflowRef{Name: q.Workflow, Version: q.Version, Alias: q.Alias}, ns, q.Name)
	if err != nil {
		return wire.Execution{}, false, err
	}
	item, err := f.firstTurn(ctx, c, q, def, now, cl.Behaviour, nil)
	if err != nil {
		return wire.Execution{}, false, err
	}
	item.New.Namespace = ns
	item.Partition = history.Partition(rand.IntN(cl.Partitions))
	var s store.Started
	// A repeat after an unknown outcome finds the name taken by itself.
	err = retried(ctx, true, func() (err error) { s, err = f.store.Start(ctx, item); return err })
	if err != nil {
		return wire.Execution{}, false, failed("start execution "+item.New.Name, err)
	}
	if s.MaxActive != 0 {
		return wire.Execution{}, false, wire.Errorf(wire.TooManyExecutions,
			"the namespace %q has its limit of %d active executions", c.Namespace, s.MaxActive).After(activePause)
	}
	return startedAs(q, item, def, s)
}

// activePause is what a start is told to wait that the limit of active executions has refused.
const activePause = time.Second

// firstTurn decides the first turn of the execution that q asks for by its name, o is what a schedule asks for it for. Namespace, partition
// and epoch of the item are left to the caller. behaviour is the cluster's level: a process that knows a higher one writes at the
// cluster's.
func (f *Frontend) firstTurn(
	ctx context.Context, c auth.Call, q wire.StartRequest, def store.Definition, now history.Time, behaviour int, o *history.Occurrence,
) (store.Item, error) {
	machine, err := f.machines.parse(&def)
	if err != nil {
		return store.Item{}, err
	}
	contracts, err := f.contractsOf(ctx, def.Namespace, def.Generation)
	if err != nil {
		return store.Item{}, err
	}
	given, err := readAttributes("attributes", q.Attributes)
	if err != nil {
		return store.Item{}, err
	}
	_, turn, err := decide.World{Contract: contracts.Of}.Start(machine, 0, history.Start{
		Namespace: c.Namespace, Name: q.Name, Workflow: def.Name, Version: def.Version, Hash: def.Hash, Input: q.Input,
		Behaviour: min(behaviour, history.BehaviourLevel), Timeout: q.TimeoutMS, RequestID: c.RequestID,
		Trace: c.TraceParent, Occurrence: o, Attributes: given, Seed: rand.Uint64(),
	}, now)
	var unfit *decide.InputError
	var unfound *decide.AttributesError
	switch {
	case errors.As(err, &unfound):
		return store.Item{}, unfitAttributes("attributes", unfound.Err)
	case errors.As(err, &unfit):
		return store.Item{}, unfitInput(unfit.Faults)
	case err != nil:
		return store.Item{}, failed("decide the first turn of "+q.Name, err)
	}
	n := &store.NewExecution{Attributes: turn.Events[0].Start.Attributes, Name: q.Name, Definition: def.ID, InputHash: inputHash(q), Trace: c.TraceParent}
	if o != nil {
		n.Occurrence, n.Token = o.ID, o.Token
	}
	return store.Item{Turn: &turn, New: n}, nil
}

// unfitInput refuses an input that does not fit the schema of its workflow.
func unfitInput(faults definition.FaultList) error {
	details := make([]wire.Detail, len(faults))
	for i, f := range faults {
		details[i] = wire.Detail{Field: "input" + f.Pointer, Rule: f.Keyword, Message: f.Message}
	}
	return wire.Invalid(details...)
}

// startedAs is the answer to a start whose first turn was written, or whose name was taken.
func startedAs(q wire.StartRequest, item store.Item, def store.Definition, s store.Started) (wire.Execution, bool, error) {
	if old := s.Existing; old != nil {
		same := old.Workflow == q.Workflow && (q.Version == 0 || q.Version == old.Version) && bytes.Equal(old.InputHash, item.New.InputHash)
		if !same || def.Strict && old.Status.Ended() {
			return wire.Execution{}, false, wire.Errorf(wire.ExecutionExists, "the name %q is taken by an execution that has ended, or has another workflow or input", old.Name)
		}
		return executionOf(*old), false, nil
	}
	e := store.Execution{
		Name: item.New.Name, Workflow: def.Name, Version: def.Version, Status: history.Running, StartedAt: item.Turn.At,
	}
	if end := item.Turn.End; end != nil {
		e.Status, e.EndedAt = end.Status, item.Turn.At
	}
	return executionOf(e), true, nil
}

// executionName is the name asked for; else one that follows from the idempotency key, so that a repeat finds the same
// execution; else a new one.
func executionName(c auth.Call, q wire.StartRequest) string {
	switch {
	case q.Name != "":
		return q.Name
	case c.IdempotencyKey != "":
		sum := sha256.Sum256([]byte(c.IdempotencyKey))
		return "key-" + hex.EncodeToString(sum[:16])
	}
	return uuid.Must(uuid.NewV7()).String()
}

// inputHash tells starts of one name apart. Half of a SHA-256 does: it is in every execution's row, and who could find two
// inputs of one hash could as well send one of them under another name.
func inputHash(q wire.StartRequest) []byte {
	sum := sha256.Sum256(q.Input)
	return sum[:16]
}

func executionOf(e store.Execution) wire.Execution {
	return wire.Execution{
		ID: e.Name, Workflow: e.Workflow, Version: e.Version, Status: wire.Status(e.Status.String()),
		Blocked: e.Blocked != "", StartedAt: e.StartedAt.Time(), EndedAt: e.EndedAt.Time(),
	}
}
