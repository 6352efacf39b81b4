package builtin_test

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/orrery-dev/orrery/shared/builtin"
)

// lambdaCaller calls a server in the place of Lambda.
func lambdaCaller(t *testing.T, endpoint, list string) *builtin.Lambda {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_LAMBDA": endpoint, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key",
	} {
		t.Setenv(name, value)
	}
	l, err := builtin.NewLambda(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestInvoke(t *testing.T) {
	calls := 0
	base, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		payload, _ := io.ReadAll(r.Body)
		about, _ := base64.StdEncoding.DecodeString(r.Header.Get("X-Amz-Client-Context"))
		switch r.URL.Path {
		case "/2015-03-31/functions/job-fine/invocations":
			if string(payload) != `{"a":1}` || string(about) != `{"custom":{"Token":"7"}}` || r.URL.Query().Get("Qualifier") != "live" {
				t.Errorf("payload %s, context %s, query %s", payload, about, r.URL.RawQuery)
			}
			io.WriteString(w, `"done"`)
		case "/2015-03-31/functions/job-failed/invocations":
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			io.WriteString(w, `{"errorType":"Boom","errorMessage":"it broke"}`)
		default:
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	l := lambdaCaller(t, base, "job-*")
	answer, err := l.Invoke(t.Context(), "job-fine", "live", map[string]string{"Token": "7"}, []byte(`{"a":1}`))
	if string(answer) != `"done"` || err != nil {
		t.Errorf("got %s, %v", answer, err)
	}
	var failed *builtin.FunctionError
	if _, err := l.Invoke(t.Context(), "job-failed", "", nil, nil); !errors.As(err, &failed) || failed.Error() != "Boom: it broke" {
		t.Errorf("a failed function: %v", err)
	}
	if _, err := l.Invoke(t.Context(), "other", "", nil, nil); !errors.Is(err, builtin.ErrForbidden) {
		t.Errorf("a function that is not allowed: %v", err)
	}
	if calls != 2 {
		t.Fatalf("%d calls", calls)
	}
	// A call is not repeated by itself.
	if _, err := l.Invoke(t.Context(), "job-throttled", "", nil, nil); err == nil || calls != 3 {
		t.Errorf("a throttled function: %v after %d calls", err, calls)
	}
}
