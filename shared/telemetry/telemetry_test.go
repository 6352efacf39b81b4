package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/telemetry"
)

func TestLoggerWritesMillisecondsAndConstantAttributes(t *testing.T) {
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, slog.LevelInfo, slog.String(telemetry.KeyNode, "n1"))
	log.Debug("below the level")
	log.Info("request", telemetry.KeyDuration, 1500*time.Microsecond, telemetry.KeyStatus, 200)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("want one line of JSON, got %q: %v", out.String(), err)
	}
	delete(line, "time")
	want := map[string]any{"level": "INFO", "msg": "request", "node": "n1", "duration_ms": 1.5, "status": 200.0}
	for k, v := range want {
		if line[k] != v {
			t.Errorf("%s = %v, want %v", k, line[k], v)
		}
	}
	if len(line) != len(want) {
		t.Errorf("line has %d attributes, want %d: %v", len(line), len(want), line)
	}
}
