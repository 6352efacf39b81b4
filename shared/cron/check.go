package cron

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/schedule"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Bounds of a definition besides those of its timing.
const (
	MaxID         = 40 // the longest that leaves room for the instant in the name of an execution
	maxTitle      = 128
	maxKey        = 128
	maxSlots      = 64
	maxBuffer     = 1000
	maxRetries    = 100
	maxBackoff    = 24 * time.Hour
	maxPauseAfter = 1000
	maxTimeout    = 366 * 24 * time.Hour
	// maxDirect bounds the run of a direct target: its runner does nothing else with the room that it takes.
	maxDirect    = time.Hour
	minRetention = time.Minute
	maxURL       = 2048
	maxHeaders   = 32
	maxHeader    = 4096
	maxFunction  = 170
)

// Check makes the definition of what an author has written. What is wrong is told all together, as an *wire.Error of
// INVALID_SCHEDULE with a field and a code for each problem; what is dubious comes as warnings. An instant is in the future
// if it is after now. maxInput bounds the input, in bytes.
func Check(name string, w wire.ScheduleDefinition, now time.Time, maxInput int) (*Definition, []wire.Detail, error) {
	d := define(name, w)
	c := &checker{}
	c.id(name)
	c.text("title", w.Title, maxTitle)
	s, warnings, err := schedule.Check(name, d.Timing, now)
	if problems, ok := errors.AsType[schedule.Problems](err); ok {
		c.problems = append(c.problems, details(problems)...)
	}
	d.Schedule = s
	c.overlap(w.Overlap, d)
	c.retry(w.Retry, d)
	c.limits(d)
	c.target(d)
	c.input(d.Input, maxInput)
	if n := len(c.problems); n > 0 {
		return nil, nil, &wire.Error{Code: wire.InvalidSchedule, Message: fmt.Sprintf("the schedule has %d problems", n), Details: c.problems}
	}
	return d, details(warnings), nil
}

// wireNames are the fields that the API calls otherwise than package schedule.
var wireNames = map[string]string{
	"jitter": "jitter_ms", "start_deadline": "start_deadline_ms", "misfire.window": "misfire.window_ms",
	"misfire.grace": "misfire.grace_ms", "end": "end_at", "start": "start_at",
}

func details(ps schedule.Problems) []wire.Detail {
	var out []wire.Detail
	for _, p := range ps {
		field := p.Field
		if name, ok := wireNames[field]; ok {
			field = name
		}
		out = append(out, wire.Detail{Field: field, Rule: p.Code, Message: p.Message})
	}
	return out
}

// checker gathers problems.
type checker struct{ problems []wire.Detail }

