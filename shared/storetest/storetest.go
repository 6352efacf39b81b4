// Package storetest gives every test a PostgreSQL database of its own with
// the schema in it. It is for tests only.
//
//	func TestClaim(t *testing.T) {
//		pool := storetest.Database(t)
//		...
//	}
//
// The databases are on the server that ORRERY_TEST_DATABASE_URL or else
// DATABASE_URL names, whose role must be allowed to create databases. Where
// neither is set, all test processes of a user share one server that lives
// as long as they do:
//
//	test process --starts--> keeper --runs--> PostgreSQL
//	test process --joins------^
//
// A database is a copy of a template, which is migrated once per schema and
// server. A copy takes some 40 ms. Emptying and reusing databases would
// hardly be faster, and tests could see what others left.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// adminTimeout bounds what one statement on the server itself may take. It
// is long for a machine under full load; a server that hangs fails the test.
const adminTimeout = time.Minute

// maxConns is the size of a pool: enough for tests in which several
// transactions wait for each other.
const maxConns = 16

// Database makes a migrated database and returns a pool of connections to
// it. Both go when the test ends.
func Database(t testing.TB) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(URL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = maxConns
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// URL makes a migrated database, which goes when the test ends, and returns
// its address. Connections still open then are cut.
func URL(t testing.TB) string {
	t.Helper()
	template, err := schemaTemplate()
	if err != nil {
		t.Fatal(err)
	}
	address := newDatabase(t, template)
	// A copy has not what the server keeps about a database outside of it:
	// the settings of roles there. The migrations add that.
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	if err := migrate(ctx, address); err != nil {
		t.Fatal(err)
	}
	return address
}

// EmptyURL is [URL] without the schema, for tests of the migrations.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return newDatabase(t, "template0")
}

func newDatabase(t testing.TB, template string) string {
	t.Helper()
	name := "orrery_test_" + strings.ToLower(rand.Text()[:16])
	if err := administer(fmt.Sprintf("create database %s template %s", name, template)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := administer(fmt.Sprintf("drop database %s with (force)", name)); err != nil {
			t.Error(err)
		}
	})
	address, err := databaseURL(name)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// testServer is where this process makes its databases.
type testServer struct {
	address string   // of the server's own database, where others are made and dropped
	users   *os.File // kept, as its lock goes when it is collected; nil for a server of the environment
}

// server finds the server once per process.
var server = sync.OnceValues(func() (testServer, error) {
	for _, name := range []string{"ORRERY_TEST_DATABASE_URL", "DATABASE_URL"} {
		if address := os.Getenv(name); address != "" {
			return testServer{address: address}, checkURL(name, address)
		}
	}
	address, users, err := join()
	if err != nil {
		return testServer{}, fmt.Errorf("finding a PostgreSQL server for tests: %w", err)
	}
	return testServer{address, users}, nil
})

// checkURL refuses addresses in which a database name cannot be replaced.
func checkURL(name, address string) error {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return errors.New(name + " must look like postgres://user:password@host:port/database")
	}
	return nil
}

// databaseURL returns the address of another database on the server.
func databaseURL(name string) (string, error) {
	s, err := server()
	if err != nil {
		return "", err
	}
	u, err := url.Parse(s.address)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// administer runs one statement outside of all databases that tests use.
func administer(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	conn, err := connectAdmin(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

func connectAdmin(ctx context.Context) (*pgx.Conn, error) {
	s, err := server()
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, s.address)
	if err != nil {
		return nil, fmt.Errorf("connecting to the test server: %w", err)
	}
	return conn, nil
}
