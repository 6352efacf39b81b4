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
	// Nodes are the live ones.
	Nodes []Node `json:"nodes"`
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
}
