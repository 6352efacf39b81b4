package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/migrations"
)

// templateLock is the advisory lock under which a template is made.
const templateLock = 0x6f727265 // "orre"

// schemaTemplate returns the name of the migrated database that others are
// copied from, after making it where the server does not have it yet.
var schemaTemplate = sync.OnceValues(func() (string, error) {
	name, err := templateName(migrations.FS)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*adminTimeout)
	defer cancel()
	admin, err := connectAdmin(ctx)
	if err != nil {
		return "", err
	}
	defer admin.Close(ctx) // and with it the lock
	if err := ensureTemplate(ctx, admin, name); err != nil {
		return "", fmt.Errorf("making the template database: %w", err)
	}
	return name, nil
})

// templateName carries a hash of all migrations, so that each schema has a
// template of its own.
func templateName(migrations fs.FS) (string, error) {
	hash := sha256.New()
	err := fs.WalkDir(migrations, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(migrations, path)
		fmt.Fprintf(hash, "%s %d\n%s", path, len(content), content)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading the migrations: %w", err)
	}
	return fmt.Sprintf("orrery_template_%x", hash.Sum(nil)[:8]), nil
}

// ensureTemplate migrates a database under another name first: one that has
// the template's name is whole.
func ensureTemplate(ctx context.Context, admin *pgx.Conn, name string) error {
	if _, err := admin.Exec(ctx, "select pg_advisory_lock($1)", templateLock); err != nil {
		return err
	}
	var exists bool
	err := admin.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&exists)
	if err != nil || exists {
		return err
	}
	draft := name + "_draft"
	for _, statement := range []string{
		"drop database if exists " + draft + " with (force)",
		"create database " + draft + " template template0",
	} {
		if _, err := admin.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	address, err := databaseURL(draft)
	if err != nil {
		return err
	}
	if err := migrate(ctx, address); err != nil {
		return err
	}
	_, err = admin.Exec(ctx, "alter database "+draft+" rename to "+name)
	return err
}

func migrate(ctx context.Context, address string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	return errors.Join(migrations.Apply(ctx, conn), conn.Close(ctx))
}
