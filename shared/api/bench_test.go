package api_test

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/auth"
)

// BenchmarkComplete measures what the surface adds to a report: reading, checking, answering, logging.
func BenchmarkComplete(b *testing.B) {
	s := &stub{}
	h := api.New(api.Services{Tasks: s}, api.Options{
		Authenticator: auth.Open{}, Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20, MaxPayload: 256 << 10, Deadline: time.Minute,
	})
	body := `{"reports":[{"token":"` + strings.Repeat("A", 120) + `","output":{"paid":true,"amount":10.5}}],"session_id":"s"}`
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/tasks/complete", strings.NewReader(body)))
		s.calls = s.calls[:0]
	}
}
