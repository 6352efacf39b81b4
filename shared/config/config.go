// Package config reads the settings of a process once, at its edge, into one struct. A setting has a flag, an
// environment variable and a default, all in one table; the flag goes before the variable. Every fault is reported
// together with the others, so that one start shows them all. Help is made from the same table.
package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"
)

// Config is what a process can be told.
type Config struct {
	// DatabaseURL may go through a transaction-mode pooler; DirectURL may not, because a node listens and holds locks
	// of a session on it.
	DatabaseURL string
	DirectURL   string
	// PoolSize is how many connections a node keeps to DatabaseURL. A function has one.
	PoolSize int

	// Listen is host:port. Insecure permits to listen beyond the loopback address without authentication.
	Listen   string
	Insecure bool
	// DebugListen is the loopback host:port that serves profiles; empty for none.
	DebugListen string
	// NodeID names the node over its restarts; Address is what others are shown for it.
	NodeID  string
	Address string

	NodeTimeout       time.Duration
	SessionTimeout    time.Duration
	HeartbeatInterval time.Duration

	// HTTPAllow and LambdaAllow list what the server itself may call; empty for nothing. A process that only publishes refuses
	// documents that use what is empty.
	HTTPAllow, LambdaAllow, S3Allow string
	// S3PathStyle is for servers of S3 that find the bucket in the path.
	S3PathStyle bool
	// ScheduleWorkers is how many direct targets of schedules a process runs at once. They are renewed with each
	// ScheduleHeartbeat, and lost after a ScheduleLease without.
	ScheduleWorkers                  int
	ScheduleLease, ScheduleHeartbeat time.Duration

	// Memory bounds what loaded executions take in a node, in bytes, about.
	Memory int64
	// MaxBody and MaxPayload are in bytes.
	MaxBody    int64
	MaxPayload int
	// HTTPConnections is the name of a file with what is added to requests. ServerTasks bounds the calls at once.
	HTTPConnections string
	ServerTasks     int
	// RequestTimeout bounds a request from its arrival to its answer.
	RequestTimeout time.Duration
	LogLevel       slog.Level
	// Restored is set when the database was restored from a backup.
	Restored bool
}

// Program is the kind of process that is set up; each reads its own settings and no others.
type Program int

const (
	Node Program = 1 << iota
	Function
	Migrate
	Cron
)

const everything = Node | Function | Migrate | Cron

// ErrHelp tells that --help was asked for; Load has written the help.
var ErrHelp = flag.ErrHelp

// Load reads the settings of a program from its arguments (without the program's name) and its environment. The error
// lists every fault, one to a line.
func Load(p Program, args []string, lookup func(string) (string, bool), help io.Writer) (Config, error) {
	var c Config
	flags := flag.NewFlagSet("orrery", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	given := map[string]string{}
	own := settingsOf(p)
	for _, s := range own {
		put := func(v string) error { given[s.flag] = v; return nil }
		if s.isBool {
			flags.BoolFunc(s.flag, s.help, put)
		} else {
			flags.Func(s.flag, s.help, put)
		}
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(help, Help(p))
		return c, errors.Join(ErrHelp, err)
	} else if err != nil {
		return c, fmt.Errorf("config: %w (--help lists the settings)", err)
	}
	var faults []error
	if flags.NArg() > 0 {
		faults = append(faults, fmt.Errorf("argument %q is not a setting", flags.Arg(0)))
	}
	for _, s := range own {
		if err := s.read(&c, given, lookup); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 {
		faults = c.complete(p)
	}
	if len(faults) > 0 {
		return Config{}, fmt.Errorf("config: %w", errors.Join(faults...))
	}
	return c, nil
}

// read takes the value of one setting: flag, variable, default.
func (s setting) read(c *Config, given map[string]string, lookup func(string) (string, bool)) error {
	value, from := s.def, ""
	if v, ok := lookup(s.env); ok && v != "" {
		value, from = v, s.env
	}
	if v, ok := given[s.flag]; ok {
		value, from = v, "--"+s.flag
	}
	switch {
	case value == "" && s.required:
		return fmt.Errorf("%s: must be set (or --%s)", s.env, s.flag)
	case value == "":
		return nil
	}
	if err := s.set(c, value); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return nil
}

// complete fills what follows from other settings, and checks them against each other.
func (c *Config) complete(p Program) []error {
	var faults []error
	if c.DirectURL == "" {
		c.DirectURL = c.DatabaseURL
	}
	if c.NodeID == "" && p == Node {
		name, err := os.Hostname()
		if err != nil {
			faults = append(faults, fmt.Errorf("ORRERY_NODE_ID: must be set, because the host has no name: %w", err))
		}
		c.NodeID = name
	}
	if c.Address == "" {
		c.Address = c.Listen
	}
	if c.HeartbeatInterval == 0 {
		c.HeartbeatInterval = c.SessionTimeout / 6
	}
	if c.ScheduleHeartbeat == 0 {
		c.ScheduleHeartbeat = c.ScheduleLease / 4
	}
	if c.ScheduleLease < 3*c.ScheduleHeartbeat {
		faults = append(faults, fmt.Errorf("ORRERY_SCHEDULE_LEASE: must be at least three times ORRERY_SCHEDULE_HEARTBEAT (%s)", c.ScheduleHeartbeat))
	}
	if c.SessionTimeout < 3*c.HeartbeatInterval {
		faults = append(faults, fmt.Errorf("ORRERY_SESSION_TIMEOUT: must be at least three times ORRERY_HEARTBEAT_INTERVAL (%s)", c.HeartbeatInterval))
	}
	if c.SessionTimeout < c.NodeTimeout {
		faults = append(faults, fmt.Errorf("ORRERY_SESSION_TIMEOUT: must be at least ORRERY_NODE_TIMEOUT (%s)", c.NodeTimeout))
	}
	if int64(c.MaxPayload) > c.MaxBody {
		faults = append(faults, fmt.Errorf("ORRERY_MAX_PAYLOAD: must not be more than ORRERY_MAX_BODY (%d)", c.MaxBody))
	}
	return faults
}

// Help lists the settings of a program.
func Help(p Program) string {
	var b strings.Builder
	b.WriteString("Settings: a flag goes before its environment variable.\n\n")
	for _, s := range settingsOf(p) {
		fmt.Fprintf(&b, "  --%-20s %-28s %s (%s)\n", s.flag, s.env, s.help, s.fallback())
	}
	return b.String()
}

// fallback says what holds where nothing is set.
func (s setting) fallback() string {
	switch {
	case s.required:
		return "required"
	case s.def == "":
		return s.derived
	}
	return s.def
}

// Page lists every setting, for the reference.
func Page() string {
	var b strings.Builder
	b.WriteString("| variable | flag | read by | default | what it sets |\n|---|---|---|---|---|\n")
	for _, s := range settings {
		fmt.Fprintf(&b, "| `%s` | `--%s` | %s | %s | %s |\n", s.env, s.flag, s.programs, s.fallback(), s.help)
	}
	return b.String()
}

// String names the programs of a set.
func (p Program) String() string {
	var names []string
	for _, one := range []struct {
		program Program
		name    string
	}{{Node, "node"}, {Function, "functions"}, {Cron, "cron"}, {Migrate, "migrate"}} {
		if p&one.program != 0 {
			names = append(names, one.name)
		}
	}
	return strings.Join(names, ", ")
}