func (c *checker) fault(field, code, format string, args ...any) {
	if len(c.problems) < schedule.MaxProblems {
		c.problems = append(c.problems, wire.Detail{Field: field, Rule: code, Message: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) id(id string) {
	wrong := strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	})
	if wrong || id == "" || len(id) > MaxID || id == "." || id == ".." {
		c.fault("id", schedule.CodeSyntax, "it has 1 to %d of A-Z, a-z, 0-9, '.', '_' and '-'", MaxID)
	}
}

// text checks a text for people, which may be empty.
func (c *checker) text(field, s string, most int) {
	switch {
	case utf8.RuneCountInString(s) > most:
		c.fault(field, schedule.CodeTooLong, "it has more than %d characters", most)
	case strings.ContainsFunc(s, unicode.IsControl):
		c.fault(field, schedule.CodeSyntax, "it has a control character")
	}
}

func (c *checker) word(field, word string, known ...string) {
	if !slices.Contains(known, word) {
		c.fault(field, schedule.CodeUnknown, "%.40q is none of %q", word, known)
	}
}

func (c *checker) number(field string, n, least, most int) {
	if n < least || n > most {
		c.fault(field, schedule.CodeOutOfRange, "it is from %d to %d", least, most)
	}
}

func (c *checker) span(field string, d, least, most time.Duration) {
	if d < least || d > most {
		c.fault(field, schedule.CodeOutOfRange, "it is from %v to %v", least, most)
	}
}

// unused refuses what has no meaning beside the policy, so that nobody relies on it.
func (c *checker) unused(field string, given bool, policy store.Overlap) {
	if given {
		c.fault(field, schedule.CodeUnknown, "it means nothing with %s", policy)
	}
}

func (c *checker) overlap(w *wire.ScheduleOverlap, d *Definition) {
	if w == nil {
		return
	}
	c.word("overlap.policy", string(d.Overlap), string(store.OverlapSkip), string(store.OverlapBufferOne), string(store.OverlapBufferAll),
		string(store.OverlapCancelOther), string(store.OverlapTerminateOther), string(store.OverlapAllow))
	allow := d.Overlap == store.OverlapAllow
	c.unused("overlap.key", allow && w.Key != "", d.Overlap)
	c.unused("overlap.slots", allow && w.Slots != 0, d.Overlap)
	c.unused("overlap.keep", d.Overlap != store.OverlapBufferOne && w.Keep != "", d.Overlap)
	c.unused("overlap.limit", d.Overlap != store.OverlapBufferAll && w.Limit != 0, d.Overlap)
	c.text("overlap.key", w.Key, maxKey)
	c.number("overlap.slots", d.Slots, 1, maxSlots)
	c.number("overlap.limit", d.Buffer, 1, maxBuffer)
	c.word("overlap.keep", w.Keep, "", "newest", "oldest")
}

func (c *checker) retry(w *wire.ScheduleRetry, d *Definition) {
	if w == nil {
		return
	}
	c.number("retry.attempts", d.Retries, 1, maxRetries)
	c.span("retry.backoff_ms", d.Backoff, time.Millisecond, maxBackoff)
	c.span("retry.max_backoff_ms", d.BackoffMost, max(d.Backoff, time.Millisecond), maxBackoff)
}

func (c *checker) limits(d *Definition) {
	c.number("pause_after", d.PauseAfter, 0, maxPauseAfter)
	c.word("on_resume", string(d.OnResume), string(schedule.ResumeSkip), string(schedule.ResumeLatest))
	most := maxTimeout
	if d.Direct() {
		most = maxDirect
	}
	c.span("timeout_ms", d.Timeout, time.Millisecond, most)
	c.span("retention_ms", d.Retention, minRetention, schedule.MaxDuration)
}

func (c *checker) alias(w *wire.WorkflowTarget) {
	if w.Alias == "" {
		return
	}
	if err := definition.CheckAlias(w.Alias); err != nil {
		c.fault("target.workflow.alias", schedule.CodeSyntax, "%v", err)
	}
	if w.Version != 0 {
		c.fault("target.workflow.alias", schedule.CodeSyntax, "it does not go with a version")
	}
}

func (c *checker) target(d *Definition) {
	t := d.Target
	given := 0
	if w := t.Workflow; w != nil {
		given++
		if err := definition.CheckName(w.Name); err != nil {
			c.fault("target.workflow.name", schedule.CodeSyntax, "%v", err)
		}
		c.number("target.workflow.version", count(w.Version), 0, 1<<31-1)
		c.alias(w)
	}
	if h := t.HTTP; h != nil {
		given++
		c.http(h)
	}
	if l := t.Lambda; l != nil {
		given++
		c.function("target.lambda.function", l.Function, 1)
		c.function("target.lambda.qualifier", l.Qualifier, 0)
	}
	if given != 1 {
		c.fault("target", schedule.CodeRequired, "it is one of workflow, http and lambda")
	}
}

// function checks a name of Lambda; what names a function is for Lambda to know.
func (c *checker) function(field, s string, least int) {
	c.number(field, len(s), least, maxFunction)
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		c.fault(field, schedule.CodeSyntax, "it has printable ASCII characters without blanks")
	}
}

func (c *checker) http(h *wire.HTTPTarget) {
	c.word("target.http.method", or(h.Method, http.MethodPost), http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete)
	switch u, err := url.Parse(h.URL); {
	case len(h.URL) > maxURL:
		c.fault("target.http.url", schedule.CodeTooLong, "it has more than %d bytes", maxURL)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		c.fault("target.http.url", schedule.CodeSyntax, "it is an absolute URL of http or https")
	case u.User != nil:
		c.fault("target.http.url", schedule.CodeSyntax, "it has no user and no password")
	}
	if len(h.Headers) > maxHeaders {
		c.fault("target.http.headers", schedule.CodeTooMany, "it has %d items, more than %d", len(h.Headers), maxHeaders)
		return
	}
	for i, x := range h.Headers {
		c.header(fmt.Sprintf("target.http.headers[%d]", i), x)
	}
}

// reserved are headers that the request has already, and those that are about the connection.
var reserved = []string{
	"Connection", "Content-Length", "Host", "Idempotency-Key", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te",
	"Traceparent", "Trailer", "Transfer-Encoding", "Upgrade",
}

func (c *checker) header(field string, h wire.HTTPHeader) {
	token := strings.ContainsFunc(h.Name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
	name := http.CanonicalHeaderKey(h.Name)
	switch {
	case token || h.Name == "" || len(h.Name) > 100:
		c.fault(field+".name", schedule.CodeSyntax, "it is no name of a header")
	case slices.Contains(reserved, name) || strings.HasPrefix(name, "Orrery-"):
		c.fault(field+".name", schedule.CodeUnknown, "%s is not for a schedule to set", name)
	}
	if len(h.Value) > maxHeader || strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		c.fault(field+".value", schedule.CodeSyntax, "it has up to %d bytes and no control characters", maxHeader)
	}
}

func (c *checker) input(text []byte, most int) {
	if len(text) > most {
		c.fault("input", schedule.CodeTooLong, "it has %d bytes, more than %d", len(text), most)
	}
	if text[0] != '{' {
		c.fault("input", schedule.CodeSyntax, "it is no object")
	}
}
