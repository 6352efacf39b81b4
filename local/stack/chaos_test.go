package stack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/shared/pgserver"
	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// seedVariable repeats a run of TestChaos: the number that the failed one has told.
const seedVariable = "ORRERY_CHAOS_SEED"

// TestChaos has three nodes, killed, frozen, stopped and cut off from a database that is itself restarted and paused, all by
// chance, while executions of every kind come in and workers do their tasks. In the end all have succeeded, each with a
// whole history, and every task was done once, or again only where that is recorded.
func TestChaos(t *testing.T) {
	span := 15 * time.Second
	if os.Getenv("ORRERY_SOAK") != "" {
		span = 20 * time.Minute
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", seedVariable, seed)
	server, err := pgserver.Start(t.Context(), pgserver.Options{Volatile: true, Settings: map[string]string{"max_connections": "300"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	s := newSystem(t, Options{Nodes: 3, DatabaseURL: server.URL("postgres"), SessionTimeout: 5 * time.Second})
	s.publish("mix", mixDocument)
	l := newLedger()
	for id, url := range map[string]string{"a": s.Nodes[0].URL, "b": s.Nodes[1].URL, "of-functions": s.URL} {
		w := worker.New(s.workerConfig(id, url))
		l.handle(w, "mix.work")
		s.work(w)
	}
	c := &chaos{system: s, server: server, random: rand.New(rand.NewPCG(seed, 0)), until: time.Now().Add(span)}
	mix := c.load()
	c.run()
	for _, n := range s.Nodes {
		if err := n.WaitReady(t.Context()); err != nil {
			t.Error(err)
		}
	}
	list := mix()
	s.awaitEnd(2 * time.Minute)
	l.check(s, s.checkMix(list))
}

// chaos does things to a system until its time is over.
type chaos struct {
	*system
	server *pgserver.Server
	random *rand.Rand
	until  time.Time
}

// load starts executions for as long as the chaos lasts, and sends the signals that they wait for. The result waits until
// all that is done and gives what was started.
func (c *chaos) load() (started func() []starting) {
	const pause = 50 * time.Millisecond
	all := c.mix(int(time.Until(c.until) / pause))
	var clients sync.WaitGroup
	n := 0
	clients.Go(func() {
		for ; n < len(all) && time.Now().Before(c.until); n++ {
			x, i := all[n], n
			clients.Go(func() {
				if err := c.try(x.at, "POST", wire.Path("executions"), x.StartRequest, nil); err != nil {
					c.t.Errorf("start %s: %v", x.Name, err)
					return
				}
				if i%4 == 1 {
					c.goOn(x, i)
				}
			})
			time.Sleep(pause)
		}
	})
	return func() []starting {
		clients.Wait()
		return all[:n]
	}
}

// goOn sends a signal under a key, until it is known to be durable. That the execution has ended is an answer too: of a
// repeat whose predecessor was applied without anybody hearing of it.
func (c *chaos) goOn(x starting, payload int) {
	header := http.Header{wire.HeaderIdempotencyKey: {"go " + x.Name}}
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	for {
		_, err := x.at.Call(ctx, "POST", wire.Path("executions", x.Name, "signals", "go"), header, wire.SignalRequest{Payload: fmt.Append(nil, payload)}, nil)
		if err == nil || errors.Is(err, &wire.Error{Code: wire.ExecutionFinished}) {
			return
		}
		if !wire.Temporary(err) || ctx.Err() != nil {
			c.t.Errorf("signal to %s: %v", x.Name, err)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// run does one thing after the other. What is done to a node goes on beside what is done to others; one node is always
// left alone, and in the end all run.
func (c *chaos) run() {
	var busy sync.WaitGroup
	defer busy.Wait()
	free := make(chan *Node, len(c.Nodes))
	for _, n := range c.Nodes {
		free <- n
	}
	for time.Now().Before(c.until) {
		time.Sleep(c.span(3 * time.Second))
		switch what := c.random.IntN(8); what {
		case 0, 1, 2, 3, 4:
			away := c.span(8 * time.Second)
			if len(free) > 1 {
				n := <-free
				busy.Go(func() {
					c.disturb(n, what, away)
					free <- n
				})
			}
		case 5, 6:
			c.cut(c.random.IntN(2) == 0)
		case 7:
			c.database(c.random.IntN(2) == 0, c.span(4*time.Second))
		}
	}
}

// span draws a time up to most.
func (c *chaos) span(most time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(most)))
}

// disturb has a node away for a while.
func (c *chaos) disturb(n *Node, what int, away time.Duration) {
	end := n.Kill
	switch what {
	case 0, 1:
		c.t.Logf("%s is frozen for %v", n.ID, away)
		if err := n.Signal(syscall.SIGSTOP); err != nil {
			c.t.Error(err)
		}
		time.Sleep(away)
		if err := n.Signal(syscall.SIGCONT); err != nil {
			c.t.Error(err)
		}
		return
	case 2:
		c.t.Logf("%s is stopped for %v", n.ID, away)
		end = n.Stop
	default:
		c.t.Logf("%s is killed for %v", n.ID, away)
	}
	if err := end(); err != nil {
		c.t.Error(err)
	}
	time.Sleep(away)
	if err := n.Start(); err != nil {
		c.t.Error(err)
	}
}

// cut ends connections to the database: all, or each with a chance of one in two.
func (c *chaos) cut(all bool) {
	conn, err := pgx.Connect(c.t.Context(), c.DatabaseURL)
	if err != nil {
		c.t.Errorf("connect to the database: %v", err)
		return
	}
	defer conn.Close(context.Background())
	tag, err := conn.Exec(c.t.Context(), `
		select pg_terminate_backend(pid) from pg_stat_activity
		where application_name like 'orrery-%' and ($1 or random() < 0.5)`, all)
	if err != nil {
		c.t.Errorf("cut connections: %v", err)
	}
	c.t.Logf("%d connections were cut", tag.RowsAffected())
}

// database has the server crash and come back, or stand still for a while.
func (c *chaos) database(crash bool, pause time.Duration) {
	if crash {
		c.t.Log("the database crashes")
		if err := c.server.Restart(c.t.Context(), pgserver.Immediate); err != nil {
			c.t.Error(err)
		}
		return
	}
	c.t.Logf("the database stands still for %v", pause)
	if err := c.server.Freeze(); err != nil {
		c.t.Error(err)
	}
	time.Sleep(pause)
	if err := c.server.Thaw(); err != nil {
		c.t.Error(err)
	}
}
