package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// MaxContracts is how many versions of contracts a namespace has at most. Whoever runs executions keeps them all.
const MaxContracts = 500

// Contract is a version of a contract that was registered with schemas.
type Contract struct {
	Namespace history.NamespaceID
	history.Contract
	Hash          string // of both schemas, 64 hexadecimal digits
	Input, Output []byte // JSON Schemas; nil for anything
	RegisteredAt  history.Time
}

var (
	setContractSQL    = query("set_contract")
	contractSQL       = query("contract")
	contractsSQL      = query("contracts")
	deleteContractSQL = query("delete_contract")
)

type contractRow struct {
	Namespace    int32
	Task         string
	Version      int32
	Hash         string
	Input        *string
	Output       *string
	RegisteredAt pgtype.Timestamptz
}

func (r *contractRow) contract() Contract {
	c := Contract{
		Namespace: history.NamespaceID(r.Namespace), Contract: history.Contract{Task: r.Task, Version: int(r.Version)},
		Hash: r.Hash, RegisteredAt: instant(r.RegisteredAt),
	}
	if r.Input != nil {
		c.Input = []byte(*r.Input)
	}
	if r.Output != nil {
		c.Output = []byte(*r.Output)
	}
	return c
}

// SetContract registers a version of a contract and tells whether it is new. ErrVersionExists when it is there with another
// hash, ErrFull when the namespace has MaxContracts others.
func (s *Store) SetContract(ctx context.Context, c Contract) (_ Contract, created bool, err error) {
	type row struct {
		Hash         string
		RegisteredAt pgtype.Timestamptz
		Created      bool
	}
	var rows []row
	p := s.pipeline()
	p.begin()
	collect(p, setContractSQL, args{
		"namespace": int32(c.Namespace), "task": c.Task, "version": int32(c.Version), "hash": c.Hash,
		"input": textOrNull(c.Input), "output": textOrNull(c.Output), "limit": MaxContracts,
	}, &rows)
	p.commit()
	p.ring(Bells{Definitions: true})
	switch err := p.run(ctx); {
	case err != nil:
		return Contract{}, false, fmt.Errorf("store: register contract %v: %w", c.Contract, translateWrite(err))
	case len(rows) == 0 && s.full(ctx, c.Namespace):
		return Contract{}, false, fmt.Errorf("store: register contract %v: %w", c.Contract, ErrFull)
	case len(rows) == 0: // of two that register at once, the loser's statement sees neither row
		return Contract{}, false, fmt.Errorf("store: register contract %v: %w", c.Contract, ErrConflict)
	case rows[0].Hash != c.Hash:
		return Contract{}, false, fmt.Errorf("store: register contract %v: %w", c.Contract, ErrVersionExists)
	}
	c.RegisteredAt = instant(rows[0].RegisteredAt)
	return c, rows[0].Created, nil
}

// full tells whether the namespace has as many contracts as it may.
func (s *Store) full(ctx context.Context, ns history.NamespaceID) bool {
	all, err := s.Contracts(ctx, ns)
	return err == nil && len(all) >= MaxContracts
}

func textOrNull(text []byte) *string {
	if text == nil {
		return nil
	}
	s := string(text)
	return &s
}

// Contract reads one. ErrNotFound when it is not registered.
func (s *Store) Contract(ctx context.Context, ns history.NamespaceID, c history.Contract) (Contract, error) {
	r, err := one[contractRow](ctx, s, fmt.Sprintf("read contract %v", c), contractSQL, args{
		"namespace": int32(ns), "task": c.Task, "version": int32(c.Version),
	})
	if err != nil {
		return Contract{}, err
	}
	return r.contract(), nil
}

// Contracts lists the contracts of namespaces, sorted by namespace, task and version.
func (s *Store) Contracts(ctx context.Context, namespaces ...history.NamespaceID) ([]Contract, error) {
	numbers := make([]int32, len(namespaces))
	for i, ns := range namespaces {
		numbers[i] = int32(ns)
	}
	rows, err := list[contractRow](ctx, s, "list contracts", contractsSQL, args{"namespaces": numbers})
	var out []Contract
	for i := range rows {
		out = append(out, rows[i].contract())
	}
	return out, err
}

// DeleteContract takes a contract away and gives what it was. ErrNotFound when it is not registered.
func (s *Store) DeleteContract(ctx context.Context, ns history.NamespaceID, c history.Contract) (Contract, error) {
	var rows []contractRow
	p := s.pipeline()
	p.begin()
	collect(p, deleteContractSQL, args{"namespace": int32(ns), "task": c.Task, "version": int32(c.Version)}, &rows)
	p.commit()
	p.ring(Bells{Definitions: true})
	err := p.run(ctx)
	switch {
	case err != nil:
		return Contract{}, fmt.Errorf("store: delete contract %v: %w", c, translateWrite(err))
	case len(rows) == 0:
		return Contract{}, fmt.Errorf("store: delete contract %v: %w", c, ErrNotFound)
	}
	return rows[0].contract(), nil
}
