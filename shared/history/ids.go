package history

import "time"

// The ids are distinct types so that the compiler refuses a partition where an epoch is meant.
type (
	// ExecutionID is the internal number of an execution. Clients see the name, which is unique in its namespace.
	ExecutionID int64
	// DefinitionID is the internal number of one published version of a workflow.
	DefinitionID int64
	// NamespaceID is the internal number of a namespace.
	NamespaceID int32
	// Partition is one of the fixed number of parts (256 unless chosen otherwise when the database is initialised)
	// over which executions are spread. An execution never changes its partition.
	Partition int16
	// Epoch counts the changes of owner of one partition.
	Epoch int64
	// FenceNumber identifies one incarnation of a node: the database hands out each number once.
	FenceNumber int64
	// TaskID is the internal number of a row in the task queue: one offer of one attempt of one unit.
	TaskID int64
	// InboxID is the internal number of an inbox entry. Numbers are not commit order.
	InboxID int64
	// Seq numbers the turns of an execution: 1, 2, 3, ...
	Seq int32
	// EventID numbers the events of an execution: 1, 2, 3, ... over all its turns.
	EventID int64
	// ScheduleID is the internal number of a schedule, OccurrenceID that of one of its occurrences.
	ScheduleID   int64
	OccurrenceID int64
	// UnitKey names one schedulable thing inside an execution: the path of state names with indexes, such as
	// "Ship[3]/Pack"; a state that is visited again in the same scope gets "#2", "#3", ...
	UnitKey string
)

// Time is an instant in milliseconds since 1970-01-01T00:00:00Z by the database's clock. The zero value means none.
type Time int64

// TimeOf converts a wall-clock instant; the fraction below a millisecond is dropped.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Time gives the instant as a time.Time in UTC, and the zero time.Time for no instant.
func (t Time) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// Add moves the instant by d; a fraction of a millisecond is rounded up, so that nothing fires early.
func (t Time) Add(d time.Duration) Time {
	return t + Time((d+time.Millisecond-1)/time.Millisecond)
}

// Sub gives the span from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// Contract names what a worker promises to do: a task and its version.
type Contract struct {
	Task    string
	Version int
}
