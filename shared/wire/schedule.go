package wire

import (
	"encoding/json"
	"time"
)

// ScheduleDefinition is what the author of a schedule writes: the body of POST /v1/schedules and PUT /v1/schedules/{id}. A
// field that is left out has its default. Its values are checked as a whole, and every problem is named with its field and
// its code.
type ScheduleDefinition struct {
	// ID names the schedule for ever: 1 to 40 of A-Z, a-z, 0-9, '.', '_' and '-'. The names of its executions begin with it. A
	// PUT has it in its path; a POST that leaves it out gets a new one.
	ID string `json:"id,omitempty"`
	// Title is for people, and may change; the id when left out.
	Title string `json:"title,omitempty"`

	// Specs say when: cron in the dialect ("30 2 * * 1-5"), a macro ("@daily"), an interval ("every 90s anchor
	// 2026-01-01T00:00:00Z") or one time ("at 2026-11-01T01:30"). Up to 16; an instant of any of them counts, once.
	Specs []string `json:"specs"`
	// Exclude are up to 64 texts, cron or days such as 2026-12-25, whose times do not count.
	Exclude []string `json:"exclude,omitempty"`
	// Dialect is unix (5 fields, the default), seconds (6), year (7), quartz (6 or 7, weekdays from 1 for Sunday) or vixie.
	Dialect string `json:"dialect,omitempty"`
	// Zone is a name of the time zone database; UTC.
	Zone string `json:"zone,omitempty"`
	// DayMatch says which days count where both day fields are restricted: or (the default), and.
	DayMatch string `json:"day_match,omitempty"`
	// Gap says what becomes of times that the clocks leave out: shift (the default), skip. Repeat, of those that they show
	// twice: first (the default), both.
	Gap    string `json:"gap,omitempty"`
	Repeat string `json:"repeat,omitempty"`
	// StartAt is included, EndAt is not. Limit is a number of runs, 0 for no limit.
	StartAt time.Time `json:"start_at,omitzero"`
	EndAt   time.Time `json:"end_at,omitzero"`
	Limit   int64     `json:"limit,omitempty"`
	// JitterMS starts each run later by an offset of the schedule's own, in [0, jitter).
	JitterMS int64 `json:"jitter_ms,omitempty"`

	Misfire *ScheduleMisfire `json:"misfire,omitempty"`
	// StartDeadlineMS is how long after it is due an occurrence may still start; without it for ever.
	StartDeadlineMS int64            `json:"start_deadline_ms,omitempty"`
	Overlap         *ScheduleOverlap `json:"overlap,omitempty"`
	Retry           *ScheduleRetry   `json:"retry,omitempty"`
	// PauseAfter pauses the schedule after so many failures in a row; 0 never does. OnResume says what becomes of the instants
	// of a pause: skip (the default), latest.
	PauseAfter int64  `json:"pause_after,omitempty"`
	OnResume   string `json:"on_resume,omitempty"`
	// TimeoutMS bounds one run; 1 h.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// RetentionMS is how long occurrences are kept that have ended; 30 days.
	RetentionMS int64 `json:"retention_ms,omitempty"`

	Target ScheduleTarget `json:"target"`
	// Input is what each run gets, a JSON object; {} when left out.
	Input json.RawMessage `json:"input,omitempty"`
}

// ScheduleMisfire says what becomes of instants that were not planned in time, be it because nothing was running.
type ScheduleMisfire struct {
	// Policy is none, latest (the default: the newest one stands for all) or all (the oldest ones, up to Max).
	Policy string `json:"policy,omitempty"`
	Max    int64  `json:"max,omitempty"` // 100
	// WindowMS is how late an instant may be and still run; without it as late as it likes. GraceMS is how late it may be and
	// still count as in time; 5 s.
	WindowMS int64 `json:"window_ms,omitempty"`
	GraceMS  int64 `json:"grace_ms,omitempty"`
}

// ScheduleOverlap says what an occurrence does while another run holds the same key.
type ScheduleOverlap struct {
	// Policy is skip (the default), buffer_one, buffer_all, cancel_other, terminate_other or allow.
	Policy string `json:"policy,omitempty"`
	// Key may be shared by schedules; the schedule's id when left out. Slots is how many runs may hold it at a time, 1 to 64; 1.
	Key   string `json:"key,omitempty"`
	Slots int64  `json:"slots,omitempty"`
	// Keep is for buffer_one: newest (the default), oldest. Limit is for buffer_all: how many may wait; 100.
	Keep  string `json:"keep,omitempty"`
	Limit int64  `json:"limit,omitempty"`
}

// ScheduleRetry tries failed runs again.
type ScheduleRetry struct {
	// Attempts is how many tries may follow the first one.
	Attempts int64 `json:"attempts"`
	// BackoffMS is the pause before the first of them (10 s), which doubles from one to the next, up to MaxBackoffMS (1 h).
	BackoffMS    int64 `json:"backoff_ms,omitempty"`
	MaxBackoffMS int64 `json:"max_backoff_ms,omitempty"`
}

// ScheduleTarget is what runs: one of a workflow, an HTTP request and a Lambda function.
type ScheduleTarget struct {
	Workflow *WorkflowTarget `json:"workflow,omitempty"`
	HTTP     *HTTPTarget     `json:"http,omitempty"`
	Lambda   *LambdaTarget   `json:"lambda,omitempty"`
}

// WorkflowTarget starts an execution, whose end is that of the run.
type WorkflowTarget struct {
	Name string `json:"name"`
	// Version pins a version; left out, it is the newest when the occurrence is first started.
	Version int64 `json:"version,omitempty"`
	// Alias takes the version that an alias has for the occurrence when it is first started. It does not go with Version.
	Alias string `json:"alias,omitempty"`
}

// HTTPTarget makes a request whose body is the input. An answer with a status from 200 to 299 is success. The host must be allowed
// by the server's settings.
type HTTPTarget struct {
	Method  string       `json:"method,omitempty"` // POST
	URL     string       `json:"url"`
	Headers []HTTPHeader `json:"headers,omitempty"`
}

// HTTPHeader is one header of a request.
type HTTPHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// LambdaTarget invokes a function with the input and waits for its answer. The function must be allowed by the server's
// settings.
type LambdaTarget struct {
	Function  string `json:"function"` // name or ARN
	Qualifier string `json:"qualifier,omitempty"`
}
