package lambdahttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// through serves a request by way of an event and a result, both as JSON.
func through(h http.Handler) http.Handler {
	function := Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ev, err := EventFromRequest(r)
		if err != nil {
			panic(err)
		}
		payload, err := json.Marshal(ev)
		if err != nil {
			panic(err)
		}
		resp, err := function(r.Context(), payload)
		if err != nil {
			panic(err)
		}
		text, err := json.Marshal(resp)
		if err != nil {
			panic(err)
		}
		var back events.APIGatewayV2HTTPResponse
		if err := json.Unmarshal(text, &back); err != nil {
			panic(err)
		}
		WriteResponse(w, back)
	})
}

// TestAnswers serves handlers directly and through events: a client must not find a difference.
func TestAnswers(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"nothing":      func(http.ResponseWriter, *http.Request) {},
		"sniffed text": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>ä") },
		"sniffed binary": func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0xff})
		},
		"json": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "15")
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"a":"\u0000<"}`)
		},
		"packed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "x-own")
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "text that is none")
		},
		"cookies": func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "1", HttpOnly: true, Expires: time.Unix(2e9, 0)})
			http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
			http.Redirect(w, r, "/elsewhere", http.StatusSeeOther)
		},
		"header after the status": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Early", "1")
			w.WriteHeader(http.StatusTeapot)
			w.Header().Set("X-Late", "1")
			w.WriteHeader(http.StatusOK)
		},
		"no content": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(err)
			}
		},
		"early hints": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			io.WriteString(w, "text")
		},
	}
	for name, handler := range tests {
		for _, method := range []string{"GET", "HEAD"} {
			t.Run(name+" "+method, func(t *testing.T) {
				equal(t, ask(t, through(handler), method), ask(t, handler, method))
			})
		}
	}
}

type answer struct {
	Status  int
	Header  http.Header
	Cookies []string
	Body    []byte
}

func ask(t *testing.T, h http.Handler, method string) answer {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // a second WriteHeader is reported there
	server.Start()
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	cookies := resp.Header["Set-Cookie"]
	for _, own := range []string{"Set-Cookie", "Date", "Content-Length"} { // the length of an answer to HEAD is not passed on
		resp.Header.Del(own)
	}
	return answer{resp.StatusCode, resp.Header, cookies, body}
}

// TestManyValues joins the values of a header.
func TestManyValues(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header()["Vary"] = []string{"Accept", "Origin"} })
	if got := ask(t, through(h), "GET").Header["Vary"]; len(got) != 1 || got[0] != "Accept,Origin" {
		t.Errorf("got %q", got)
	}
}

// TestTooLarge writes answers around what Lambda carries. The limit holds for the result as JSON.
func TestTooLarge(t *testing.T) {
	tests := map[string]struct {
		body string
		fits bool
	}{
		"just fits":                {strings.Repeat("x", MaxPayload-1000), true},
		"too large":                {strings.Repeat("x", MaxPayload+1), false},
		"too large with its frame": {strings.Repeat("x", MaxPayload-1), false},
		"too large in quotes":      {strings.Repeat(`"`, MaxPayload/2), false},
		"large in quotes":          {strings.Repeat(`"`, MaxPayload/2-1000), true},
		"angles are not escaped":   {strings.Repeat("<", MaxPayload-1000), true},
		"too large in base64":      {strings.Repeat("\xff", MaxPayload/4*3), false},
		"large in base64":          {strings.Repeat("\xff", MaxPayload/4*3-1000), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for b := []byte(test.body); len(b) > 0; b = b[min(1<<20, len(b)):] {
					if _, err := w.Write(b[:min(1<<20, len(b))]); err != nil && test.fits {
						t.Error(err)
					}
				}
			})
			resp, err := Handler(h)(t.Context(), readEvent(t, "wrong_route"))
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			if err := e.Encode(resp); err != nil || text.Len() > MaxPayload {
				t.Errorf("%v, and the result has %d bytes", err, text.Len())
			}
			switch {
			case test.fits && resp.StatusCode != 200:
				t.Errorf("got %d %.100s", resp.StatusCode, resp.Body)
			case !test.fits && (resp.StatusCode != 500 || !strings.HasPrefix(resp.Body, `{"error":{"code":"RESPONSE_TOO_LARGE"`)):
				t.Errorf("got %d %.100s", resp.StatusCode, resp.Body)
			}
		})
	}
}

// TestPanic makes one answer of a panic, whatever was written before, and the function serves on.
func TestPanic(t *testing.T) {
	var logged bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	defer slog.SetDefault(was)
	n := 0
	function := Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n++; n == 1 {
			io.WriteString(w, "half an answer")
			panic("the cat got in")
		}
		w.WriteHeader(0) // no status, which panics in a server too
	}))
	for range 2 {
		resp, err := function(t.Context(), readEvent(t, "json_body"))
		if err != nil || resp.StatusCode != 500 || resp.Body != `{"error":{"code":"INTERNAL","message":"the handler panicked"}}` {
			t.Errorf("got %d %s, %v", resp.StatusCode, resp.Body, err)
		}
	}
	if text := logged.String(); !strings.Contains(text, "the cat got in") || !strings.Contains(text, "request_id=ATfSmjLgPHcESJw") ||
		!strings.Contains(text, "TestPanic") {
		t.Errorf("the log has %s", text)
	}
}

// TestRemaining hands the function's time on, also where a handler between has shortened the context.
func TestRemaining(t *testing.T) {
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, ok := r.Context().Deadline(); !ok || !got.Equal(end) {
			t.Errorf("the context ends at %v, %v", got, ok)
		}
		short, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if left, ok := Remaining(short); !ok || left < 59*time.Minute || left > time.Hour {
			t.Errorf("%v remain, %v", left, ok)
		}
	})
	if resp, _ := Handler(handler)(ctx, readEvent(t, "json_body")); resp.StatusCode != 200 {
		t.Errorf("got %d", resp.StatusCode)
	}
	if _, ok := Remaining(t.Context()); ok {
		t.Error("there is no function here")
	}
}

// TestBadResult answers 500 for results that API Gateway does not take.
func TestBadResult(t *testing.T) {
	for _, resp := range []events.APIGatewayV2HTTPResponse{
		{}, {StatusCode: 99}, {StatusCode: 600}, {StatusCode: 200, Body: "%", IsBase64Encoded: true, Headers: map[string]string{"X-A": "1"}},
	} {
		w := httptest.NewRecorder()
		WriteResponse(w, resp)
		if w.Code != 500 || w.Body.String() != `{"message":"Internal Server Error"}` || w.Header().Get("X-A") != "" {
			t.Errorf("%+v: got %d %s", resp, w.Code, w.Body)
		}
	}
}
