package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// maxSchemaBytes is how large one schema of a contract may be: whoever decides keeps those of all contracts of a namespace.
const maxSchemaBytes = 16 << 10

// Contracts are the schemas of the contracts of a namespace. The nil map has none.
type Contracts map[history.Contract]definition.Contract

// Of gives the schemas of one contract.
func (c Contracts) Of(key history.Contract) definition.Contract { return c[key] }

// ParseContracts makes the schemas of what was registered, by namespace.
func ParseContracts(list []store.Contract) (map[history.NamespaceID]Contracts, error) {
	out := map[history.NamespaceID]Contracts{}
	for i := range list {
		c := &list[i]
		input, err := parseSchema(c.Input)
		if err != nil {
			return nil, fmt.Errorf("frontend: registered contract %v: input: %w", c.Contract, err)
		}
		output, err := parseSchema(c.Output)
		if err != nil {
			return nil, fmt.Errorf("frontend: registered contract %v: output: %w", c.Contract, err)
		}
		if out[c.Namespace] == nil {
			out[c.Namespace] = Contracts{}
		}
		out[c.Namespace][c.Contract] = definition.Contract{Input: input, Output: output}
	}
	return out, nil
}

// parseSchema compiles a schema; nil where there is none.
func parseSchema(text []byte) (*definition.Schema, error) {
	if len(text) == 0 {
		return nil, nil
	}
	v, err := expr.Parse(text)
	if err != nil {
		return nil, err
	}
	return definition.NewSchema(v)
}

// contractsAt are the contracts of a namespace as they were at a generation of the definitions.
type contractsAt struct {
	generation int64
	of         Contracts
}

// contractsOf gives the contracts of a namespace at a generation, or newer ones.
func (f *Frontend) contractsOf(ctx context.Context, ns history.NamespaceID, generation int64) (Contracts, error) {
	f.mu.Lock()
	kept, ok := f.contracts[ns]
	f.mu.Unlock()
	if ok && kept.generation == generation {
		return kept.of, nil
	}
	list, err := f.store.Contracts(ctx, ns)
	if err != nil {
		return nil, failed("read the contracts", err)
	}
	all, err := ParseContracts(list)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.contracts[ns] = contractsAt{generation, all[ns]}
	return all[ns], nil
}

// SetContract registers a version of a contract with its schemas.
func (f *Frontend) SetContract(ctx context.Context, c auth.Call, of wire.Contract, q wire.ContractRequest) (wire.ContractSchemas, bool, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.ContractSchemas{}, false, err
	}
	x := store.Contract{Namespace: ns, Contract: history.Contract{Task: of.Task, Version: of.Version}}
	if err := readSchemas(&x, q); err != nil {
		return wire.ContractSchemas{}, false, err
	}
	var created bool
	err = retried(ctx, true, func() (err error) { x, created, err = f.store.SetContract(ctx, x); return err })
	switch {
	case errors.Is(err, store.ErrFull):
		return wire.ContractSchemas{}, false, wire.Invalid(wire.Detail{
			Field: "path task", Rule: "max=" + strconv.Itoa(store.MaxContracts), Message: "the namespace has that many contracts with schemas",
		})
	case err != nil:
		return wire.ContractSchemas{}, false, failed("register the contract "+of.Task, err)
	}
	return schemasOf(x), created, nil
}

// readSchemas reads the schemas of a request, and names all that is wrong with them.
func readSchemas(x *store.Contract, q wire.ContractRequest) error {
	var faults []wire.Detail
	both := expr.NewObject()
	read := func(field string, raw json.RawMessage) []byte {
		if len(raw) == 0 {
			return nil
		}
		v, err := expr.Parse(raw)
		if err == nil && len(raw) > maxSchemaBytes {
			faults = append(faults, wire.Detail{
				Field: field, Rule: fmt.Sprintf("max=%d", maxSchemaBytes), Message: fmt.Sprintf("a schema has at most %d bytes", maxSchemaBytes),
			})
			return nil
		}
		if err == nil {
			_, err = definition.NewSchema(v)
		}
		if err != nil {
			faults = append(faults, wire.Detail{Field: field, Rule: "schema", Message: "is no JSON Schema that can be used: " + err.Error()})
			return nil
		}
		both.Set(field, v)
		return expr.Marshal(v)
	}
	x.Input, x.Output = read("input", q.Input), read("output", q.Output)
	if faults == nil && x.Input == nil && x.Output == nil {
		faults = append(faults, wire.Detail{Field: "input", Rule: "required", Message: "one of input and output is required"})
	}
	if faults != nil {
		return wire.Invalid(faults...)
	}
	x.Hash = definition.Identity(both)
	return nil
}

// ListContracts lists the contracts that were registered, without their schemas.
func (f *Frontend) ListContracts(ctx context.Context, c auth.Call) (wire.ContractList, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.ContractList{}, err
	}
	list, err := f.store.Contracts(ctx, ns)
	if err != nil {
		return wire.ContractList{}, failed("list contracts", err)
	}
	out := wire.ContractList{Contracts: []wire.ContractSchemas{}}
	for _, x := range list {
		x.Input, x.Output = nil, nil
		out.Contracts = append(out.Contracts, schemasOf(x))
	}
	return out, nil
}

// GetContract reads the schemas of a contract.
func (f *Frontend) GetContract(ctx context.Context, c auth.Call, of wire.Contract) (wire.ContractSchemas, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.ContractSchemas{}, err
	}
	x, err := f.store.Contract(ctx, ns, history.Contract{Task: of.Task, Version: of.Version})
	if err != nil {
		return wire.ContractSchemas{}, notFound(err, noContract, fmt.Sprintf("%s@%d", of.Task, of.Version))
	}
	return schemasOf(x), nil
}

// DeleteContract takes the schemas of a contract away. Its tasks are checked no more.
func (f *Frontend) DeleteContract(ctx context.Context, c auth.Call, of wire.Contract) (wire.ContractSchemas, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.ContractSchemas{}, err
	}
	x, err := f.store.DeleteContract(ctx, ns, history.Contract{Task: of.Task, Version: of.Version})
	if err != nil {
		return wire.ContractSchemas{}, notFound(err, noContract, fmt.Sprintf("%s@%d", of.Task, of.Version))
	}
	return schemasOf(x), nil
}

func schemasOf(x store.Contract) wire.ContractSchemas {
	return wire.ContractSchemas{
		Task: x.Task, Version: x.Version, Hash: x.Hash, Input: x.Input, Output: x.Output, RegisteredAt: x.RegisteredAt.Time(),
	}
}
