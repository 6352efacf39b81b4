package worker

import (
	"strings"
	"testing"
)

// TestTokensAreCutForTheLog: whoever reads the log cannot report a task.
func TestTokensAreCutForTheLog(t *testing.T) {
	token := strings.Repeat("abcdefgh", 10)
	if got := short(token); !strings.HasPrefix(token, strings.TrimSuffix(got, "...")) || len(got) > len(token)/2 {
		t.Errorf("the log shows %q", got)
	}
	if got := short("short"); got != "..." {
		t.Errorf("of a short token the log shows %q", got)
	}
}
