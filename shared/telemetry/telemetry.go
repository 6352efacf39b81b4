// Package telemetry sets up the log, holds the list of its keys, and serves the profiles of a process.
//
// The log is slog in JSON, a line per entry. A message is constant; what varies is an attribute under one of the keys
// below, so that a search for a key finds every entry about its subject. An error is returned or logged, not both.
package telemetry

import (
	"io"
	"log/slog"
	"runtime/debug"
	"time"
)

// The keys. A new one is added here, and nowhere else.
const (
	KeyAddress     = "address"
	KeyAge         = "age_ms"
	KeyAttempt     = "attempt"
	KeyClaimant    = "claimant"
	KeyCode        = "code"
	KeyCount       = "count"
	KeyDuration    = "duration_ms"
	KeyEpoch       = "epoch"
	KeyError       = "error"
	KeyExecution   = "execution"
	KeyFunction    = "function"
	KeyIncarnation = "incarnation"
	KeyInstant     = "instant"
	KeyLine        = "line"
	KeyMethod      = "method"
	KeyNamespace   = "namespace"
	KeyNode        = "node"
	KeyOccurrence  = "occurrence"
	KeyPartition   = "partition"
	KeyPrincipal   = "principal"
	KeyReason      = "reason"
	KeyRequest     = "request_id"
	KeyRetry       = "retry"
	KeyRole        = "role"
	KeyRoute       = "route"
	KeySchedule    = "schedule"
	KeySession     = "session"
	KeyStack       = "stack"
	KeyStatus      = "status"
	KeyToken       = "fencing_token"
	KeyUnit        = "unit"
	KeyVersion     = "version"
	KeyWorker      = "worker"
)

// NewLogger writes entries at or above level to w. Spans of time are written as milliseconds with three digits of
// fraction, whatever their size.
func NewLogger(w io.Writer, level slog.Leveler, attrs ...slog.Attr) *slog.Logger {
	h := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: milliseconds})
	return slog.New(h.WithAttrs(attrs))
}

func milliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key, float64(a.Value.Duration().Round(time.Microsecond).Microseconds())/1000)
	}
	return a
}

// Version is that of the build: the module's, or the revision that it was built from; "unknown" for neither.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && info.Main.Version == "(devel)" {
			return s.Value
		}
	}
	if info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
