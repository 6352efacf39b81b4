package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrBouncerNotInstalled is returned by [Server.StartBouncer] on a machine
// without PgBouncer.
var ErrBouncerNotInstalled = errors.New("no pgbouncer found; install it (Debian: apt-get install pgbouncer)")

// Bouncer is a PgBouncer in front of a server. It pools connections by
// transaction: a client has a server connection of its own no longer than
// that.
type Bouncer struct {
	folder   *folder
	process  *process
	port     int
	password string
}

// StartBouncer starts a PgBouncer that opens at most poolSize connections
// per database and role. It knows the roles that can log in now.
func (s *Server) StartBouncer(ctx context.Context, poolSize int) (*Bouncer, error) {
	program, err := findBouncer()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	folder, err := newFolder(os.TempDir(), s.account)
	if err != nil {
		return nil, fmt.Errorf("creating a pgbouncer folder: %w", err)
	}
	b := &Bouncer{folder: folder, port: port, password: s.password}
	if err := b.run(ctx, s, program, poolSize); err != nil {
		return nil, errors.Join(fmt.Errorf("starting pgbouncer: %w%s", err, folder.logTail()), b.Close())
	}
	return b, nil
}

// findBouncer looks in the PATH and where Debian has it, outside the PATH of
// users other than root.
func findBouncer() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrBouncerNotInstalled
}

func (b *Bouncer) run(ctx context.Context, s *Server, program string, poolSize int) error {
	users, err := s.loginRoles(ctx)
	if err != nil {
		return err
	}
	config := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
default_pool_size = %d
max_client_conn = 2000
`, s.port, b.port, b.path("users"), poolSize)
	if err := errors.Join(b.write("users", users, s.account), b.write("config", config, s.account)); err != nil {
		return err
	}
	log, err := b.folder.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, b.path("config"))
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = b.folder.data(), log, log, s.account.attributes()
	if b.process, err = startProcess(cmd); err != nil {
		return err
	}
	return b.awaitReady(ctx)
}

// loginRoles returns PgBouncer's list of users: all roles with a password,
// each with the server's own hash of it, which serves for both sides.
func (s *Server) loginRoles(ctx context.Context) (string, error) {
	conn, err := pgx.Connect(ctx, s.URL(superuser))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var list string
	err = conn.QueryRow(ctx, `
		select string_agg(format(E'"%s" "%s"\n', replace(rolname, '"', '""'), rolpassword), '')
		from pg_authid where rolcanlogin and rolpassword is not null`).Scan(&list)
	if err != nil {
		return "", fmt.Errorf("listing roles: %w", err)
	}
	return list, nil
}

func (b *Bouncer) path(name string) string { return filepath.Join(b.folder.data(), name) }

func (b *Bouncer) write(name, content string, account account) error {
	if err := os.WriteFile(b.path(name), []byte(content), 0o600); err != nil {
		return err
	}
	return os.Chown(b.path(name), account.uid, account.gid)
}

// awaitReady returns when somebody listens on the port.
func (b *Bouncer) awaitReady(ctx context.Context) error {
	for {
		conn, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.port)))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.process.ended:
			return fmt.Errorf("it ended at once: %w", b.process.err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// URL returns the address of a database through the pool, for the superuser.
func (b *Bouncer) URL(database string) string { return databaseURL(b.port, b.password, database) }

// Close ends the pool at once and removes its folder.
func (b *Bouncer) Close() error {
	if b.process != nil {
		b.process.signal(syscall.SIGKILL)
		<-b.process.ended
	}
	if err := b.folder.remove(); err != nil {
		return fmt.Errorf("removing pgbouncer's folder: %w", err)
	}
	return nil
}
