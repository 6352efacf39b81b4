package pgserver

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestBouncerPoolsByTransaction(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	direct := connect(t, s.URL("postgres"))
	execute(t, direct, "create role clerk login password 'secret'")
	b, err := s.StartBouncer(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})

	// Two clients at once, and one server connection for both.
	backends := map[int]bool{}
	for range 2 {
		conn := connectSimple(t, b.URL("postgres"))
		backends[query[int](t, conn, "select pg_backend_pid()")] = true
	}
	if len(backends) != 1 {
		t.Errorf("two clients saw the server processes %v, want one", backends)
	}

	clerk, err := url.Parse(b.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	clerk.User = url.UserPassword("clerk", "secret")
	conn := connectSimple(t, clerk.String())
	if user := query[string](t, conn, "select current_user"); user != "clerk" {
		t.Errorf("current_user = %s, want clerk", user)
	}
}

// connectSimple connects without prepared statements, which do not survive
// from one server connection to the next.
func connectSimple(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	return connect(t, url+"&default_query_exec_mode=exec")
}
