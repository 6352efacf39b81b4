package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// Definition is one published version of a workflow.
type Definition struct {
	ID          history.DefinitionID
	Namespace   history.NamespaceID
	Name        string
	Version     int
	Hash        string // of the document and its rules, hexadecimal
	Document    []byte // normalised JSON; nil in lists
	Strict      bool   // published under the rules of the reference service alone
	PublishedAt history.Time
	// Generation, of a definition that was read by its name, grows when anything is published or registered.
	Generation int64
}

var (
	publishSQL         = query("publish")
	definitionSQL      = query("definition")
	definitionsByIDSQL = query("definitions_by_id")
	versionsSQL        = query("versions")
	workflowsSQL       = query("workflows")
)

type definitionRow struct {
	ID          int64
	Namespace   int32
	Name        string
	Version     int32
	Hash        string
	Document    string
	Strict      bool
	PublishedAt pgtype.Timestamptz
	Now         pgtype.Timestamptz
}

// versionRow is a row with the generation that it was read at.
type versionRow struct {
	definitionRow
	Generation int64
}

func (r *definitionRow) definition() Definition {
	d := Definition{
		ID: history.DefinitionID(r.ID), Namespace: history.NamespaceID(r.Namespace), Name: r.Name, Version: int(r.Version),
		Hash: r.Hash, Strict: r.Strict, PublishedAt: instant(r.PublishedAt),
	}
	if r.Document != "" {
		d.Document = []byte(r.Document)
	}
	return d
}

func definitions(rows []definitionRow) []Definition {
	var out []Definition
	for i := range rows {
		out = append(out, rows[i].definition())
	}
	return out
}

// Publish stores a version and tells whether it is new. Version 0 takes the newest version when that has the same hash,
// else the next number. ErrVersionExists when the version has another hash.
func (s *Store) Publish(ctx context.Context, d Definition) (_ Definition, created bool, err error) {
	// Of two that publish at once, the loser's statement sees neither row; asked again it sees the winner's.
	for range 2 {
		rows, err := s.publish(ctx, d)
		if err != nil {
			return Definition{}, false, fmt.Errorf("store: publish %s: %w", d.Name, translateWrite(err))
		}
		if len(rows) == 0 {
			continue
		}
		r := rows[0]
		if r.Hash != d.Hash {
			return Definition{}, false, fmt.Errorf("store: publish %s version %d: %w", d.Name, r.Version, ErrVersionExists)
		}
		d.ID, d.Version, d.PublishedAt = history.DefinitionID(r.ID), int(r.Version), instant(r.PublishedAt)
		return d, r.Created, nil
	}
	return Definition{}, false, fmt.Errorf("store: publish %s: %w", d.Name, ErrConflict)
}

type publishedRow struct {
	ID          int64
	Version     int32
	Hash        string
	PublishedAt pgtype.Timestamptz
	Created     bool
}

func (s *Store) publish(ctx context.Context, d Definition) ([]publishedRow, error) {
	var rows []publishedRow
	p := s.pipeline()
	p.begin()
	collect(p, publishSQL, args{
		"namespace": int32(d.Namespace), "name": d.Name, "version": int32(d.Version), "hash": d.Hash,
		"document": string(d.Document), "strict": d.Strict,
	}, &rows)
	p.commit()
	p.ring(Bells{Definitions: true})
	return rows, p.run(ctx)
}

// Definition reads one version, 0 for the newest, with the database's time. ErrNotFound when there is none.
func (s *Store) Definition(ctx context.Context, ns history.NamespaceID, name string, version int) (Definition, history.Time, error) {
	r, err := one[versionRow](ctx, s, "read workflow "+name, definitionSQL, args{
		"namespace": int32(ns), "name": name, "version": int32(version), "now": s.now(),
	})
	if err != nil {
		return Definition{}, 0, err
	}
	d := r.definition()
	d.Generation = r.Generation
	return d, instant(r.Now), nil
}

// DefinitionsByID reads definitions; those that do not exist are missing.
func (s *Store) DefinitionsByID(ctx context.Context, ids []history.DefinitionID) ([]Definition, error) {
	rows, err := list[definitionRow](ctx, s, "read definitions", definitionsByIDSQL, args{"definitions": int64s(ids), "now": s.now()})
	return definitions(rows), err
}

// Versions lists the versions of a workflow, newest first.
func (s *Store) Versions(ctx context.Context, ns history.NamespaceID, name string) ([]int, error) {
	type row struct{ Version int32 }
	rows, err := list[row](ctx, s, "read versions of "+name, versionsSQL, args{"namespace": int32(ns), "name": name})
	var out []int
	for _, r := range rows {
		out = append(out, int(r.Version))
	}
	return out, err
}

// Workflows lists the newest version of each workflow whose name is greater than after, by name.
func (s *Store) Workflows(ctx context.Context, ns history.NamespaceID, after string, limit int) ([]Definition, error) {
	rows, err := list[definitionRow](ctx, s, "list workflows", workflowsSQL, args{
		"namespace": int32(ns), "after": after, "limit": limit, "now": s.now(),
	})
	return definitions(rows), err
}
