package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/wire"
)

// definitionOf reads the definition of a schedule, in JSON or YAML, and gives its JSON. What is in it is for the server to
// judge.
func (c *cli) definitionOf(file string) (json.RawMessage, error) {
	text, err := c.readFile(file)
	if err != nil || json.Valid(text) {
		return text, err
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return nil, givenError{fmt.Errorf("%s is neither JSON nor YAML: %w", file, err)}
	}
	return text, nil
}

const aboutDefinitions = "FILE has a definition in JSON or YAML (- for the standard input); docs/schedules.md says what is in it."

func (c *cli) scheduleCreate() *cobra.Command {
	var file, key string
	cmd := &cobra.Command{
		Use: "create -f FILE", Short: "Create a schedule", Args: cobra.NoArgs,
		Long: "Create a schedule. " + aboutDefinitions + "\nThe same id and definition again change nothing.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := c.definitionOf(file)
			if err != nil {
				return err
			}
			var d wire.ScheduleDetail
			status, err := c.client.Call(cmd.Context(), http.MethodPost, wire.Path("schedules"), keyHeader(key), text, &d)
			if err != nil {
				return err
			}
			what := "created"
			if status == http.StatusOK {
				what = "was there already"
			}
			return c.print(d, func(t *table) { changedSchedule(t, d, what) })
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "-", "file with the definition")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "makes the call repeatable where the definition has no id")
	return cmd
}

func (c *cli) scheduleReplace() *cobra.Command {
	var file string
	var version int
	cmd := &cobra.Command{
		Use: "replace ID -f FILE", Short: "Give a schedule another definition", Args: cobra.ExactArgs(1),
		Long: "Give a schedule another definition. " + aboutDefinitions,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.definitionOf(file)
			if err != nil {
				return err
			}
			path := wire.Path("schedules", args[0])
			if version != 0 {
				path += "?version=" + strconv.Itoa(version)
			}
			var d wire.ScheduleDetail
			if _, err := c.client.Call(cmd.Context(), http.MethodPut, path, nil, text, &d); err != nil {
				return err
			}
			return c.print(d, func(t *table) { changedSchedule(t, d, fmt.Sprintf("version %d", d.Version)) })
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "-", "file with the definition")
	cmd.Flags().IntVar(&version, "version", 0, "only if this is the version of the definition now")
	return cmd
}

// changedSchedule tells how a schedule stands after a change, with what is dubious about its definition.
func changedSchedule(t *table, d wire.ScheduleDetail, what string) {
	t.row(d.ID, d.Status, what, "next "+clock(d.NextAt))
	for _, w := range d.Warnings {
		t.row("  warning: "+w.Field, w.Rule, w.Message)
	}
}

func (c *cli) scheduleList() *cobra.Command {
	var status string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List schedules by id", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{}
			if status != "" {
				q.Set("status", status)
			}
			all := wire.ScheduleList{Schedules: []wire.Schedule{}}
			err := c.paged(cmd, wire.Path("schedules"), q, limit, func() (any, func() (int, string)) {
				page := &wire.ScheduleList{}
				return page, func() (int, string) {
					all.Schedules = append(all.Schedules, page.Schedules...)
					return len(page.Schedules), page.Next
				}
			})
			if err != nil {
				return err
			}
			return c.print(all, func(t *table) {
				t.row("SCHEDULE", "STATUS", "NEXT", "RUNS", "FAILURES", "VERSION", "TITLE")
				for _, s := range all.Schedules {
					t.row(s.ID, s.Status, clock(s.NextAt), s.Runs, s.Failures, s.Version, s.Title)
				}
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only this status; without it all that are not archived")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many at most")
	return cmd
}

// paged reads pages until there are limit entries, or no more. fresh gives where a page goes, and what takes it in and tells
// its length and the next cursor.
func (c *cli) paged(cmd *cobra.Command, path string, q url.Values, limit int, fresh func() (any, func() (int, string))) error {
	for left := limit; left > 0; {
		q.Set("limit", strconv.Itoa(min(left, wire.MaxPage)))
		page, take := fresh()
		if err := c.get(cmd, path+"?"+q.Encode(), page); err != nil {
			return err
		}
		n, next := take()
		if next == "" {
			return nil
		}
		left -= n
		q.Set("cursor", next)
	}
	return nil
}

func (c *cli) scheduleShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID [OCCURRENCE]", Short: "Show a schedule, or one of its occurrences", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return c.showOccurrence(cmd, args[0], args[1])
			}
			var d wire.ScheduleDetail
			if err := c.get(cmd, wire.Path("schedules", args[0]), &d); err != nil {
				return err
			}
			return c.print(d, func(t *table) { showSchedule(t, d) })
		},
	}
}

