package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/wire"
)

func (c *cli) scheduleTrigger() *cobra.Command {
	var q wire.TriggerRequest
	var input, key string
	cmd := &cobra.Command{
		Use: "trigger ID", Short: "Run a schedule now", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if q.Input, err = c.payload(input); err != nil {
				return err
			}
			var o wire.Occurrence
			status, err := c.client.Call(cmd.Context(), http.MethodPost, wire.Path("schedules", args[0], "trigger"), keyHeader(key), q, &o)
			if err != nil {
				return err
			}
			return c.print(o, func(t *table) {
				if status == http.StatusOK {
					t.row(o.ID, o.Status, "(was there already)")
					return
				}
				t.row(o.ID, o.Status)
			})
		},
	}
	cmd.Flags().StringVarP(&input, "input", "i", "", "input in place of the schedule's: a JSON object, @FILE or -")
	cmd.Flags().StringVar(&q.Overlap, "overlap", "", "overlap policy of this occurrence; the schedule's when left out")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "makes the call repeatable")
	return cmd
}

func (c *cli) scheduleBackfill() *cobra.Command {
	var from, to string
	var slots int
	var yes bool
	cmd := &cobra.Command{
		Use: "backfill ID --from TIME --to TIME [--yes]", Short: "Run the instants of a time that has passed which have no occurrence",
		Long: "Run the instants of a time that has passed which have no occurrence: one after the other, oldest first. Without --yes it\n" +
			"shows which ones, and does nothing. --from is included, --to is not.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"from": from, "to": to, "preview": !yes}
			if slots != 0 {
				body["slots"] = slots
			}
			var b wire.BackfillResponse
			if _, err := c.client.Call(cmd.Context(), http.MethodPost, wire.Path("schedules", args[0], "backfill"), nil, body, &b); err != nil {
				return err
			}
			return c.print(b, func(t *table) {
				for _, at := range b.Instants {
					t.row(at.Format(time.RFC3339))
				}
				what := fmt.Sprintf("%d of %d instants have got an occurrence", len(b.Instants), b.All)
				if !yes {
					what = fmt.Sprintf("%d of %d instants would get an occurrence; --yes makes them", len(b.Instants), b.All)
				}
				t.row(what)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "time, such as 2026-01-01T00:00:00Z")
	cmd.Flags().StringVar(&to, "to", "", "time")
	cmd.Flags().IntVar(&slots, "slots", 0, "how many run at a time, where the schedule's runs may overlap; 1")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "make the occurrences")
	return cmd
}

func (c *cli) scheduleOccurrences() *cobra.Command {
	var status, trigger, from, to string
	var limit int
	cmd := &cobra.Command{
		Use: "occurrences ID", Short: "List the occurrences of a schedule, newest first", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{}
			for name, value := range map[string]string{"status": status, "trigger": trigger, "from": from, "to": to} {
				if value != "" {
					q.Set(name, value)
				}
			}
			all := wire.OccurrenceList{Occurrences: []wire.Occurrence{}}
			err := c.paged(cmd, wire.Path("schedules", args[0], "occurrences"), q, limit, func() (any, func() (int, string)) {
				page := &wire.OccurrenceList{}
				return page, func() (int, string) {
					all.Occurrences = append(all.Occurrences, page.Occurrences...)
					return len(page.Occurrences), page.Next
				}
			})
			if err != nil {
				return err
			}
			return c.print(all, func(t *table) {
				t.row("OCCURRENCE", "INSTANT", "TRIGGER", "STATUS", "TRY", "STARTED", "TOOK", "WHAT")
				for _, o := range all.Occurrences {
					t.row(o.ID, instantOf(o), o.Trigger, o.Status, o.Retry+1, clock(o.StartedAt), span(o.StartedAt, o.EndedAt), whatOf(o))
				}
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only this status")
	cmd.Flags().StringVar(&trigger, "trigger", "", "only this trigger: cron, manual, backfill")
	cmd.Flags().StringVar(&from, "from", "", "only instants from this time on")
	cmd.Flags().StringVar(&to, "to", "", "only instants before this time")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many at most")
	return cmd
}

// instantOf is the instant, or the stretch of those that were missed.
func instantOf(o wire.Occurrence) string {
	at := o.Instant.Format(time.RFC3339)
	if o.Skipped > 0 {
		return fmt.Sprintf("%s ... %s (%d)", o.SkippedFrom.Format(time.RFC3339), at, o.Skipped)
	}
	return at
}

// whatOf is what there is to say of an occurrence.
func whatOf(o wire.Occurrence) string {
	if o.Reason != "" {
		return o.Reason
	}
	return orDash(o.Execution)
}

func (c *cli) showOccurrence(cmd *cobra.Command, id, number string) error {
	var o wire.OccurrenceDetail
	if err := c.get(cmd, wire.Path("schedules", id, "occurrences", number), &o); err != nil {
		return err
	}
	return c.print(o, func(t *table) {
		t.row("occurrence", o.ID, "of "+id)
		t.row("status", o.Status, o.Reason)
		t.row("instant", instantOf(o.Occurrence), "due "+clock(o.DueAt))
		t.row("trigger", o.Trigger, "overlap "+o.Overlap)
		t.row("key", orDash(o.Key), fmt.Sprintf("slot %d, fencing token %d", o.Slot, o.FencingToken))
		t.row("execution", orDash(o.Execution))
		t.row("claimant", orDash(o.Claimant), "looked at again "+clock(o.LookAt))
		if o.CancelledBy != "" {
			t.row("cancelled by", o.CancelledBy, o.CancelReason)
		}
		t.row("started", clock(o.StartedAt), "ended "+clock(o.EndedAt))
		for _, a := range o.Attempts {
			t.row(fmt.Sprintf("try %d, attempt %d", a.Retry+1, a.Attempt), a.Status, clock(a.StartedAt), span(a.StartedAt, a.EndedAt), a.Claimant, a.Error)
		}
	})
}

// scheduleWord is a command that gives an operator's word on an occurrence.
func (c *cli) scheduleWord(word, short string) *cobra.Command {
	var q wire.OccurrenceRequest
	cmd := &cobra.Command{
		Use: word + " ID OCCURRENCE", Short: short, Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n, err := strconv.ParseInt(args[1], 10, 64); err != nil || n < 1 {
				return usageError{fmt.Errorf("%.40q is no number of an occurrence", args[1])}
			}
			var r wire.OccurrenceResponse
			path := wire.Path("schedules", args[0], "occurrences", args[1], word)
			if _, err := c.client.Call(cmd.Context(), http.MethodPost, path, nil, q, &r); err != nil {
				return err
			}
			return c.print(r, func(t *table) {
				if !r.Confirmed {
					t.row(r.Occurrence.ID, r.Occurrence.Status, "asked to end")
					return
				}
				t.row(r.Occurrence.ID, r.Occurrence.Status)
			})
		},
	}
	cmd.Flags().StringVar(&q.Reason, "reason", "", "why, for those who look")
	return cmd
}
