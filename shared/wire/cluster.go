package wire

import "time"

// QueueList answers GET /v1/queues: one entry per contract that has rows or workers.
type QueueList struct {
	Queues []Queue `json:"queues"`
}

// Queue is the state of one contract.
type Queue struct {
	Task    string `json:"task"`
	Version int    `json:"version"`
	Queued  int64  `json:"queued"`
	Claimed int64  `json:"claimed"`
	// OldestAgeMS is the age of the oldest queued task, zero without one.
	OldestAgeMS int64 `json:"oldest_age_ms"`
	// Workers is how many live sessions announce the contract.
	Workers int64 `json:"workers"`
}

// WorkerList answers GET /v1/workers: by worker id.
type WorkerList struct {
	Workers []Worker `json:"workers"`
}

// Worker is a worker with its sessions.
type Worker struct {
	ID       string          `json:"id"`
	Language string          `json:"language,omitempty"`
	Sessions []WorkerSession `json:"sessions"`
}

// WorkerSession is one live session of a worker.
type WorkerSession struct {
	ID           string     `json:"id"`
	Contracts    []Contract `json:"contracts"`
	RegisteredAt time.Time  `json:"registered_at"`
	// ContactAgeMS is the time since the session was last heard of.
	ContactAgeMS int64 `json:"contact_age_ms"`
	// InFlight is how many attempts it holds.
	InFlight int64 `json:"in_flight"`
}

// NodeList answers GET /v1/nodes: by id.
type NodeList struct {
	Nodes []Node `json:"nodes"`
}

// Node is a running node.
type Node struct {
	ID             string    `json:"id"`
	Incarnation    string    `json:"incarnation"`
	Address        string    `json:"address,omitempty"`
	StartedAt      time.Time `json:"started_at"`
	HeartbeatAgeMS int64     `json:"heartbeat_age_ms"`
	// Live is false when the heartbeat is older than the node timeout.
	Live bool `json:"live"`
	// Behaviour is the level of decisions that the node can make.
	Behaviour  int `json:"behaviour"`
	Partitions int `json:"partitions"`
}

// PartitionList answers GET /v1/partitions: by number.
type PartitionList struct {
	Partitions []Partition `json:"partitions"`
}

// Partition is one part of the executions.
type Partition struct {
	Partition int   `json:"partition"`
	Epoch     int64 `json:"epoch"`
	// Owner is absent while no node owns the partition.
	Owner *Owner `json:"owner,omitempty"`
}

// Role says what kind of process answered.
type Role string

const (
	RoleNode     Role = "node"
	RoleFunction Role = "function"
)

// Health answers GET /v1/health, always with 200. On a node it also answers GET /v1/ready, with 200 or 503.
type Health struct {
	Role Role `json:"role"`
	// Ready tells whether the process does its work: on a node as /v1/ready says, in a function whether any node is live.
	Ready bool `json:"ready"`
	// Reason says why it is not ready; absent when it is.
	Reason string `json:"reason,omitempty"`
	// Version is the build's.
	Version string `json:"version,omitempty"`
	// Node is absent in a function.
	Node *NodeHealth `json:"node,omitempty"`
	// QueueDepth is how many tasks wait for a worker, InboxDepth how many entries wait for their owner.
	QueueDepth int64 `json:"queue_depth"`
	InboxDepth int64 `json:"inbox_depth"`
	// InboxOldestAgeMS is the age of the oldest entry that is not applied.
	InboxOldestAgeMS int64 `json:"inbox_oldest_age_ms"`
	// Schedules tells how their work stands.
	Schedules ScheduleHealth `json:"schedules"`
	// Nodes are the live ones.
	Nodes []Node `json:"nodes"`
}

// ScheduleHealth is how the work of schedules stands; each count goes as far as 10,000.
type ScheduleHealth struct {
	// Due counts the occurrences that may start now, and OldestAgeMS is the age of the oldest of them. Buffered wait for their
	// keys.
	Due         int64 `json:"due"`
	OldestAgeMS int64 `json:"oldest_age_ms"`
	Buffered    int64 `json:"buffered"`
	// DeadLetters are occurrences whose tries are used up, until somebody has looked.
	DeadLetters int64 `json:"dead_letters"`
}

// SchedulerHealth is what a node says of its own part in that. The counts are since its start.
type SchedulerHealth struct {
	// Running direct targets have Workers places.
	Running int `json:"running"`
	Workers int `json:"workers"`
	// PlannedAgeMS and ClaimedAgeMS are the times since planning and claiming last went well; -1 for never.
	PlannedAgeMS int64 `json:"planned_age_ms"`
	ClaimedAgeMS int64 `json:"claimed_age_ms"`
	Planned      int64 `json:"planned"`
	Started      int64 `json:"started"`
	// Completed and Failed count direct targets, and what was refused.
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Deferred  int64 `json:"deferred"`
	Missed    int64 `json:"missed"`
	// Contended found their keys held: they were Buffered, Skipped, or skipped because the buffer was full (Overrun).
	Contended int64 `json:"contended"`
	Buffered  int64 `json:"buffered"`
	Skipped   int64 `json:"skipped"`
	Overrun   int64 `json:"overrun"`
	// Misfired are instants that nobody planned in time and that do not run.
	Misfired int64 `json:"misfired"`
	// Lost are runs whose end does not count, because their lease was over.
	Lost            int64 `json:"lost"`
	RenewalFailures int64 `json:"renewal_failures"`
	// Faults say what does not work now.
	Faults []string `json:"faults"`
}

// NodeHealth is what a node says of itself.
type NodeHealth struct {
	ID          string `json:"id"`
	Incarnation string `json:"incarnation"`
	// Partitions and Executions count what it owns, Loaded what it has in memory.
	Partitions int   `json:"partitions"`
	Executions int64 `json:"executions"`
	Loaded     int   `json:"loaded"`
	// Claimed counts the tasks of its partitions that workers hold.
	Claimed int64 `json:"claimed"`
	// HeartbeatAgeMS is the time since its last confirmed heartbeat was sent.
	HeartbeatAgeMS int64 `json:"heartbeat_age_ms"`
	// Scheduler is absent on a node that leaves schedules to others.
	Scheduler *SchedulerHealth `json:"scheduler,omitempty"`
}
