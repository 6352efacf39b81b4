package config

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// setting is one row of the table.
type setting struct {
	flag, env string
	// def is the default; derived says in words what it is where it follows from other settings.
	def, derived string
	required     bool
	isBool       bool
	programs     Program
	help         string
	set          func(*Config, string) error
}

// settings is the table: the defaults stand here and nowhere else.
var settings = []setting{
	{flag: "database-url", env: "DATABASE_URL", required: true, programs: everything,
		help: "PostgreSQL; may be a transaction-mode pooler",
		set:  text(func(c *Config) *string { return &c.DatabaseURL })},
	{flag: "database-direct-url", env: "DATABASE_DIRECT_URL", derived: "as DATABASE_URL", programs: Node | Migrate,
		help: "PostgreSQL without a pooler in between",
		set:  text(func(c *Config) *string { return &c.DirectURL })},
	{flag: "pool-size", env: "ORRERY_POOL_SIZE", def: "8", programs: Node,
		help: "connections to DATABASE_URL",
		set:  whole(func(c *Config) *int { return &c.PoolSize }, 2, 1000)},
	{flag: "listen", env: "ORRERY_LISTEN", def: "127.0.0.1:8080", programs: Node,
		help: "host:port of the API",
		set:  address(func(c *Config) *string { return &c.Listen })},
	{flag: "debug-listen", env: "ORRERY_DEBUG_LISTEN", derived: "off", programs: Node,
		help: "loopback host:port that serves profiles",
		set:  loopback(func(c *Config) *string { return &c.DebugListen })},
	{flag: "insecure", env: "ORRERY_INSECURE", def: "false", isBool: true, programs: Node,
		help: "listen beyond the loopback address without authentication",
		set:  boolean(func(c *Config) *bool { return &c.Insecure })},
	{flag: "node-id", env: "ORRERY_NODE_ID", derived: "the host's name", programs: Node,
		help: "names the node over its restarts; no two run under one id",
		set:  text(func(c *Config) *string { return &c.NodeID })},
	{flag: "address", env: "ORRERY_ADDRESS", derived: "as ORRERY_LISTEN", programs: Node,
		help: "host:port that others are shown for the node",
		set:  address(func(c *Config) *string { return &c.Address })},
	{flag: "node-timeout", env: "ORRERY_NODE_TIMEOUT", def: "5s", programs: Node | Function,
		help: "a node without a heartbeat for this long is dead",
		set:  span(func(c *Config) *time.Duration { return &c.NodeTimeout }, 100*time.Millisecond, time.Minute)},
	{flag: "session-timeout", env: "ORRERY_SESSION_TIMEOUT", def: "30s", programs: Node | Function,
		help: "a worker without contact for this long is lost",
		set:  span(func(c *Config) *time.Duration { return &c.SessionTimeout }, time.Second, time.Hour)},
	{flag: "heartbeat-interval", env: "ORRERY_HEARTBEAT_INTERVAL", derived: "a sixth of ORRERY_SESSION_TIMEOUT", programs: Node | Function,
		help: "how often a worker is told to send a heartbeat",
		set:  span(func(c *Config) *time.Duration { return &c.HeartbeatInterval }, 100*time.Millisecond, 10*time.Minute)},
	{flag: "memory", env: "ORRERY_MEMORY", def: "134217728", programs: Node,
		help: "bytes of memory for loaded executions, about",
		set:  whole(func(c *Config) *int64 { return &c.Memory }, 1<<20, 1<<40)},
	{flag: "http-allow", env: "ORRERY_HTTP_ALLOW", derived: "none", programs: Node | Function | Cron,
		help: "hosts and addresses that the server itself may call, with commas",
		set:  text(func(c *Config) *string { return &c.HTTPAllow })},
	{flag: "lambda-allow", env: "ORRERY_LAMBDA_ALLOW", derived: "none", programs: Node | Function | Cron,
		help: "names and ARNs of Lambda functions that the server itself may invoke, with commas; * is any text",
		set:  text(func(c *Config) *string { return &c.LambdaAllow })},
	{flag: "schedule-workers", env: "ORRERY_SCHEDULE_WORKERS", def: "8", programs: Node | Cron,
		help: "requests and functions of schedules that run here at once",
		set:  whole(func(c *Config) *int { return &c.ScheduleWorkers }, 1, 1000)},
	{flag: "schedule-lease", env: "ORRERY_SCHEDULE_LEASE", def: "1m", programs: Node | Cron,
		help: "a run of a schedule that was not renewed for this long is lost",
		set:  span(func(c *Config) *time.Duration { return &c.ScheduleLease }, 500*time.Millisecond, time.Hour)},
	{flag: "schedule-heartbeat", env: "ORRERY_SCHEDULE_HEARTBEAT", derived: "a quarter of ORRERY_SCHEDULE_LEASE", programs: Node | Cron,
		help: "how often runs of schedules are renewed",
		set:  span(func(c *Config) *time.Duration { return &c.ScheduleHeartbeat }, 50*time.Millisecond, 20*time.Minute)},
	{flag: "max-body", env: "ORRERY_MAX_BODY", def: "1048576", programs: Node | Function,
		help: "bytes of a request's body",
		set:  whole(func(c *Config) *int64 { return &c.MaxBody }, 1024, 64<<20)},
	{flag: "max-payload", env: "ORRERY_MAX_PAYLOAD", def: "262144", programs: Node | Function,
		help: "bytes of one input, output or signal",
		set:  whole(func(c *Config) *int { return &c.MaxPayload }, 1024, 64<<20)},
	{flag: "http-connections", env: "ORRERY_HTTP_CONNECTIONS", derived: "none", programs: Node,
		help: "file with the secrets of HTTP tasks, by connection",
		set:  text(func(c *Config) *string { return &c.HTTPConnections })},
	{flag: "s3-allow", env: "ORRERY_S3_ALLOW", derived: "none", programs: Node | Function,
		help: "buckets that a Map may read its items from and write its results to, * for any characters",
		set:  text(func(c *Config) *string { return &c.S3Allow })},
	{flag: "s3-path-style", env: "ORRERY_S3_PATH_STYLE", def: "false", isBool: true, programs: Node,
		help: "name the bucket in the path, as most servers want it that are not AWS's",
		set:  boolean(func(c *Config) *bool { return &c.S3PathStyle })},
	{flag: "server-tasks", env: "ORRERY_SERVER_TASKS", def: "100", programs: Node,
		help: "HTTP and Lambda tasks at once",
		set:  whole(func(c *Config) *int { return &c.ServerTasks }, 1, 800)},
	{flag: "request-timeout", env: "ORRERY_REQUEST_TIMEOUT", def: "30s", programs: Node | Function,
		help: "from a request's arrival to its answer",
		set:  span(func(c *Config) *time.Duration { return &c.RequestTimeout }, 21*time.Second, 15*time.Minute)},
	{flag: "restored", env: "ORRERY_RESTORED", def: "false", isBool: true, programs: Migrate,
		help: "the database was restored from a backup: fence every node, and refuse all task tokens",
		set:  boolean(func(c *Config) *bool { return &c.Restored })},
	{flag: "log-level", env: "ORRERY_LOG_LEVEL", def: "info", programs: everything,
		help: "debug, info, warn or error",
		set:  level},
}

