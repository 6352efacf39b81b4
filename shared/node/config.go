package node

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// Config is what a node is told at its start. New fills in what is zero.
type Config struct {
	// ID names the node; it must be unique among running nodes.
	ID string
	// Address is where others reach it, for people and for health; empty for nowhere.
	Address string
	// NodeTimeout is the age of a heartbeat beyond which a node is dead; 5 s. All nodes must have the same.
	NodeTimeout time.Duration
	// Heartbeat is the time between two heartbeats; a fifth of NodeTimeout.
	Heartbeat time.Duration
	// SessionTimeout is how long a worker's session may be silent; 30 s. All processes must have the same.
	SessionTimeout time.Duration
	// Memory bounds what loaded executions take, in bytes, estimated; 128 MiB. What waits for its turn may exceed it.
	Memory int64
	// Idle is how long an execution with nothing to do stays loaded; 10 s.
	Idle time.Duration
	// Horizon is how far ahead wake-up times are kept in memory; 60 s.
	Horizon time.Duration
	// StopTimeout bounds a clean stop; 5 s.
	StopTimeout time.Duration
	// Behaviour is the highest level of decisions that the node announces; that of the build.
	Behaviour int
	Log       *slog.Logger
	// Metrics is where the node declares its own; a registry that nobody reads when nil.
	Metrics *telemetry.Metrics
}

const (
	minNodeTimeout = 100 * time.Millisecond
	maxNodeTimeout = time.Minute
)

func (c Config) withDefaults() (Config, error) {
	or := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	or(&c.NodeTimeout, 5*time.Second)
	or(&c.Heartbeat, c.NodeTimeout/5)
	or(&c.SessionTimeout, 30*time.Second)
	or(&c.Idle, 10*time.Second)
	or(&c.Horizon, time.Minute)
	or(&c.StopTimeout, 5*time.Second)
	if c.Memory == 0 {
		c.Memory = 128 << 20
	}
	if c.Behaviour == 0 {
		c.Behaviour = history.BehaviourLevel
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Metrics == nil {
		c.Metrics = telemetry.NewMetrics()
	}
	return c, c.check()
}

func (c Config) check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("node: "+format, args...)) }
	if c.ID == "" || len(c.ID) > 64 {
		fault("the id must have 1 to 64 characters, not %q", c.ID)
	}
	if c.NodeTimeout < minNodeTimeout || c.NodeTimeout > maxNodeTimeout {
		fault("the node timeout must be from %v to %v, not %v", minNodeTimeout, maxNodeTimeout, c.NodeTimeout)
	}
	// With fewer beats in a timeout, one that is late would count as a hole.
	if c.Heartbeat <= 0 || c.Heartbeat > c.NodeTimeout/4 {
		fault("the heartbeat must be at most a quarter of the node timeout, not %v", c.Heartbeat)
	}
	if c.SessionTimeout < c.NodeTimeout {
		fault("the session timeout must not be shorter than the node timeout, which %v is", c.SessionTimeout)
	}
	if c.Memory < 1<<20 {
		fault("the memory must be at least 1 MiB, not %d bytes", c.Memory)
	}
	return errors.Join(faults...)
}
