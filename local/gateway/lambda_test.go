//go:build linux

package gateway

import (
	"net/url"
	"testing"

	"github.com/orrery-dev/orrery/shared/builtin"
)

// TestLambdaCaller has the server's own caller of functions invoke one under the emulator: payload, answer, and what is said
// beside the payload. The emulator does not mark a failure, so that is with the tests of the caller.
func TestLambdaCaller(t *testing.T) {
	p := emulatedProbe(t, nil, Limits{Instances: 1}, quiet)
	if _, err := p.Invoke(t.Context(), []byte(`{"text":"up"}`)); err != nil {
		t.Fatal(err)
	}
	var endpoint *url.URL
	p.mu.Lock()
	for i := range p.live {
		endpoint, _ = url.Parse(i.(*emulated).url)
	}
	p.mu.Unlock()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_LAMBDA": "http://" + endpoint.Host, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key",
	} {
		t.Setenv(name, value)
	}
	l, err := builtin.NewLambda(t.Context(), "function") // as the emulator calls whatever it runs
	if err != nil {
		t.Fatal(err)
	}
	for payload, want := range map[string]string{`{"text":"done"}`: `"done"`, `{"custom":"Fencing-Token"}`: `"42"`} {
		answer, err := l.Invoke(t.Context(), "function", "", map[string]string{"Fencing-Token": "42"}, []byte(payload))
		if string(answer) != want || err != nil {
			t.Errorf("%s: got %s, %v", payload, answer, err)
		}
	}
}
