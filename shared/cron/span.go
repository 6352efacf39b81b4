package cron

import (
	"log/slog"
	"time"

	"github.com/orrery-dev/orrery/shared/telemetry"
)

// spanName is that of the span of an attempt.
const spanName = "schedule.attempt"

// traced records the span of an attempt that was started, when it is over for this process: at its start where that is an
// execution, at its end for a direct target. The span's identity is what the work has got and the ledger keeps. Whoever dies
// before records none; the ledger has the start all the same.
func (r *Runner) traced(a *attempt, status, fault string) {
	attributes := []slog.Attr{
		slog.Int64(telemetry.KeyOccurrence, int64(a.Occurrence)), slog.String(telemetry.KeySchedule, a.Name),
		slog.String(telemetry.KeyNamespace, a.NamespaceName), slog.Time(telemetry.KeyInstant, a.Instant),
		slog.Int(telemetry.KeyAttempt, a.Attempt), slog.Int(telemetry.KeyRetry, a.Retry),
		slog.String(telemetry.KeyClaimant, r.options.Claimant), slog.String(telemetry.KeyStatus, status),
	}
	if a.Token != 0 {
		attributes = append(attributes, slog.Int64(telemetry.KeyToken, a.Token))
	}
	if a.opening != nil {
		attributes = append(attributes, slog.String(telemetry.KeyExecution, a.executionName()))
	}
	r.options.Traces.Record(telemetry.Span{
		Name: spanName, Context: a.start.Context, Begun: a.sent, Ended: time.Now(), Attributes: attributes, Error: fault,
	})
}
