package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/wire"
)

func (c *cli) start() *cobra.Command {
	var req wire.StartRequest
	var input, attributes string
	var timeout time.Duration
	var wait bool
	cmd := &cobra.Command{
		Use:   "start WORKFLOW[:ALIAS]",
		Short: "Start an execution",
		Long: "Start an execution. --input takes JSON, @FILE, or - for the standard input. With --name the start can be\n" +
			"repeated: the same name, workflow and input answers the execution that is there.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.payload(input)
			if err != nil {
				return err
			}
			req.Workflow, req.Alias, _ = strings.Cut(args[0], ":")
			if req.Attributes, err = c.payload(attributes); err != nil {
				return err
			}
			req.Input, req.TimeoutMS = text, timeout.Milliseconds()
			var e wire.Execution
			status, err := c.client.Call(cmd.Context(), http.MethodPost, wire.Path("executions"), nil, req, &e)
			if err != nil {
				return err
			}
			if wait {
				return c.waitFor(cmd, e.ID, 0)
			}
			return c.print(e, func(t *table) {
				if status == http.StatusOK {
					t.row(e.ID, e.Status, "(was there already)")
					return
				}
				t.row(e.ID, e.Status)
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&input, "input", "i", "", "input: JSON, @FILE or -")
	f.StringVar(&attributes, "attributes", "", "by what it is found: a JSON object of texts, numbers and booleans")
	f.StringVarP(&req.Name, "name", "n", "", "name of the execution; a UUID when left out")
	f.IntVar(&req.Version, "version", 0, "version of the workflow; the newest when left out")
	f.DurationVar(&timeout, "timeout", 0, "time limit of the execution")
	f.BoolVarP(&wait, "wait", "w", false, "wait for the end and show the result")
	return cmd
}

func (c *cli) list() *cobra.Command {
	var status, workflow, attributes string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List executions, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{}
			if status != "" {
				q.Set("status", strings.ToUpper(status))
			}
			if workflow != "" {
				q.Set("workflow", workflow)
			}
			if attributes != "" {
				q.Set("attributes", attributes)
			}
			all, err := c.pages(cmd, q, limit)
			if err != nil {
				return err
			}
			return c.print(wire.ExecutionList{Executions: all}, func(t *table) {
				t.row("EXECUTION", "WORKFLOW", "VERSION", "STATUS", "STARTED", "TOOK")
				for _, e := range all {
					t.row(e.ID, e.Workflow, e.Version, e.Status, clock(e.StartedAt), span(e.StartedAt, e.EndedAt))
				}
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only this status")
	cmd.Flags().StringVar(&workflow, "workflow", "", "only this workflow")
	cmd.Flags().StringVar(&attributes, "attributes", "", "only those that have all members of this JSON object")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many at most")
	return cmd
}

// pages reads up to limit executions, page by page.
func (c *cli) pages(cmd *cobra.Command, q url.Values, limit int) ([]wire.Execution, error) {
	all := []wire.Execution{}
	for len(all) < limit {
		q.Set("limit", strconv.Itoa(min(limit-len(all), wire.MaxPage)))
		var page wire.ExecutionList
		if err := c.get(cmd, wire.Path("executions")+"?"+q.Encode(), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Executions...)
		if page.Next == "" {
			break
		}
		q.Set("cursor", page.Next)
	}
	return all, nil
}

func (c *cli) show() *cobra.Command {
	return &cobra.Command{
		Use: "show EXECUTION", Short: "Show how an execution stands", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var e wire.ExecutionDetail
			if err := c.get(cmd, wire.Path("executions", args[0]), &e); err != nil {
				return err
			}
			return c.print(e, func(t *table) { showExecution(t, e) })
		},
	}
}

func showExecution(t *table, e wire.ExecutionDetail) {
	t.row("execution", e.ID)
	t.row("workflow", fmt.Sprintf("%s@%d", e.Workflow, e.Version))
	t.row("status", e.Status)
	if e.Blocked {
		t.row("blocked", "it can't go on without a human")
	}
	t.row("started", clock(e.StartedAt))
	if e.Status.Ended() {
		t.row("ended", clock(e.EndedAt), "after "+span(e.StartedAt, e.EndedAt))
	}
	t.row("input", compact(e.Input))
	if len(e.Output) > 0 {
		t.row("output", compact(e.Output))
	}
	if told(e.Error) {
		t.row("error", orDash(e.Error.Code), e.Error.Message)
	}
	owner := "nobody"
	if e.Owner != nil {
		owner = e.Owner.Node
	}
	t.row("owner", fmt.Sprintf("%s (partition %d, epoch %d)", owner, e.Partition, e.Epoch))
	t.row("history", fmt.Sprintf("up to event %d, turn %d", e.Event, e.Turn))
	if len(e.Units) == 0 {
		return
	}
	t.row()
	t.row("UNIT", "KIND", "STATUS", "WAITS FOR", "ATTEMPT", "WORKER", "SINCE", "DUE")
	for _, u := range e.Units {
		waits := u.Signal
		if u.Task != "" {
			waits = fmt.Sprintf("%s@%d", u.Task, u.Version)
		}
		t.row(u.Key, u.Kind, u.Status, orDash(waits), u.Attempt, orDash(u.Worker), clock(u.Since), clock(u.Due))
	}
}

// told tells whether an end has a reason: a cancel may come without one.
func told(e *wire.ExecutionError) bool { return e != nil && (e.Code != "" || e.Message != "") }

func (c *cli) history() *cobra.Command {
	var newest bool
	cmd := &cobra.Command{
		Use: "history EXECUTION", Short: "Show the events of an execution", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{"limit": {strconv.Itoa(wire.MaxPage)}}
			if newest {
				q.Set("order", "desc")
			}
			all := wire.HistoryPage{Events: []wire.Event{}}
			for {
				var page wire.HistoryPage
				if err := c.get(cmd, wire.Path("executions", args[0], "history")+"?"+q.Encode(), &page); err != nil {
					return err
				}
				all.Events = append(all.Events, page.Events...)
				if page.Next == "" {
					break
				}
				q.Set("cursor", page.Next)
			}
			return c.print(all, func(t *table) {
				t.row("EVENT", "TURN", "AT", "TYPE", "DATA")
				for _, e := range all.Events {
					t.row(e.ID, e.Turn, clock(e.At), e.Type, compact(e.Data))
				}
			})
		},
	}
	cmd.Flags().BoolVar(&newest, "newest-first", false, "in reverse order")
	return cmd
}

func (c *cli) wait() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait EXECUTION", Short: "Wait for the end of an execution and show its result",
		Long: "Wait for the end of an execution and show its result. The status is 0 only if it succeeded.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.waitFor(cmd, args[0], timeout) },
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this time; 0 for never")
	return cmd
}

func (c *cli) waitFor(cmd *cobra.Command, id string, timeout time.Duration) error {
	start := time.Now()
	var r wire.Result
	for !r.Status.Ended() || r.Status == "" {
		if timeout > 0 && time.Since(start) > timeout {
			return fmt.Errorf("%s is still %s after %s", id, r.Status, timeout)
		}
		if err := c.get(cmd, wire.Path("executions", id, "result")+"?wait_ms=10000", &r); err != nil {
			return err
		}
	}
	err := c.print(r, func(t *table) {
		t.row(r.ID, r.Status)
		if told(r.Error) {
			t.row(orDash(r.Error.Code), r.Error.Message)
		}
		if len(r.Output) > 0 {
			t.row(visible(string(r.Output)))
		}
	})
	if err == nil && r.Status != wire.Succeeded {
		err = errNo
	}
	return err
}

func (c *cli) signal() *cobra.Command {
	var payload, key string
	cmd := &cobra.Command{
		Use: "signal EXECUTION NAME", Short: "Send a signal to an execution", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.payload(payload)
			if err != nil {
				return err
			}
			var r wire.SignalResponse
			_, err = c.client.Call(cmd.Context(), http.MethodPost, wire.Path("executions", args[0], "signals", args[1]),
				keyHeader(key), wire.SignalRequest{Payload: text}, &r)
			if err != nil {
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
	cmd.Flags().StringVarP(&payload, "payload", "p", "", "payload: JSON, @FILE or -")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "makes the call repeatable")
	return cmd
}

func (c *cli) cancel() *cobra.Command {
	var req wire.CancelRequest
	cmd := &cobra.Command{
		Use: "cancel EXECUTION", Short: "Cancel an execution", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var r wire.CancelResponse
			_, err := c.client.Call(cmd.Context(), http.MethodPost, wire.Path("executions", args[0], "cancel"), nil, req, &r)
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

func keyHeader(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{wire.HeaderIdempotencyKey: {key}}
}

func (c *cli) get(cmd *cobra.Command, path string, answer any) error {
	_, err := c.client.Call(cmd.Context(), http.MethodGet, path, nil, nil, answer)
	return err
}

// payload reads JSON from the argument itself, from @FILE or from the standard input for -; nil for no argument.
func (c *cli) payload(arg string) (json.RawMessage, error) {
	if arg == "" {
		return nil, nil
	}
	text := []byte(arg)
	if arg == "-" || strings.HasPrefix(arg, "@") {
		var err error
		if text, err = c.readFile(strings.TrimPrefix(arg, "@")); err != nil {
			return nil, err
		}
	}
	if !json.Valid(text) {
		return nil, usageError{fmt.Errorf("%.100q is not JSON", text)}
	}
	return text, nil
}
