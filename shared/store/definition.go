package store

import (
	"context"

	"github.com/orrery-dev/orrery/shared/history"
)

// Definition is one published version of a workflow.
type Definition struct {
	ID          history.DefinitionID
	Namespace   history.NamespaceID
	Name        string
	Version     int
	Hash        string // SHA-256 of the normalised document, hexadecimal
	Document    []byte // normalised JSON; nil in lists
	PublishedAt history.Time
}

// Publish stores a version and tells whether it is new. Version 0 takes the newest version when that has the same hash,
// else the next number. ErrVersionExists when the version has another hash.
func (s *Store) Publish(ctx context.Context, d Definition) (_ Definition, created bool, err error) {
	panic("not written")
}

// Definition reads one version, 0 for the newest, with the database's time. ErrNotFound when there is none.
func (s *Store) Definition(ctx context.Context, ns history.NamespaceID, name string, version int) (Definition, history.Time, error) {
	panic("not written")
}

// DefinitionsByID reads definitions; those that do not exist are missing.
func (s *Store) DefinitionsByID(ctx context.Context, ids []history.DefinitionID) ([]Definition, error) {
	panic("not written")
}

// Versions lists the versions of a workflow, newest first.
func (s *Store) Versions(ctx context.Context, ns history.NamespaceID, name string) ([]int, error) {
	panic("not written")
}

// Workflows lists the newest version of each workflow whose name is greater than after, by name.
func (s *Store) Workflows(ctx context.Context, ns history.NamespaceID, after string, limit int) ([]Definition, error) {
	panic("not written")
}
