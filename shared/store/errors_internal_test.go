package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/orrery-dev/orrery/shared/history"
)

func pgError(code, severity, detail string) error {
	return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code, Severity: severity, SeverityUnlocalized: severity, Detail: detail})
}

// TestErrors reads each kind of failure as a commit, a write and a read do.
func TestErrors(t *testing.T) {
	items := []Item{
		{Partition: 3, Turn: &history.Turn{Execution: 7}},
		{Partition: 4, Turn: &history.Turn{Execution: 8}},
		{Partition: 3, Turn: &history.Turn{}, New: &NewExecution{}},
	}
	tests := []struct {
		what        string
		err         error
		kind        CommitKind
		named       []history.ExecutionID
		write, read error // sentinels; nil for the error itself
	}{
		{"not sent", notSent{io.EOF}, Unavailable, nil, ErrUnavailable, ErrUnavailable},
		{"broken", io.ErrUnexpectedEOF, Unknown, nil, ErrOutcomeUnknown, ErrUnavailable},
		{"deadline", context.DeadlineExceeded, Unknown, nil, ErrOutcomeUnknown, context.DeadlineExceeded},
		{"terminated", pgError("57P01", "FATAL", ""), Unknown, nil, ErrOutcomeUnknown, ErrUnavailable},
		{"statement time-out", pgError("57014", "ERROR", ""), Unavailable, nil, ErrUnavailable, ErrUnavailable},
		{"disk full", pgError("53100", "ERROR", ""), Unavailable, nil, ErrUnavailable, ErrUnavailable},
		{"deadlock", pgError("40P01", "ERROR", ""), Conflict, nil, ErrConflict, ErrConflict},
		{"serialisation", pgError("40001", "ERROR", ""), Conflict, nil, ErrConflict, ErrConflict},
		{"lock time-out", pgError("55P03", "ERROR", ""), Locked, nil, ErrConflict, ErrConflict},
		{"not UTF-8", pgError("22021", "ERROR", ""), Data, nil, ErrRefused, nil},
		{"constraint", pgError("23514", "ERROR", ""), Data, nil, ErrRefused, nil},
		{"too large", pgError("54000", "ERROR", ""), Data, nil, ErrRefused, nil},
		{"cached plan", pgError("0A000", "ERROR", ""), Unavailable, nil, ErrUnavailable, ErrUnavailable},
		{"fenced", pgError("OR001", "ERROR", ""), FenceLost, nil, ErrFenced, nil},
		{"epoch", pgError("OR002", "ERROR", "3"), FenceLost, []history.ExecutionID{7}, ErrConflict, nil},
		{"stale", pgError("OR003", "ERROR", "8,7"), Stale, []history.ExecutionID{8, 7}, ErrConflict, nil},
		{"report first", pgError("OR004", "ERROR", "8"), ReportFirst, []history.ExecutionID{8}, ErrConflict, nil},
		{"locked", pgError("OR005", "ERROR", "7"), Locked, []history.ExecutionID{7}, ErrConflict, nil},
		{"anything else", pgError("42501", "ERROR", ""), Unavailable, nil, nil, nil},
	}
	for _, test := range tests {
		got := commitError(test.err, items)
		if got.Kind != test.kind || !slices.Equal(got.Executions, test.named) || !errors.Is(got, test.err) || got.Error() == "" {
			t.Errorf("%s: commit %v, want %v of %v", test.what, got, test.kind, test.named)
		}
		if test.write != nil && !errors.Is(translateWrite(test.err), test.write) {
			t.Errorf("%s: write %v, want %v", test.what, translateWrite(test.err), test.write)
		}
		if test.read != nil && !errors.Is(translateRead(test.err), test.read) {
			t.Errorf("%s: read %v, want %v", test.what, translateRead(test.err), test.read)
		}
		if !errors.Is(translateWrite(test.err), test.err) || !errors.Is(translateRead(test.err), test.err) {
			t.Errorf("%s: the cause is lost", test.what)
		}
	}
	if ps := commitError(pgError("OR002", "ERROR", "3,9"), items).Partitions; !slices.Equal(ps, []history.Partition{3, 9}) {
		t.Errorf("partitions %v", ps)
	}
}
