package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/local/stack"
	"github.com/orrery-dev/orrery/shared/pgserver"
)

// The longest times for which a node is away and the database stands still. Both reach beyond the node timeout.
const (
	longestAway  = 8 * time.Second
	longestStill = 6 * time.Second
	longestPause = 2500 * time.Millisecond
)

// trouble does harm until its time is over. Its draws are its own, so that the seed alone says what it does.
type trouble struct {
	*rig
	random *rand.Rand
	report *report
	say    func(format string, args ...any)

	mu     sync.Mutex
	counts map[string]int
}

// harm is one kind of it. Harm to a node goes on beside that to others; one node is always let be.
type harm struct {
	name   string
	weight int
	node   func(t *trouble, n *stack.Node, away time.Duration) error
	all    func(ctx context.Context, t *trouble, still time.Duration) error
}

var harms = []harm{
	{name: "killed", weight: 3, node: killed},
	{name: "frozen", weight: 3, node: frozen},
	{name: "stopped", weight: 1, node: stopped},
	{name: "cut off", weight: 2, node: cutOff},
	{name: "silenced", weight: 2, node: silenced},
	{name: "muted", weight: 2, node: muted},
	{name: "connections ended", weight: 3, all: connectionsEnded},
	{name: "database restarted", weight: 1, all: databaseRestarted},
	{name: "database crashed", weight: 1, all: databaseCrashed},
	{name: "database stood still", weight: 1, all: databaseStill},
}

// run does one thing after the other. In the end everything runs again.
func (t *trouble) run(ctx context.Context, until time.Time) {
	var busy sync.WaitGroup
	defer busy.Wait()
	free := make(chan *stack.Node, len(t.stack.Nodes))
	for _, n := range t.stack.Nodes {
		free <- n
	}
	for pause(ctx, min(t.span(longestPause), time.Until(until))) && time.Now().Before(until) {
		h := t.draw()
		away, still := t.span(longestAway), t.span(longestStill)
		switch {
		case h.all != nil:
			t.say("%s, %v", h.name, still.Round(10*time.Millisecond))
			t.note(h.name, h.all(ctx, t, still))
		case len(free) > 1:
			n := <-free
			t.say("%s is %s for %v", n.ID, h.name, away.Round(10*time.Millisecond))
			busy.Go(func() {
				t.note(h.name, h.node(t, n, away))
				free <- n
			})
		}
	}
}

func (t *trouble) draw() harm {
	sum := 0
	for _, h := range harms {
		sum += h.weight
	}
	at := t.random.IntN(sum)
	for _, h := range harms {
		if at -= h.weight; at < 0 {
			return h
		}
	}
	return harms[0]
}

// span draws a time up to most.
func (t *trouble) span(most time.Duration) time.Duration {
	return time.Duration(t.random.Int64N(int64(most)))
}

func (t *trouble) note(name string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[name]++
	if err != nil {
		t.report.breach("%s: %v", name, err)
	}
}

func (t *trouble) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t.counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, t.counts[name]))
	}
	return strings.Join(parts, ", ")
}

func killed(_ *trouble, n *stack.Node, away time.Duration) error { return restarted(n, n.Kill, away) }

func stopped(_ *trouble, n *stack.Node, away time.Duration) error { return restarted(n, n.Stop, away) }

func restarted(n *stack.Node, end func() error, away time.Duration) error {
	if err := end(); err != nil {
		return err
	}
	time.Sleep(away)
	return n.Start()
}

func frozen(_ *trouble, n *stack.Node, away time.Duration) error {
	if err := n.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(away)
	return n.Signal(syscall.SIGCONT)
}

func cutOff(t *trouble, n *stack.Node, away time.Duration) error {
	return through(t.proxies[n.ID], (*pgserver.Proxy).Cut, away)
}

func silenced(t *trouble, n *stack.Node, away time.Duration) error {
	return through(t.proxies[n.ID], (*pgserver.Proxy).Silence, away)
}

// muted loses the answers of what is under way: the connections end before they arrive.
func muted(t *trouble, n *stack.Node, away time.Duration) error {
	p := t.proxies[n.ID]
	return through(p, func(p *pgserver.Proxy) {
		p.Mute()
		time.Sleep(min(away, 300*time.Millisecond))
		p.Cut()
	}, away)
}

func through(p *pgserver.Proxy, do func(*pgserver.Proxy), away time.Duration) error {
	do(p)
	time.Sleep(away)
	p.Heal()
	return nil
}

// connectionsEnded ends about every second connection of nodes and functions.
func connectionsEnded(ctx context.Context, t *trouble, _ time.Duration) error {
	conn, err := pgx.Connect(ctx, t.server.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity
		where application_name like 'orrery-%' and random() < 0.5`)
	return err
}

func databaseRestarted(ctx context.Context, t *trouble, still time.Duration) error {
	return t.away(ctx, pgserver.Fast, still)
}

func databaseCrashed(ctx context.Context, t *trouble, still time.Duration) error {
	return t.away(ctx, pgserver.Immediate, still)
}

func (t *trouble) away(ctx context.Context, mode pgserver.Mode, still time.Duration) error {
	ctx = context.WithoutCancel(ctx)
	if err := t.server.Stop(ctx, mode); err != nil {
		return err
	}
	time.Sleep(still)
	return t.server.Run(ctx)
}

func databaseStill(_ context.Context, t *trouble, still time.Duration) error {
	if err := t.server.Freeze(); err != nil {
		return err
	}
	time.Sleep(still)
	return t.server.Thaw()
}

// pause waits; false when the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
