package main

import (
	"strings"
	"time"
)

// nightly is a schedule that the clock leaves alone while a test runs.
const nightly = `
# Definitions may be YAML.
id: nightly
title: Every New Year
specs: ["0 3 1 1 *"]
zone: America/New_York
target:
  workflow: {name: hello}
input: {to: Ada}
`

// schedules goes through every command of schedules, as a person and as a program.
func (c console) schedules() {
	c.t.Helper()
	const hello = `{"StartAt": "Hello", "States": {"Hello": {"Type": "Pass", "End": true}}}`
	if got, status := c.run(hello, "publish", "-", "--name", "hello"); status != 0 {
		c.t.Fatalf("publish: status %d: %s", status, got)
	}
	for _, want := range []string{"created", "was there already"} {
		if got, status := c.run(nightly, "schedules", "create"); status != 0 || !strings.HasPrefix(got, "nightly  active  "+want+"  next 20") {
			c.t.Fatalf("create: status %d: %s", status, got)
		}
	}
	c.people(0, []string{`SCHEDULE +STATUS +NEXT +RUNS +FAILURES +VERSION +TITLE`, `nightly +active +20.* 0 +0 +1 +Every New Year`}, "schedules", "list")
	c.people(0, []string{`INSTANT +LOCAL +ZONE +DUE +NOTE`, `20\d\d-01-01T08:00:00Z +20\d\d-01-01T03:00:00-05:00 +EST .*`}, "schedules", "preview", "nightly", "--count", "1")
	if got, status := c.run(strings.Replace(nightly, "0 3 1 1 *", "0 3 */2 1 *", 1), "schedules", "replace", "nightly"); status != 0 ||
		!strings.Contains(got, "version 2") || !strings.Contains(got, "warning: specs[0]") {
		c.t.Errorf("replace: status %d: %s", status, got)
	}
	c.people(0, []string{`nightly +paused +audit +next -`}, "schedules", "pause", "nightly", "--reason", "audit")
	c.people(0, []string{`paused +20.* audit`, `definition +version 2`, ` +"zone": "America/New_York",`}, "schedules", "show", "nightly")
	c.people(0, []string{`nightly +active .*`}, "schedules", "resume", "nightly", "--instants", "skip")
	c.occurrences()
	c.people(0, []string{`nightly +archived .*`}, "schedules", "archive", "nightly", "--reason", "over")
	c.people(0, []string{`AT +EVENT +DETAIL`, `.* archived +over, by anonymous, request .*`, `.* created +by anonymous.*`}, "schedules", "events", "nightly")
	c.people(2, []string{`orrery: .*unknown command "lst".*`}, "schedules", "lst")
	c.people(2, []string{`orrery: either an id or --file is needed.*`}, "schedules", "preview")
	if got, status := c.run("specs: [", "schedules", "create"); status != 2 || !strings.Contains(got, "neither JSON nor YAML") {
		c.t.Errorf("a broken definition: status %d: %s", status, got)
	}
	if got, status := c.run(`{"specs":["0 0 30 2 *"],"target":{"lambda":{"function":"f"}}}`, "schedules", "create"); status != 1 ||
		!strings.Contains(got, "(INVALID_SCHEDULE)") || !strings.Contains(got, "specs[0].day_of_month: impossible_date") {
		c.t.Errorf("an impossible date: status %d: %s", status, got)
	}
}

// occurrences triggers "nightly" and has its past made up for.
func (c console) occurrences() {
	c.t.Helper()
	number := c.program("id", "schedules", "trigger", "nightly", "--idempotency-key", "k", "--input", `{"to":"Bob"}`)
	c.people(0, []string{number + ` +\w+ +\(was there already\)`}, "schedules", "trigger", "nightly", "--idempotency-key", "k", "--input", `{"to":"Bob"}`)
	for range 1_000 {
		if c.program("status", "schedules", "show", "nightly", number) == "completed" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.people(0, []string{`status +completed.*`, `execution +nightly-m` + number, `try 1, attempt 1 +completed .*`}, "schedules", "show", "nightly", number)
	c.people(0, []string{`output +\{"to":"Bob"\}`}, "show", "nightly-m"+number)
	c.people(1, []string{`orrery: .*has ended \(SCHEDULE_STATE\)`}, "schedules", "cancel", "nightly", number)
	c.people(1, []string{`orrery: .*without success \(SCHEDULE_STATE\)`}, "schedules", "retry", "nightly", number)
	c.people(2, []string{`orrery: "x" is no number .*`}, "schedules", "retry", "nightly", "x")
	backfill := []string{"schedules", "backfill", "nightly", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-04T00:00:00Z"}
	c.people(0, []string{`2026-01-01T08:00:00Z`, `2 of 2 instants would get an occurrence; --yes makes them`}, backfill...)
	c.people(0, []string{`2026-01-03T08:00:00Z`, `2 of 2 instants have got an occurrence`}, append(backfill, "--yes")...)
	c.people(0, []string{`0 of 2 instants have got an occurrence`}, append(backfill, "--yes")...)
	c.people(0, []string{`OCCURRENCE +INSTANT +TRIGGER +STATUS +TRY .*`, `\d+ +2026-01-03T08:00:00Z +backfill .*`, number + ` .* manual +completed +1 .*`}, "schedules", "occurrences", "nightly")
	c.people(0, []string{number + ` .* manual .*`}, "schedules", "occurrences", "nightly", "--trigger", "manual")
}
