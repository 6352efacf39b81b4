package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// MaxAliases is how many aliases a workflow has at most.
const MaxAliases = 100

// ErrFull: there are as many of the kind as there may be.
var ErrFull = errors.New("there are as many as there may be")

// Alias is a name that stands for versions of a workflow.
type Alias struct {
	Namespace history.NamespaceID
	Workflow  string
	Name      string
	Routes    history.Routes
	CreatedAt history.Time
	UpdatedAt history.Time
}

// UnpublishedError: an alias would stand for versions that are not there.
type UnpublishedError struct{ Versions []int }

func (e *UnpublishedError) Error() string {
	return fmt.Sprintf("versions %v are not published", e.Versions)
}

var (
	setAliasSQL    = query("set_alias")
	aliasSQL       = query("alias")
	aliasesSQL     = query("aliases")
	deleteAliasSQL = query("delete_alias")
)

type aliasRow struct {
	Namespace int32
	Workflow  string
	Name      string
	Versions  []int32
	Weights   []int16
	CreatedAt pgtype.Timestamptz
	UpdatedAt pgtype.Timestamptz
}

func (r *aliasRow) alias() Alias {
	a := Alias{
		Namespace: history.NamespaceID(r.Namespace), Workflow: r.Workflow, Name: r.Name,
		CreatedAt: instant(r.CreatedAt), UpdatedAt: instant(r.UpdatedAt),
	}
	for i, v := range r.Versions {
		a.Routes = append(a.Routes, history.Route{Version: int(v), Weight: int(r.Weights[i])})
	}
	return a
}

// SetAlias makes an alias or changes the one that is there, and tells whether it is new. Its versions differ from each other. An
// *UnpublishedError when one of them is not there, ErrFull when the workflow has MaxAliases others.
func (s *Store) SetAlias(ctx context.Context, a Alias) (_ Alias, created bool, err error) {
	type row struct {
		Published []int32
		Full      bool
		CreatedAt pgtype.Timestamptz
		UpdatedAt pgtype.Timestamptz
	}
	versions, weights := make([]int32, len(a.Routes)), make([]int16, len(a.Routes))
	for i, r := range a.Routes {
		versions[i], weights[i] = int32(r.Version), int16(r.Weight)
	}
	var rows []row
	p := s.pipeline()
	p.begin()
	collect(p, setAliasSQL, args{
		"namespace": int32(a.Namespace), "workflow": a.Workflow, "alias": a.Name, "versions": versions, "weights": weights,
		"limit": MaxAliases,
	}, &rows)
	p.commit()
	p.ring(Bells{Definitions: true})
	if err := p.run(ctx); err != nil {
		return Alias{}, false, fmt.Errorf("store: set alias %s of %s: %w", a.Name, a.Workflow, translateWrite(err))
	}
	r := rows[0]
	switch {
	case len(r.Published) < len(versions):
		return Alias{}, false, &UnpublishedError{missing(a.Routes, r.Published)}
	case r.Full:
		return Alias{}, false, fmt.Errorf("store: set alias %s of %s: %w", a.Name, a.Workflow, ErrFull)
	}
	a.CreatedAt, a.UpdatedAt = instant(r.CreatedAt), instant(r.UpdatedAt)
	return a, a.CreatedAt == a.UpdatedAt, nil
}

func missing(routes history.Routes, published []int32) (out []int) {
	for _, r := range routes {
		if !slices.Contains(published, int32(r.Version)) {
			out = append(out, r.Version)
		}
	}
	return out
}

// Alias reads one. ErrNotFound when there is none.
func (s *Store) Alias(ctx context.Context, ns history.NamespaceID, workflow, name string) (Alias, error) {
	r, err := one[aliasRow](ctx, s, "read alias "+name+" of "+workflow, aliasSQL, args{
		"namespace": int32(ns), "workflow": workflow, "alias": name,
	})
	if err != nil {
		return Alias{}, err
	}
	return r.alias(), nil
}

// Aliases lists the aliases of a workflow by name.
func (s *Store) Aliases(ctx context.Context, ns history.NamespaceID, workflow string) ([]Alias, error) {
	rows, err := list[aliasRow](ctx, s, "list the aliases of "+workflow, aliasesSQL, args{"namespace": int32(ns), "workflow": workflow})
	var out []Alias
	for i := range rows {
		out = append(out, rows[i].alias())
	}
	return out, err
}

// DeleteAlias takes an alias away and gives what it was. ErrNotFound when there is none.
func (s *Store) DeleteAlias(ctx context.Context, ns history.NamespaceID, workflow, name string) (Alias, error) {
	var rows []aliasRow
	p := s.pipeline()
	p.begin()
	collect(p, deleteAliasSQL, args{"namespace": int32(ns), "workflow": workflow, "alias": name}, &rows)
	p.commit()
	p.ring(Bells{Definitions: true})
	err := p.run(ctx)
	switch {
	case err != nil:
		return Alias{}, fmt.Errorf("store: delete alias %s of %s: %w", name, workflow, translateWrite(err))
	case len(rows) == 0:
		return Alias{}, fmt.Errorf("store: delete alias %s of %s: %w", name, workflow, ErrNotFound)
	}
	return rows[0].alias(), nil
}
