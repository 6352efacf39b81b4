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

// ScheduleStatus is how a schedule stands.
type ScheduleStatus string

const (
	ScheduleActive    ScheduleStatus = "active"
	SchedulePaused    ScheduleStatus = "paused"
	ScheduleCompleted ScheduleStatus = "completed" // there will be no more instants
	ScheduleArchived  ScheduleStatus = "archived"  // for ever
)

// Schedule is a schedule in a list.
type Schedule struct {
	ID     string         `json:"id"`
	Title  string         `json:"title"`
	Status ScheduleStatus `json:"status"`
	// Version numbers the definitions from 1.
	Version int `json:"version"`
	// NextAt is the next instant; absent while none is known. Runs counts the instants that have got an occurrence.
	NextAt time.Time `json:"next_at,omitzero"`
	Runs   int64     `json:"runs"`
	// Failures counts the occurrences in a row that have failed for good.
	Failures    int       `json:"failures"`
	PausedAt    time.Time `json:"paused_at,omitzero"`
	PauseReason string    `json:"pause_reason,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// ScheduleDetail answers GET /v1/schedules/{id}, and every call that changes a schedule: how it stands then.
type ScheduleDetail struct {
	Schedule
	Definition ScheduleDefinition `json:"definition"`
	// PlannedTo is the time up to which every instant is decided, Zones the version of the time zone database that NextAt was
	// found with.
	PlannedTo time.Time `json:"planned_to"`
	Zones     string    `json:"zones"`
	// Warnings are what is dubious about a definition that was sent with the request.
	Warnings []Detail `json:"warnings,omitempty"`
}

// ScheduleQuery is the query of GET /v1/schedules. Without a status the archived ones are left out.
type ScheduleQuery struct {
	Status ScheduleStatus `json:"status" check:"one=active paused completed archived"`
	// Limit is how many entries a page has at most, from 1 to 1000; 100 when left out.
	Limit int `json:"limit" check:"min=1,max=1000,default=100"`
	// Cursor is Next of the page before; left out for the first page.
	Cursor string `json:"cursor" check:"max=512"`
}

// ScheduleList answers GET /v1/schedules: by id.
type ScheduleList struct {
	Schedules []Schedule `json:"schedules"`
	// Next is the cursor of the next page; absent on the last.
	Next string `json:"next,omitempty"`
}

// SchedulePath is the path of the routes of one schedule.
type SchedulePath struct {
	ID string `json:"id" check:"required,id"`
}

// ReplaceQuery is the query of PUT /v1/schedules/{id}.
type ReplaceQuery struct {
	// Version refuses the replacement unless it is that of the definition now; left out, whatever is there is replaced.
	Version int `json:"version" check:"min=1,max=2147483647"`
}

// PreviewRequest is the body of POST /v1/schedules/preview: a definition that is not stored.
type PreviewRequest struct {
	Definition ScheduleDefinition `json:"definition" check:"required"`
	// After is the time after which the instants are; now when left out. Count is how many; 10.
	After time.Time `json:"after,omitzero"`
	Count int       `json:"count,omitempty" check:"min=1,max=1000,default=10"`
}

// PreviewQuery is the query of GET /v1/schedules/{id}/preview.
type PreviewQuery struct {
	// After is the time after which the instants are; now when left out. Count is how many; 10.
	After time.Time `json:"after"`
	Count int       `json:"count" check:"min=1,max=1000,default=10"`
}

// Preview answers both: the next instants of a schedule, whatever its state.
type Preview struct {
	Instants []PreviewInstant `json:"instants"`
	// Warnings are what is dubious about the definition of the request.
	Warnings []Detail `json:"warnings,omitempty"`
}

// PreviewInstant is one instant as people see it.
type PreviewInstant struct {
	Instant time.Time `json:"instant"`
	// Local is the same in the schedule's zone, with its offset, and Zone the abbreviation of the zone then.
	Local string `json:"local"`
	Zone  string `json:"zone"`
	// DueAt is later than the instant by the schedule's own part of the jitter.
	DueAt time.Time `json:"due_at"`
	// Mark is shifted, first_showing or second_showing where the clocks do something, and Note says what.
	Mark string `json:"mark,omitempty"`
	Note string `json:"note,omitempty"`
}

// PauseRequest is the body of POST /v1/schedules/{id}/pause.
type PauseRequest struct {
	Reason string `json:"reason,omitempty" check:"max=1024"`
}

// ResumeRequest is the body of POST /v1/schedules/{id}/resume.
type ResumeRequest struct {
	// Instants says what becomes of the instants of the pause: skip, or latest (the newest one runs); what the definition says
	// when left out.
	Instants string `json:"instants,omitempty" check:"one=skip latest"`
}

// ArchiveRequest is the body of POST /v1/schedules/{id}/archive. What runs goes on to its end, what has not begun never does.
type ArchiveRequest struct {
	Reason string `json:"reason,omitempty" check:"max=1024"`
}

// TriggerRequest is the body of POST /v1/schedules/{id}/trigger: an occurrence that is due now, whatever the clock says. An
// Idempotency-Key makes a repeat answer the occurrence that is there, for as long as it is kept.
type TriggerRequest struct {
	// Overlap is the policy of this occurrence; that of the schedule when left out.
	Overlap string `json:"overlap,omitempty" check:"one=skip buffer_one buffer_all cancel_other terminate_other allow"`
	// Input is an object in place of the schedule's.
	Input json.RawMessage `json:"input,omitempty" check:"payload"`
}

// MaxBackfill bounds the instants of one backfill.
const MaxBackfill = 1000

// BackfillRequest is the body of POST /v1/schedules/{id}/backfill: occurrences for the instants of a time that has passed
// which have none. They run one after the other, oldest first.
type BackfillRequest struct {
	From time.Time `json:"from" check:"required"` // included
	To   time.Time `json:"to" check:"required"`   // not included
	// Preview makes nothing, and tells what would be made.
	Preview bool `json:"preview,omitempty"`
	// Slots is how many run at a time where the schedule's runs may overlap; 1. Else its key says that.
	Slots int `json:"slots,omitempty" check:"min=1,max=64,default=1"`
}

// BackfillResponse answers a BackfillRequest.
type BackfillResponse struct {
	// All counts the instants of the range. Instants are those of them that have got an occurrence by the request, or would get
	// one; the others have one already.
	All      int64       `json:"all"`
	Instants []time.Time `json:"instants"`
}

// EventQuery is the query of GET /v1/schedules/{id}/events.
type EventQuery struct {
	// Limit is how many events there are at most, from 1 to 1000; 100 when left out.
	Limit int `json:"limit" check:"min=1,max=1000,default=100"`
}

// ScheduleEventList answers GET /v1/schedules/{id}/events: newest first.
type ScheduleEventList struct {
	Events []ScheduleEvent `json:"events"`
}

// ScheduleEvent is one thing that has happened to a schedule.
type ScheduleEvent struct {
	At time.Time `json:"at"`
	// Kind is created, replaced, paused, resumed, completed, archived, replanned (another time zone database has moved the
	// next instant) or overrun (the buffer was full).
	Kind   string `json:"kind"`
	Detail string `json:"detail,omitempty"`
}
