// Command demo runs 200 orders (local/examples/orders) through a whole Orrery on this machine: started through the functions,
// done by a Go and a Python worker, with one of two nodes killed on the way. A schedule runs beside them. It shows progress, then
// a table of how the orders ended against how each order's document says that it must, and what became of the schedule's
// instants, and ends with status 0 only if all is as it must be.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/orrery-dev/orrery/local/stack"
	"github.com/orrery-dev/orrery/shared/pgserver"
	"github.com/orrery-dev/orrery/shared/wire"
)

// sessionTimeout is shorter than the product's default, so that what a killed node had handed out is offered again
// while somebody watches.
const sessionTimeout = 10 * time.Second

func main() {
	rie := flag.Bool("rie", false, "run each function as its own Lambda binary under the runtime interface emulator")
	keep := flag.Bool("keep", false, "go on serving after the table, until Ctrl-C")
	limit := flag.Duration("limit", 90*time.Second, "time from the start of the first order to the end of the last")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := run(ctx, *rie, *keep, *limit)
	switch {
	case err == nil:
	case errors.Is(err, pgserver.ErrNotInstalled), errors.Is(err, errNoPython):
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rie, keep bool, limit time.Duration) (err error) {
	orders, err := readOrders("local/examples/orders/orders.jsonl")
	if err != nil {
		return err
	}
	log, err := os.Create(logFile())
	if err != nil {
		return err
	}
	defer log.Close()
	s, err := stack.Start(ctx, stack.Options{
		DatabaseURL: os.Getenv("DATABASE_URL"), RIE: rie, SessionTimeout: sessionTimeout,
		Output: log, Log: slog.New(slog.NewTextHandler(log, nil)),
		Progress: func(step string) { fmt.Println("demo:", step) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w, err := startWorkers(ctx, s.URL, log)
	if err != nil {
		return err
	}
	defer w.stop()
	fmt.Printf("demo: serving at %s, logs in %s\n", s.URL, log.Name())

	d := &demo{stack: s, client: &wire.Client{Base: s.URL}, orders: orders}
	if err := d.run(ctx, limit); err != nil {
		return err
	}
	if keep {
		fmt.Printf("\ndemo: serving on at %s until Ctrl-C; try: ORRERY_URL=%s go run ./local/orrery list\n", s.URL, s.URL)
		<-ctx.Done()
	}
	return nil
}

func logFile() string {
	return fmt.Sprintf("%s/orrery-demo-%d.log", os.TempDir(), os.Getpid())
}
