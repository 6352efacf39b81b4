// Package handler is what the test function serves. It tells what it sees, and fails on request.
package handler

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/lambdahttp"
)

// Seen is what the handler saw of a request.
type Seen struct {
	Method, Path, Query, Cookie, Many, ID string
	Body                                  []byte
	Env                                   []string
	Pid                                   int
	// Seconds is the time that was left, rounded up.
	Seconds int
}

// New makes the handler.
func New() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/sleep", sleep)
	mux.HandleFunc("/v1/exit", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
	mux.HandleFunc("/v1/panic", func(http.ResponseWriter, *http.Request) { panic("on request") })
	mux.HandleFunc("/v1/large", large)
	mux.HandleFunc("/v1/things/{id}", echo)
	mux.HandleFunc("/", echo)
	return mux
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	fmt.Println("the function saw", r.URL.Path)
	left, _ := lambdahttp.Remaining(r.Context())
	http.SetCookie(w, &http.Cookie{Name: "first", Value: "1"})
	http.SetCookie(w, &http.Cookie{Name: "second", Value: "2"})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(Seen{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Cookie: r.Header.Get("Cookie"), Many: r.Header.Get("X-Many"),
		ID: r.PathValue("id"), Body: body, Env: os.Environ(), Pid: os.Getpid(), Seconds: int((left + time.Second - 1) / time.Second),
	})
}

// sleep waits for the time that the query says, and tells in which process.
func sleep(w http.ResponseWriter, r *http.Request) {
	wait, err := time.ParseDuration(r.URL.Query().Get("for"))
	if err != nil {
		panic(err)
	}
	fmt.Println("the function sleeps")
	time.Sleep(wait)
	fmt.Fprint(w, os.Getpid())
}

// large answers with more than Lambda carries.
func large(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, strings.Repeat("x", lambdahttp.MaxPayload+1))
}
