package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// cli is what all commands share.
type cli struct {
	client wire.Client
	json   bool
	out    io.Writer
	errs   io.Writer
	in     io.Reader
}

// print writes answer as JSON, or what people fills in as a table.
func (c *cli) print(answer any, people func(t *table)) error {
	if c.json {
		e := json.NewEncoder(c.out)
		e.SetEscapeHTML(false)
		return e.Encode(answer)
	}
	t := &table{w: tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)}
	people(t)
	return t.w.Flush()
}

// table aligns columns. What is printed may come from anybody, so control characters are shown, never sent.
type table struct{ w *tabwriter.Writer }

func (t *table) row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			io.WriteString(t.w, "\t")
		}
		io.WriteString(t.w, visible(fmt.Sprint(cell)))
	}
	io.WriteString(t.w, "\n")
}

// visible replaces control characters, which could move a terminal's cursor or colour.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '\ufffd'
		}
		return r
	}, s)
}

// compact shows a payload in one line of at most 100 characters.
func compact(payload json.RawMessage) string {
	if len(payload) == 0 {
		return "-"
	}
	var b bytes.Buffer
	if json.Compact(&b, payload) != nil {
		return "?"
	}
	text := []rune(b.String())
	if len(text) > 100 {
		return string(text[:99]) + "…"
	}
	return string(text)
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05.000")
}

func span(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return "-"
	}
	return to.Sub(from).Round(time.Millisecond).String()
}

func ms(n int64) string { return (time.Duration(n) * time.Millisecond).String() }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
