// Command dev runs everything on one machine: PostgreSQL (DATABASE_URL, or a throw-away server), the migrations, nodes, and
// the functions behind a local gateway. Ctrl-C ends it all.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/orrery-dev/orrery/local/stack"
	"github.com/orrery-dev/orrery/shared/pgserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dev:", err)
		if errors.Is(err, pgserver.ErrNotInstalled) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := stack.Options{Output: os.Stderr, Progress: func(step string) { fmt.Println("dev:", step) }}
	flag.IntVar(&o.Nodes, "nodes", 2, "how many nodes")
	flag.StringVar(&o.Listen, "listen", "127.0.0.1:8080", "address of the gateway; keep it on the loopback address, it asks for no token")
	flag.BoolVar(&o.RIE, "rie", false, "run each function as its own Lambda binary under the runtime interface emulator")
	flag.IntVar(&o.Instances, "instances", 0, "calls of one function at once (default 8, with -rie 4)")
	flag.StringVar(&o.DatabaseURL, "database-url", os.Getenv("DATABASE_URL"), "PostgreSQL to use (DATABASE_URL); a throw-away server when empty")
	verbose := flag.Bool("v", false, "show what the functions log")
	flag.Parse()
	level := slog.LevelInfo
	if *verbose {
		level = slog.LevelDebug
	}
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))

	s, err := stack.Start(ctx, o)
	if err != nil {
		return err
	}
	fmt.Printf("\ngateway   %s   (functions%s)\n", s.URL, map[bool]string{true: " under the emulator"}[o.RIE])
	for _, n := range s.Nodes {
		fmt.Printf("%-9s %s   (every route)\n", n.ID, n.URL)
	}
	fmt.Printf("database  %s\n\nORRERY_URL=%s go run ./local/orrery nodes\n\nCtrl-C ends everything%s.\n", s.DatabaseURL, s.URL,
		cmp.Or(map[bool]string{true: ", the data included"}[o.DatabaseURL == ""], ""))
	<-ctx.Done()
	fmt.Println("\ndev: stopping")
	return s.Close()
}
