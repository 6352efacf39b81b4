package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/migrations"
	"github.com/orrery-dev/orrery/shared/pgserver"
)

// bench has what all runs share: a server, and the node's binary.
type bench struct {
	dir    string
	server *pgserver.Server
	runs   int
}

// settings are those of a small database machine. Durability is PostgreSQL's default: fsync, synchronous_commit and
// full_page_writes stay on.
var settings = map[string]string{
	"shared_buffers": "1GB", "effective_cache_size": "6GB", "max_connections": "300",
	"max_wal_size": "8GB", "checkpoint_timeout": "30min", "jit": "off",
}

func newBench(ctx context.Context, o options) (*bench, error) {
	dir, err := os.MkdirTemp("", "orrery-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir}
	build := exec.CommandContext(ctx, "go", "build", "-o", b.binary(), "./functions/node")
	if out, err := build.CombinedOutput(); err != nil {
		b.close()
		return nil, fmt.Errorf("build the node (run this in the repository's root): %w\n%s", err, out)
	}
	with := maps.Clone(settings)
	with["shared_preload_libraries"], with["pg_stat_statements.track"] = "pg_stat_statements", "none"
	if o.statements > 0 {
		with["pg_stat_statements.track"], with["pg_stat_statements.track_planning"] = "top", "on"
	}
	if b.server, err = pgserver.Start(ctx, pgserver.Options{Settings: with}); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) binary() string { return filepath.Join(b.dir, "node") }

func (b *bench) close() {
	if b.server != nil {
		b.server.Close()
	}
	os.RemoveAll(b.dir)
}

// rig is the set-up of one run: a fresh database and a node.
type rig struct {
	bench    *bench
	database string
	url      string // of the node
	meter    meter
	node     *node
}

// node is a process of the node's binary.
type node struct {
	id    string
	url   string
	debug string // where it serves its profiles
	cmd   *exec.Cmd

	binary, log string // files
	env         []string
}

// once makes a rig, runs the scenario on it and takes it down.
func (b *bench) once(ctx context.Context, s scenario, o options) (result, error) {
	database, err := b.freshDatabase(ctx)
	if err != nil {
		return result{}, err
	}
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return result{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := migrations.Apply(ctx, conn); err != nil {
		return result{}, err
	}
	if _, err := conn.Exec(ctx, "checkpoint"); err != nil {
		return result{}, err
	}
	n, err := b.startNode(ctx, database, "bench")
	if err != nil {
		return result{}, err
	}
	defer n.stop()
	r := &rig{bench: b, database: database, url: n.url, node: n}
	r.meter = meter{conn: conn, postmaster: b.server.Pid(), node: n.cmd.Process.Pid}
	res, err := s.run(ctx, r, o)
	res.Scenario = s.name
	if err == nil && o.statements > 0 {
		err = errors.Join(printStatements(ctx, conn, o.statements, res.Steps), printWAL(ctx, conn, o.statements, r.meter.from.wal, res.Steps))
	}
	return res, err
}

func (b *bench) freshDatabase(ctx context.Context) (string, error) {
	admin, err := pgx.Connect(ctx, b.server.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer admin.Close(context.WithoutCancel(ctx))
	if b.runs > 0 {
		if _, err := admin.Exec(ctx, fmt.Sprintf("drop database bench%d with (force)", b.runs)); err != nil {
			return "", err
		}
	}
	b.runs++
	name := fmt.Sprintf("bench%d", b.runs)
	_, err = admin.Exec(ctx, "create database "+name)
	return b.server.URL(name), err
}

// startNode runs the node's binary and waits until it is ready.
func (b *bench) startNode(ctx context.Context, database, id string) (*node, error) {
	listen, err := freeAddress()
	if err != nil {
		return nil, err
	}
	debug, err := freeAddress()
	if err != nil {
		return nil, err
	}
	n := &node{id: id, url: "http://" + listen, debug: "http://" + debug, binary: b.binary(), log: filepath.Join(b.dir, id+".log")}
	n.env = append(os.Environ(), "DATABASE_URL="+database, "ORRERY_LISTEN="+listen, "ORRERY_NODE_ID="+id,
		"ORRERY_LOG_LEVEL=warn", "ORRERY_DEBUG_LISTEN="+debug)
	return n, n.start(ctx)
}

// start runs the process, also again after stop, and waits until it is ready. On an error nothing runs.
func (n *node) start(ctx context.Context) error {
	log, err := os.Create(n.log)
	if err != nil {
		return err
	}
	defer log.Close()
	n.cmd = exec.Command(n.binary)
	n.cmd.Env, n.cmd.Stdout, n.cmd.Stderr = n.env, log, log
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.cmd.Start(); err != nil {
		return err
	}
	if err := n.waitReady(ctx); err != nil {
		n.stop()
		text, _ := os.ReadFile(n.log)
		return fmt.Errorf("%w; its log:\n%s", err, text)
	}
	return nil
}

func (n *node) waitReady(ctx context.Context) error {
	for range 300 {
		resp, err := http.Get(n.url + "/v1/ready")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("the node is not ready after 30 s")
}

func (n *node) stop() {
	n.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(10*time.Second, func() { n.cmd.Process.Kill() })
	defer late.Stop()
	n.cmd.Wait()
}

// measure begins the measured time, and the node's CPU profile when one is asked for.
func (r *rig) measure(ctx context.Context, o options) error {
	if o.cpuProfile != "" {
		go func() {
			if err := r.profile(ctx, o); err != nil {
				fmt.Fprintln(os.Stderr, "bench: CPU profile:", err)
			}
		}()
	}
	if o.statements > 0 {
		if _, err := r.meter.conn.Exec(ctx, "create extension if not exists pg_stat_statements; create extension if not exists pg_walinspect; select pg_stat_statements_reset()"); err != nil {
			return err
		}
	}
	return r.meter.start(ctx)
}

func (r *rig) profile(ctx context.Context, o options) error {
	url := fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", r.node.debug, int(o.duration.Seconds()))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f, err := os.Create(o.cpuProfile)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(f, resp.Body)
	return err
}

// freeAddress gives a loopback address that nobody listens on now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
