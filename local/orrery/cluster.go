package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/wire"
)

func (c *cli) nodes() *cobra.Command {
	return &cobra.Command{
		Use: "nodes", Short: "List the nodes and what they own", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var l wire.NodeList
			if err := c.get(cmd, wire.Path("nodes"), &l); err != nil {
				return err
			}
			return c.print(l, func(t *table) {
				t.row("NODE", "LIVE", "PARTITIONS", "HEARTBEAT", "STARTED", "ADDRESS")
				for _, n := range l.Nodes {
					t.row(n.ID, n.Live, n.Partitions, ms(n.HeartbeatAgeMS)+" ago", clock(n.StartedAt), orDash(n.Address))
				}
			})
		},
	}
}

func (c *cli) workers() *cobra.Command {
	return &cobra.Command{
		Use: "workers", Short: "List the workers and their sessions", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var l wire.WorkerList
			if err := c.get(cmd, wire.Path("workers"), &l); err != nil {
				return err
			}
			return c.print(l, func(t *table) {
				t.row("WORKER", "LANGUAGE", "SESSION", "IN FLIGHT", "CONTACT", "CONTRACTS")
				for _, w := range l.Workers {
					for _, s := range w.Sessions {
						t.row(w.ID, orDash(w.Language), s.ID, s.InFlight, ms(s.ContactAgeMS)+" ago", contracts(s.Contracts))
					}
				}
			})
		},
	}
}

func contracts(all []wire.Contract) string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = fmt.Sprintf("%s@%d", c.Task, c.Version)
	}
	return strings.Join(names, " ")
}

func (c *cli) queues() *cobra.Command {
	return &cobra.Command{
		Use: "queues", Short: "List the task queues", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var l wire.QueueList
			if err := c.get(cmd, wire.Path("queues"), &l); err != nil {
				return err
			}
			return c.print(l, func(t *table) {
				t.row("CONTRACT", "QUEUED", "CLAIMED", "OLDEST", "WORKERS")
				for _, q := range l.Queues {
					t.row(fmt.Sprintf("%s@%d", q.Task, q.Version), q.Queued, q.Claimed, ms(q.OldestAgeMS), q.Workers)
				}
			})
		},
	}
}