func showSchedule(t *table, d wire.ScheduleDetail) {
	t.row("schedule", d.ID)
	t.row("title", d.Title)
	t.row("status", d.Status)
	if d.Status == wire.SchedulePaused {
		t.row("paused", clock(d.PausedAt), d.PauseReason)
	}
	t.row("next", clock(d.NextAt))
	t.row("planned to", clock(d.PlannedTo), "time zones "+d.Zones)
	t.row("runs", d.Runs, fmt.Sprintf("failures in a row: %d", d.Failures))
	t.row("created", clock(d.CreatedAt), "changed "+clock(d.UpdatedAt))
	definition, err := json.MarshalIndent(d.Definition, "", "  ")
	if err != nil {
		t.row("definition", err)
		return
	}
	t.row("definition", fmt.Sprintf("version %d", d.Version))
	for line := range strings.SplitSeq(string(definition), "\n") {
		t.row(line)
	}
}

func (c *cli) schedulePreview() *cobra.Command {
	var file, after string
	var count int
	cmd := &cobra.Command{
		Use: "preview ID | preview -f FILE", Short: "Show the next instants of a schedule, or of a definition that is not stored",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := c.previewed(cmd, args, file, after, count)
			if err != nil {
				return err
			}
			return c.print(p, func(t *table) {
				t.row("INSTANT", "LOCAL", "ZONE", "DUE", "NOTE")
				for _, i := range p.Instants {
					t.row(i.Instant.Format(time.RFC3339), i.Local, i.Zone, i.DueAt.Format(time.RFC3339Nano), i.Note)
				}
				for _, w := range p.Warnings {
					t.row("warning: "+w.Field, w.Rule, w.Message)
				}
			})
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "file with a definition, in place of an id")
	cmd.Flags().StringVar(&after, "after", "", "time after which the instants are, such as 2026-03-07T00:00:00Z; now when left out")
	cmd.Flags().IntVar(&count, "count", 10, "how many")
	return cmd
}

func (c *cli) previewed(cmd *cobra.Command, args []string, file, after string, count int) (p wire.Preview, err error) {
	if (len(args) == 1) == (file != "") {
		return p, usageError{fmt.Errorf("either an id or --file is needed")}
	}
	if file == "" {
		q := url.Values{"count": {strconv.Itoa(count)}}
		if after != "" {
			q.Set("after", after)
		}
		return p, c.get(cmd, wire.Path("schedules", args[0], "preview")+"?"+q.Encode(), &p)
	}
	text, err := c.definitionOf(file)
	if err != nil {
		return p, err
	}
	body := map[string]any{"definition": text, "count": count}
	if after != "" {
		body["after"] = after
	}
	_, err = c.client.Call(cmd.Context(), http.MethodPost, wire.Path("schedules", "preview"), nil, body, &p)
	return p, err
}

func (c *cli) schedulePause() *cobra.Command {
	var q wire.PauseRequest
	cmd := &cobra.Command{
		Use: "pause ID", Short: "Pause a schedule", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.changeSchedule(cmd, args[0], "pause", q) },
	}
	cmd.Flags().StringVar(&q.Reason, "reason", "", "why, for those who look")
	return cmd
}

func (c *cli) scheduleResume() *cobra.Command {
	var q wire.ResumeRequest
	cmd := &cobra.Command{
		Use: "resume ID", Short: "End a pause", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.changeSchedule(cmd, args[0], "resume", q) },
	}
	cmd.Flags().StringVar(&q.Instants, "instants", "", "what becomes of the instants of the pause: skip, latest; what the definition says when left out")
	return cmd
}

func (c *cli) scheduleArchive() *cobra.Command {
	var q wire.ArchiveRequest
	cmd := &cobra.Command{
		Use: "archive ID", Short: "End a schedule for ever", Args: cobra.ExactArgs(1),
		Long: "End a schedule for ever: what has not begun never does, what runs goes on to its end. Its id stays taken.",
		RunE: func(cmd *cobra.Command, args []string) error { return c.changeSchedule(cmd, args[0], "archive", q) },
	}
	cmd.Flags().StringVar(&q.Reason, "reason", "", "why, for those who look")
	return cmd
}

func (c *cli) changeSchedule(cmd *cobra.Command, id, change string, body any) error {
	var d wire.ScheduleDetail
	if _, err := c.client.Call(cmd.Context(), http.MethodPost, wire.Path("schedules", id, change), nil, body, &d); err != nil {
		return err
	}
	return c.print(d, func(t *table) { changedSchedule(t, d, d.PauseReason) })
}

func (c *cli) scheduleEvents() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "events ID", Short: "List what has happened to a schedule, newest first", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var l wire.ScheduleEventList
			if err := c.get(cmd, wire.Path("schedules", args[0], "events")+"?limit="+strconv.Itoa(limit), &l); err != nil {
				return err
			}
			return c.print(l, func(t *table) {
				t.row("AT", "EVENT", "DETAIL")
				for _, e := range l.Events {
					t.row(clock(e.At), e.Kind, e.Detail)
				}
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "how many at most")
	return cmd
}
