package main

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/wire"
)

func (c *cli) attention() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "attention", Short: "List what waits for a human: blocked executions, uncertain units, occurrences that have failed for good or were missed", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := c.waiting(cmd, limit)
			if err != nil {
				return err
			}
			return c.print(l, func(t *table) {
				t.row("KIND", "SUBJECT", "OF", "SINCE", "WHAT")
				for _, a := range l.Items {
					subject, of := a.Execution, fmt.Sprintf("%s@%d", a.Workflow, a.Version)
					if o := a.Occurrence; o != nil {
						subject, of = "occurrence "+strconv.FormatInt(o.ID, 10), "schedule "+o.Schedule
					}
					t.row(a.Kind, subject, of, clock(a.Since), whatWaits(a))
				}
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "how many at most")
	return cmd
}

// waiting reads pages until it has limit entries, or all.
func (c *cli) waiting(cmd *cobra.Command, limit int) (wire.AttentionList, error) {
	all := wire.AttentionList{Items: []wire.Attention{}}
	q := url.Values{}
	for len(all.Items) < limit {
		q.Set("limit", strconv.Itoa(min(limit-len(all.Items), wire.MaxPage)))
		var page wire.AttentionList
		if err := c.get(cmd, wire.Path("attention")+"?"+q.Encode(), &page); err != nil {
			return wire.AttentionList{}, err
		}
		all.Items, all.Next = append(all.Items, page.Items...), page.Next
		if page.Next == "" {
			break
		}
		q.Set("cursor", page.Next)
	}
	return all, nil
}

func whatWaits(a wire.Attention) string {
	if o := a.Occurrence; o != nil {
		return fmt.Sprintf("%s, %d tries: %s", o.Instant.Format(time.RFC3339), o.Tries, a.Reason)
	}
	if a.Unit == nil {
		return a.Reason
	}
	u := a.Unit
	return fmt.Sprintf("%s: %s@%d, attempt %d, redelivery %d", u.Key, u.Task, u.ContractVersion, u.Attempt, u.Redelivery)
}
