// Command orrery talks to a running Orrery: it publishes workflows, starts executions and shows what they do. It also tries
// documents on this machine alone, without a server: validate, test-state, run and replay. It prints tables for people, and
// with --json the API's own answers for programs.
//
// It ends with status 0 when it did what was asked, 1 when the server, the document or the execution says no (the reason is
// on the standard error), and 2 when what it was given cannot be carried out: the command line, a file or a script.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/wire"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c := &cli{out: os.Stdout, errs: os.Stderr, in: os.Stdin}
	os.Exit(c.report(c.root().ExecuteContext(ctx)))
}

// report prints err for a person and gives the exit status.
func (c *cli) report(err error) int {
	var refused *wire.Error
	var usage usageError
	var given givenError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errNo):
		return 1
	case errors.As(err, &given):
		fmt.Fprintf(c.errs, "orrery: %s\n", err)
		return 2
	case errors.As(err, &refused):
		fmt.Fprintf(c.errs, "orrery: %s (%s)\n", refused.Message, refused.Code)
		for _, d := range refused.Details {
			fmt.Fprintf(c.errs, "  %s: %s", d.Field, d.Rule)
			if d.Message != "" {
				fmt.Fprintf(c.errs, ": %s", d.Message)
			}
			fmt.Fprintln(c.errs)
		}
		return 1
	case errors.As(err, &usage):
		fmt.Fprintf(c.errs, "orrery: %s; see 'orrery --help'\n", err)
		return 2
	}
	fmt.Fprintf(c.errs, "orrery: %s\n", err)
	return 1
}

// usageError is a command line that cannot be carried out.
type usageError struct{ error }

// givenError is a file or a script that cannot be carried out.
type givenError struct{ error }

func (e givenError) Unwrap() error { return e.error }

// errNo ends a command with status 1 after its answer, which says no, has been printed.
var errNo = errors.New("the answer is no")

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "orrery",
		Short:         "Publish workflows, start executions and see what they do",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("there is no command %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags := root.PersistentFlags()
	flags.StringVar(&c.client.Base, "url", envOr("ORRERY_URL", "http://127.0.0.1:8080"), "address of a node or a gateway (ORRERY_URL)")
	flags.StringVar(&c.client.Namespace, "namespace", os.Getenv("ORRERY_NAMESPACE"), "namespace (ORRERY_NAMESPACE)")
	flags.BoolVar(&c.json, "json", false, "print the API's answer as JSON")
	root.AddCommand(
		c.publish(), c.workflows(), c.aliases(), c.contracts(),
		c.start(), c.list(), c.show(), c.history(), c.wait(), c.signal(), c.cancel(), c.redrive(), c.resolve(),
		c.nodes(), c.workers(), c.queues(), c.attention(), c.schedules(), c.version(),
		c.validate(), c.testState(), c.run(), c.replay(),
	)
	tellUsage(root.Commands())
	// The token is taken from the environment only: an argument shows in the process list.
	c.client.Token = os.Getenv("ORRERY_TOKEN")
	return root
}

// tellUsage makes the wrong arguments of commands, and of those below them, usage errors.
func tellUsage(commands []*cobra.Command) {
	for _, sub := range commands {
		if check := sub.Args; check != nil {
			sub.Args = func(cmd *cobra.Command, args []string) error {
				var usage usageError
				err := check(cmd, args)
				if err != nil && !errors.As(err, &usage) {
					err = usageError{err}
				}
				return err
			}
		}
		tellUsage(sub.Commands())
	}
}

func envOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func (c *cli) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version of this program", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version  string `json:"version"`
				Revision string `json:"revision,omitempty"`
				Go       string `json:"go"`
			}{Version: "unknown"}
			if info, ok := debug.ReadBuildInfo(); ok {
				v.Version, v.Go = info.Main.Version, info.GoVersion
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						v.Revision = s.Value
					}
				}
			}
			return c.print(v, func(t *table) { t.row("orrery", v.Version, v.Revision, v.Go) })
		},
	}
}
