package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/wire"
)

// notYet is told of a command that is durable and whose effect is not known yet.
const notYet = "stored, not yet applied: it will be when the execution's owner is back"

func (c *cli) redrive() *cobra.Command {
	var req wire.RedriveRequest
	cmd := &cobra.Command{
		Use: "redrive EXECUTION", Short: "Let an execution go on from where it failed", Args: cobra.ExactArgs(1),
		Long: "Let an execution go on that has failed, run out of time or been cancelled, at most 14 days ago: at the states that did\n" +
			"not end well. What was undone cannot go on.",
		RunE: func(cmd *cobra.Command, args []string) error {
			var r wire.RedriveResponse
			_, err := c.client.Call(cmd.Context(), http.MethodPost, wire.Path("executions", args[0], "redrive"), nil, req, &r)
			if err != nil {
				return err
			}
			return c.print(r, func(t *table) {
				if !r.Confirmed {
					t.row(notYet)
					return
				}
				t.row(r.Execution.ID, r.Execution.Status)
			})
		},
	}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the history")
	return cmd
}

func (c *cli) resolve() *cobra.Command {
	var output, key string
	var failure wire.TaskError
	cmd := &cobra.Command{
		Use: "resolve EXECUTION UNIT completed|failed|retry", Short: "Say what became of an uncertain unit", Args: cobra.ExactArgs(3),
		Long: "Say what became of a unit whose outcome nobody knows (orrery attention lists them): it completed, with --output; it\n" +
			"failed, with --error and --cause; or neither, and it is to be tried again.",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.payload(output)
			if err != nil {
				return err
			}
			q := wire.ResolveRequest{Unit: args[1], Resolution: args[2], Output: json.RawMessage(text)}
			if failure.Code != "" {
				q.Error = &failure
			}
			var r wire.ResolveResponse
			path := wire.Path("executions", args[0], "resolve")
			if _, err = c.client.Call(cmd.Context(), http.MethodPost, path, keyHeader(key), q, &r); err != nil {
				return err
			}
			return c.print(r, func(t *table) {
				if !r.Confirmed {
					t.row(notYet)
					return
				}
				t.row("applied", fmt.Sprintf("event %d", r.Event))
			})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output: JSON, @FILE or -")
	cmd.Flags().StringVar(&failure.Code, "error", "", "error name")
	cmd.Flags().StringVar(&failure.Message, "cause", "", "cause of the error")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "makes the call repeatable")
	return cmd
}
