//go:build linux

package functions_test

import (
	"encoding/json"
	"strings"

	"github.com/orrery-dev/orrery/local/tap"
	"github.com/orrery-dev/orrery/shared/cron"
)

// tick invokes the scheduled function with its recorded event.
func (e *emulator) tick() (c cron.Counts) {
	e.t.Helper()
	if err := json.Unmarshal(e.invoke("cron", recorded(e.t, "cron")), &c); err != nil {
		e.t.Fatal(err)
	}
	return c
}

// ticks checks the scheduled function: with nothing due a tick is one statement without session state, and what is due is
// started by one tick, once.
func (e *emulator) ticks() {
	t := e.t
	t.Helper()
	e.tick() // it opens its connection, and makes partitions ahead
	e.tap.Drain()
	if c := e.tick(); c != (cron.Counts{}) {
		t.Errorf("with nothing due a tick has counted %+v", c)
	}
	if got := e.tap.Drain(); len(got) != 1 || got[0].Block || len(got[0].Statements) != 1 {
		t.Errorf("with nothing due a tick has sent more than a statement:%s", tap.Summary(got))
	}
	event := moved(recorded(t, "publish"), "POST", "/v1/schedules")
	event["body"] = `{"id":"tick","specs":["0 0 1 1 *"],"target":{"workflow":{"name":"orders"}}}`
	e.expect("a schedule", "publish", event, 201, "")
	event = moved(recorded(t, "start"), "POST", "/v1/schedules/tick/trigger")
	event["body"] = `{}`
	e.expect("a trigger", "start", event, 201, "")
	if c := e.tick(); c.Started != 1 || c.Failed != 0 {
		t.Errorf("with one occurrence due a tick has counted %+v", c)
	}
	if c := e.tick(); c != (cron.Counts{}) {
		t.Errorf("the next one has counted %+v", c)
	}
	list := string(e.invoke("query", moved(recorded(t, "query"), "GET", "/v1/schedules/tick/occurrences")))
	if strings.Count(list, `\"status\":`) != 1 || !strings.Contains(list, `\"status\":\"completed\"`) {
		t.Errorf("the occurrence: %s", list)
	}
}
