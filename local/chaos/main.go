// Command chaos runs a whole Orrery on this machine and does to it, by chance, what happens to real ones, while executions
// of every kind come in and workers do their tasks:
//
//	20 workers -----> 3 nodes, processes ---> a proxy each --+
//	      |      \--> gateway -> functions ------------------+--> PostgreSQL
//	clients ------/
//	      |
//	      +--> the ledger, another server's database: every effect by idempotency key, every answer
//
// Nodes are killed, frozen, stopped and cut off from the database; connections are ended; the database is restarted, crashes,
// and stands still. When the time is over everything is let be, and then all must have come right: what was acknowledged is
// there, histories are whole, every effect was had, and again only where that is recorded, and nothing is left over.
//
//	chaos -seconds 60 -seed 1
//
// The seed repeats what is done and when, as far as a machine repeats anything. The status is 1 when a promise was broken, 2
// when the run itself was not possible.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	seconds int
	seed    uint64
	rate    int // starts a second
	root    string
	node    string // the node's binary; empty: it is built
	clean   bool   // clean up at the end, instead of waiting until a node's time for that has come
	output  string // file for what nodes and functions log; empty for nowhere
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2)
	}
	r, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(2)
	}
	r.print(os.Stdout)
	if len(r.breaches) > 0 {
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("chaos", flag.ContinueOnError)
	f.IntVar(&o.seconds, "seconds", 60, "how long to do harm")
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "what to do and when")
	f.IntVar(&o.rate, "rate", 20, "executions started a second")
	f.StringVar(&o.root, "root", ".", "the repository's folder")
	f.StringVar(&o.node, "node", "", "use this binary of the node instead of building one")
	f.StringVar(&o.output, "log", "", "write what nodes and functions log to this file")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.seconds < 1 || o.rate < 1 || f.NArg() > 0 {
		err := errors.New("-seconds and -rate must be 1 or more, and nothing else is taken")
		fmt.Fprintln(f.Output(), "chaos:", err)
		return o, err
	}
	return o, nil
}

// maxShown bounds the breaches that are printed.
const maxShown = 30

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\n%d executions started, %d signals and %d cancels acknowledged, %d answers of which %d were 'try again'\n",
		r.starts, r.signals, r.cancels, r.answers, r.temporary)
	fmt.Fprintf(w, "%d events in %d histories; %d effects under %d keys, %d redeliveries and %d retries recorded\n",
		r.events, r.histories, r.effects, r.keys, r.redeliveries, r.retries)
	fmt.Fprintf(w, "done to it: %s\n", r.harm)
	for i, b := range r.breaches {
		if i == maxShown {
			fmt.Fprintf(w, "... and %d more\n", len(r.breaches)-i)
			break
		}
		fmt.Fprintln(w, "BREACH:", b)
	}
	if len(r.breaches) == 0 {
		fmt.Fprintln(w, "every promise was kept")
	}
}