func settingsOf(p Program) []setting {
	var own []setting
	for _, s := range settings {
		if s.programs&p != 0 {
			own = append(own, s)
		}
	}
	return own
}

func text(at func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		*at(c) = v
		return nil
	}
}

func address(at func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		_, port, err := net.SplitHostPort(v)
		if err != nil {
			return fmt.Errorf("%q must be host:port", v)
		}
		if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
			return fmt.Errorf("%q must have a port from 0 to 65535", v)
		}
		*at(c) = v
		return nil
	}
}

// loopback takes an address that only this machine reaches.
func loopback(at func(*Config) *string) func(*Config, string) error {
	set := address(at)
	return func(c *Config, v string) error {
		if err := set(c, v); err != nil {
			return err
		}
		host, _, _ := net.SplitHostPort(v) // address has read it
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return fmt.Errorf("%q must be a loopback address", v)
		}
		return nil
	}
}

func boolean(at func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return fmt.Errorf("%q must be true or false", v)
		}
		*at(c) = b
		return nil
	}
}

func whole[T int | int64](at func(*Config) *T, least, most T) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || T(n) < least || T(n) > most {
			return fmt.Errorf("%q must be a whole number from %d to %d", v, least, most)
		}
		*at(c) = T(n)
		return nil
	}
}

func span(at func(*Config) *time.Duration, least, most time.Duration) func(*Config, string) error {
	return func(c *Config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < least || d > most {
			return fmt.Errorf("%q must be a span such as 30s or 2m, from %s to %s", v, least, most)
		}
		*at(c) = d
		return nil
	}
}

func level(c *Config, v string) error {
	if err := c.LogLevel.UnmarshalText([]byte(strings.ToUpper(v))); err != nil {
		return errors.New("must be debug, info, warn or error")
	}
	return nil
}
