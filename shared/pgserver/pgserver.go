// Package pgserver starts throw-away PostgreSQL servers from installed
// binaries, for tests and local tools only.
//
// A server has a folder of its own and belongs to the process that started
// it:
//
//	<temp>/orrery-pg-*/      owned by the caller (in /dev/shm for volatile ones)
//	    lock                 locked by the caller as long as it lives
//	    log                  what initdb and the server print
//	    data/                owned by the server's account; also its socket
//
//	Start --> running --Stop--> stopped --Run--> running
//	             |                 |
//	             +------ Close ----+--> processes ended, folder removed
//
// Guarantees:
//
//   - The server never runs as root. A caller who is root starts it as the
//     account postgres, or nobody where that is missing.
//   - It listens on 127.0.0.1 and on a socket in its data folder, and lets
//     nobody in without a random password, which is in [Server.URL].
//   - It does not outlive its caller, even one killed with SIGKILL: on Linux
//     the kernel tells it. What a crash leaves on disk, and on other systems
//     a server left running, goes at the next Start.
//   - Address and data survive Stop and Run.
package pgserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// superuser is the name of the one role that a new server has.
const superuser = "postgres"

// closeTimeout is how long Close waits for an immediate stop before it kills
// the server. The server itself kills children that ignore it for 5 s.
const closeTimeout = 10 * time.Second

// ErrRunning is returned by [Server.Run] for a server that runs.
var ErrRunning = errors.New("server is running")

// ErrNotRunning is returned by operations on a server that does not run.
var ErrNotRunning = errors.New("server is not running")

// Options say how a server is set up. The zero value is a server as durable
// as PostgreSQL ships.
type Options struct {
	// Settings are written to postgresql.conf over the defaults, by name.
	Settings map[string]string

	// Volatile gives up safety against a crash of the machine, and saves
	// the time that it costs: fsync and full_page_writes are off, and the
	// server's folder is in memory where there is room. A crash of the
	// server alone still loses nothing.
	Volatile bool
}

// Server is a PostgreSQL server. Its methods may be called from several
// goroutines.
type Server struct {
	binaries string // folder
	account  account
	folder   *folder
	password string
	port     int // chosen by the first run, then kept

	mu      sync.Mutex // guards the fields below; never held while waiting
	process *process   // nil while stopped
}

// Start creates a server and waits until it accepts connections. The error
// is [ErrNotInstalled] when this machine has no server binaries.
func Start(ctx context.Context, options Options) (*Server, error) {
	binaries, err := findBinaries()
	if err != nil {
		return nil, err
	}
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	sweep(os.TempDir())
	sweep(memory)
	folder, err := newFolder(parentFolder(options), account)
	if err != nil {
		return nil, fmt.Errorf("creating a server folder: %w", err)
	}
	s := &Server{binaries: binaries, account: account, folder: folder, password: rand.Text()}
	if err := s.create(ctx, options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// create fills the data folder and makes the first run.
func (s *Server) create(ctx context.Context, options Options) error {
	if err := s.initialise(ctx); err != nil {
		return err
	}
	if err := s.configure(options); err != nil {
		return fmt.Errorf("writing postgresql.conf: %w", err)
	}
	return s.firstRun(ctx)
}

// firstRun chooses the port. Somebody else may take a free port before the
// server does; then another one is tried.
func (s *Server) firstRun(ctx context.Context) error {
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
		err = s.Run(ctx)
		if !errors.Is(err, errPortTaken) || try == 5 {
			return err
		}
	}
}

// Run starts a stopped server on its old address and waits until it accepts
// connections, which may take a recovery.
func (s *Server) Run(ctx context.Context) error {
	p, err := s.launch()
	if err != nil {
		return fmt.Errorf("starting postgres: %w", err)
	}
	if err := s.awaitReady(ctx, p); err != nil {
		p.signal(syscall.SIGKILL)
		<-p.ended
		s.forget(p)
		return fmt.Errorf("starting postgres: %w%s", err, s.folder.logTail())
	}
	return nil
}

func (s *Server) launch() (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && !s.process.hasEnded() {
		return nil, ErrRunning
	}
	log, err := s.folder.openLog()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := s.command("postgres", "-D", s.folder.data(), "-c", "port="+strconv.Itoa(s.port))
	cmd.Stdout, cmd.Stderr = log, log
	s.process, err = startProcess(cmd)
	return s.process, err
}

// forget notes that process p has ended, unless another one runs by now.
func (s *Server) forget(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == p {
		s.process = nil
	}
}

// awaitReady returns when the server says in its pid file that it accepts
// connections. Looking there, as pg_ctl does, leaves no failed connections
// in the log.
func (s *Server) awaitReady(ctx context.Context, p *process) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if pid, ready := s.folder.postmaster(); ready && pid == p.pid {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.ended:
			if !isFree(s.port) {
				return errPortTaken
			}
			return fmt.Errorf("it ended at once: %w", p.err)
		case <-tick.C:
		}
	}
}

// Mode says how a server is stopped.
type Mode int

const (
	// Fast ends all sessions, rolls their transactions back and writes a
	// checkpoint.
	Fast Mode = iota
	// Immediate ends everything at once, as a crash does; the next run
	// recovers.
	Immediate
	// Smart lets the sessions that exist go on and waits for their end.
	Smart
)

func (m Mode) signal() syscall.Signal {
	switch m {
	case Immediate:
		return syscall.SIGQUIT
	case Smart:
		return syscall.SIGTERM
	default:
		return syscall.SIGINT
	}
}

// Stop stops the server and waits for its end. When the context ends first,
// the server is still stopping. Data and address are kept.
func (s *Server) Stop(ctx context.Context, mode Mode) error {
	p := s.running()
	if p == nil {
		return ErrNotRunning
	}
	p.signal(mode.signal())
	select {
	case <-p.ended:
		s.forget(p)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stopping postgres: %w", context.Cause(ctx))
	}
}

// Restart stops the server and runs it again.
func (s *Server) Restart(ctx context.Context, mode Mode) error {
	if err := s.Stop(ctx, mode); err != nil {
		return err
	}
	return s.Run(ctx)
}

// Close ends the server, whatever its state, and removes its folder.
func (s *Server) Close() error {
	if p := s.running(); p != nil {
		p.signal(Immediate.signal())
		p.thaw() // a frozen process takes the signal once it goes on
		select {
		case <-p.ended:
		case <-time.After(closeTimeout):
			p.signal(syscall.SIGKILL)
			<-p.ended
		}
		s.forget(p)
	}
	if err := s.folder.remove(); err != nil {
		return fmt.Errorf("removing the server's folder: %w", err)
	}
	return nil
}

// Freeze holds every process of the server still, as a machine that hangs
// does: connections stay open and nothing answers.
func (s *Server) Freeze() error {
	p := s.running()
	if p == nil {
		return ErrNotRunning
	}
	return p.freeze()
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw() error {
	p := s.running()
	if p == nil {
		return ErrNotRunning
	}
	return p.thaw()
}

// Pid returns the id of the server's main process, 0 while it is stopped.
func (s *Server) Pid() int {
	if p := s.running(); p != nil {
		return p.pid
	}
	return 0
}

func (s *Server) running() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || s.process.hasEnded() {
		return nil
	}
	return s.process
}

// URL returns the address of a database, for the superuser. A new server has
// the database postgres.
func (s *Server) URL(database string) string {
	return databaseURL(s.port, s.password, database)
}

func databaseURL(port int, password, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}
