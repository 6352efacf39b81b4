package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/builtin"
)

func caller(t *testing.T, list string) *builtin.HTTP {
	t.Helper()
	a, err := builtin.ParseAllow(list)
	if err != nil {
		t.Fatal(err)
	}
	return builtin.NewHTTP(a)
}

// serve runs a server on the loopback address and gives its URL and its host with port.
func serve(t *testing.T, h http.HandlerFunc) (string, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return s.URL, u.Host
}

func TestNothingIsAllowedAtFirst(t *testing.T) {
	if builtin.NewHTTP(builtin.Allow{}) != nil {
		t.Error("there is a caller to whom nothing is allowed")
	}
	if l, err := builtin.NewLambda(t.Context(), " , "); l != nil || err != nil {
		t.Errorf("there is a caller of no function: %v, %v", l, err)
	}
}

func TestCall(t *testing.T) {
	base, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("X-Key"), body)
	})
	h := caller(t, host)
	status, answer, err := h.Call(t.Context(), "PUT", base+"/x", http.Header{"x-key": {"k"}}, []byte(`{"a":1}`))
	if status != 202 || string(answer) != `PUT /x k {"a":1}` || err != nil {
		t.Errorf("got %d %s, %v", status, answer, err)
	}
	if _, _, err := h.Call(t.Context(), "GET", "http://127.0.0.1:1/", nil, nil); !errors.Is(err, builtin.ErrForbidden) {
		t.Errorf("another port: %v", err)
	}
}

// A name that is allowed and leads to an address that is not public is refused when the connection is made.
func TestNameOfLoopbackAddress(t *testing.T) {
	base, host := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") })
	named := strings.Replace(base, "127.0.0.1", "localhost", 1)
	if _, _, err := caller(t, "localhost:*").Call(t.Context(), "GET", named, nil, nil); !errors.Is(err, builtin.ErrForbidden) {
		t.Errorf("got %v", err)
	}
	if _, _, err := caller(t, "*").Call(t.Context(), "GET", "http://127.0.0.1", nil, nil); !errors.Is(err, builtin.ErrForbidden) {
		t.Errorf("an address that no entry names, of %s: %v", host, err)
	}
}

func TestRedirects(t *testing.T) {
	var other string
	target, targetHost := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%q %q", r.Header.Get("X-Secret"), r.Header.Get("Idempotency-Key"))
	})
	base, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/other":
			http.Redirect(w, r, other, http.StatusTemporaryRedirect)
		case "/here":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/end":
			fmt.Fprintf(w, "%q", r.Header.Get("X-Secret"))
		}
	})
	header := http.Header{"X-Secret": {"s"}, "Idempotency-Key": {"i"}}
	both := caller(t, host+","+targetHost)
	for _, tt := range []struct {
		h          *builtin.HTTP
		path, goes string
		want       string
		err        error
	}{
		{both, "/here", "", `"s"`, nil},
		{both, "/other", target, `"" "i"`, nil},
		{caller(t, host), "/other", target, "", builtin.ErrForbidden},
		{both, "/other", "http://169.254.169.254/latest", "", builtin.ErrForbidden},
		{both, "/other", "file:///etc/passwd", "", builtin.ErrForbidden},
	} {
		other = tt.goes
		_, answer, err := tt.h.Call(t.Context(), "GET", base+tt.path, header, nil)
		if string(answer) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s to %s: got %s, %v", tt.path, tt.goes, answer, err)
		}
	}
	if _, _, err := both.Call(t.Context(), "GET", base+"/loop", nil, nil); err == nil || !strings.Contains(err.Error(), "more than 5 redirects") {
		t.Errorf("a loop: %v", err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	base, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			io.Copy(w, strings.NewReader(strings.Repeat("x", builtin.MaxAnswer+1)))
		case "/fits":
			io.Copy(w, strings.NewReader(strings.Repeat("x", builtin.MaxAnswer)))
		case "/header":
			w.Header().Set("X-Large", strings.Repeat("x", 1<<20))
		case "/slow":
			<-r.Context().Done()
		}
	})
	h := caller(t, host)
	if _, answer, err := h.Call(t.Context(), "GET", base+"/fits", nil, nil); len(answer) != builtin.MaxAnswer || err != nil {
		t.Errorf("%d bytes, %v", len(answer), err)
	}
	for _, path := range []string{"/large", "/header"} {
		if _, _, err := h.Call(t.Context(), "GET", base+path, nil, nil); err == nil {
			t.Errorf("%s is accepted", path)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := h.Call(ctx, "GET", base+"/slow", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an answer that does not come: %v", err)
	}
}
