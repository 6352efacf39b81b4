// Package api is the HTTP surface: one table of routes over small interfaces, one per area, that it declares.
//
//	request -> id -> deadline, body limit -> caller, namespace -> read and check -> area -> answer
//	                                                                                  |
//	                                       error -> errorOf: code, status, Retry-After
//
// The same handler serves in a node (every route) and in a function (its own routes). What holds:
//
//   - Whatever reaches an area has the form that the check tags of package wire demand; an area checks meaning only.
//   - A refused request has changed nothing, and names every field at fault with its rule.
//   - Every answer has a request id; every failure of the server is logged once, here, with that id.
//   - Payloads are stored as compact JSON text without NUL and lone surrogates, because expr.Parse has read them.
package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/telemetry"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Options are the settings of a handler.
type Options struct {
	// Authenticator tells who calls.
	Authenticator auth.Authenticator
	Log           *slog.Logger
	// MaxBody and MaxPayload are in bytes.
	MaxBody    int64
	MaxPayload int
	// Deadline bounds a request from its arrival to its answer; it is longer than the longest wait that a request may
	// ask for. A context that ends earlier (that of a function) counts instead.
	Deadline time.Duration
	// Metrics is where the handler declares its own, and in a node what GET /metrics serves; a registry that nobody reads
	// when nil.
	Metrics *telemetry.Metrics
}

// answerTime is kept back from the deadline of the caller's context for writing the answer.
const answerTime = 500 * time.Millisecond

// New makes the handler of a node: every route whose area is there.
func New(s Services, o Options) http.Handler {
	srv := newServer(s, o, routes)
	if o.Metrics != nil {
		srv.handle(http.MethodGet, metricsPath, o.Metrics.Handler().ServeHTTP)
	}
	return srv
}

// ForFunction makes the handler of one function: its routes alone; other routes do not exist there.
func ForFunction(name string, s Services, o Options) http.Handler {
	own := slices.DeleteFunc(Routes(), func(r Route) bool { return r.Function != name })
	return newServer(s, o, own)
}

type server struct {
	Services
	Options
	mux *http.ServeMux
	// paths has the patterns without their methods, and methods the methods of each.
	paths   *http.ServeMux
	methods map[string][]string
	metrics metrics
}

func newServer(s Services, o Options, table []Route) *server {
	srv := &server{Services: s, Options: o, mux: http.NewServeMux(), paths: http.NewServeMux(), methods: map[string][]string{}}
	own := slices.DeleteFunc(slices.Clone(table), func(r Route) bool { return !r.served(s) })
	registry := o.Metrics
	if registry == nil {
		registry = telemetry.NewMetrics()
	}
	srv.metrics = newMetrics(registry, own)
	for _, route := range own {
		srv.handle(route.Method, route.Pattern, func(w http.ResponseWriter, r *http.Request) { srv.serve(w, r, route) })
	}
	return srv
}

func (s *server) handle(method, pattern string, serve http.HandlerFunc) {
	s.mux.HandleFunc(method+" "+pattern, serve)
	if s.methods[pattern] == nil {
		s.paths.Handle(pattern, http.NotFoundHandler())
	}
	s.methods[pattern] = append(s.methods[pattern], method)
}

// ServeHTTP gives the request its id and finds its route.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(wire.HeaderRequestID)
	if !isID(id) {
		id = rand.Text()
	}
	w.Header().Set(wire.HeaderRequestID, id)
	if unclean(r.URL.EscapedPath()) {
		write(w, failure(wire.Errorf(wire.RouteNotFound, "there is no route %s", clip(r.URL.Path))))
		return
	}
	if _, pattern := s.mux.Handler(r); pattern != "" {
		s.mux.ServeHTTP(w, r)
		return
	}
	err := wire.Errorf(wire.RouteNotFound, "there is no route %s", clip(r.URL.Path))
	if _, pattern := s.paths.Handler(r); pattern != "" {
		allowed := strings.Join(s.methods[pattern], ", ")
		w.Header().Set("Allow", allowed)
		err = wire.Errorf(wire.MethodNotAllowed, "the route takes %s", allowed)
	}
	write(w, failure(err))
}

// unclean tells whether a path has empty segments, "." or "..": the mux would redirect it, and no route has one.
func unclean(escaped string) bool {
	return path.Clean(escaped) != cmp.Or(strings.TrimSuffix(escaped, "/"), "/")
}

// serve runs one route, answers, and logs.
func (s *server) serve(w http.ResponseWriter, r *http.Request, route Route) {
	began, arrived := time.Now(), r.Context()
	ctx, cancel := s.deadline(arrived)
	defer cancel()
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, s.MaxBody)
	id := w.Header().Get(wire.HeaderRequestID)
	s.metrics.underWay.Inc()
	a, err := s.run(r, route, id)
	s.metrics.underWay.Dec()
	if err != nil {
		a = failure(errorOf(err))
	}
	status, werr := write(w, a)
	if err == nil {
		err = werr
	}
	if callerGone(arrived, err) {
		status = statusGone
	}
	took := time.Since(began)
	s.metrics.answered(route, status, took)
	s.log(ctx, route, status, err, slog.String(telemetry.KeyRequest, id), slog.Duration(telemetry.KeyDuration, took))
}

// statusGone is what the log and the metrics say of a request whose caller had gone before the answer: nobody got one.
const statusGone = 499

// callerGone tells whether the request failed because its caller had gone.
func callerGone(arrived context.Context, err error) bool {
	return err != nil && errors.Is(arrived.Err(), context.Canceled)
}

// deadline gives the context in which the areas work.
func (s *server) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(s.Deadline)
	if own, ok := ctx.Deadline(); ok && own.Add(-answerTime).Before(end) {
		end = own.Add(-answerTime)
	}
	return context.WithDeadline(ctx, end)
}

// run serves the route. A panic is a failure of this request, not of the process.
func (s *server) run(r *http.Request, route Route, requestID string) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("panic in a route", telemetry.KeyRoute, route.Pattern, telemetry.KeyRequest, requestID,
				telemetry.KeyStack, string(debug.Stack()))
			err = fmt.Errorf("api: %s %s: panic: %v", route.Method, route.Pattern, p)
		}
	}()
	call, err := callOf(r.Header, requestID)
	if err != nil {
		return answer{}, err
	}
	if !route.Open {
		if err := s.authenticate(r, &call); err != nil {
			return answer{}, err
		}
	}
	return route.serve(s.Services, &request{r, call, s.MaxPayload})
}

// authenticate fills in who calls, and the namespace where the request names none.
func (s *server) authenticate(r *http.Request, c *auth.Call) error {
	who, err := s.Authenticator.Authenticate(r.Context(), auth.Credentials{
		Authorization: r.Header.Get("Authorization"), Remote: r.RemoteAddr,
	})
	if err != nil {
		return err
	}
	c.Principal = who
	switch {
	case c.Namespace != "":
		if len(who.Namespaces) > 0 && !slices.Contains(who.Namespaces, c.Namespace) {
			return wire.Errorf(wire.NamespaceNotFound, "there is no namespace %s", c.Namespace)
		}
	case len(who.Namespaces) == 1:
		c.Namespace = who.Namespaces[0]
	case len(who.Namespaces) > 1:
		return wire.Errorf(wire.NamespaceRequired, "the caller has several namespaces; the header %s names one", wire.HeaderNamespace)
	default:
		c.Namespace = wire.DefaultNamespace
	}
	return nil
}

func failure(e *wire.Error) answer {
	return answer{status: e.Code.Status(), body: wire.ErrorEnvelope{Error: *e}, retryAfter: e.RetryAfter}
}

// write sends the answer and returns its status.
func write(w http.ResponseWriter, a answer) (int, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a.body); err != nil {
		status, _ := write(w, failure(errorOf(err)))
		return status, fmt.Errorf("api: encode the answer: %w", err)
	}
	status := max(a.status, http.StatusOK)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(text.Len()))
	h.Set("Cache-Control", "no-store")
	if wait := retryAfter(status, a.retryAfter); wait > 0 {
		h.Set("Retry-After", wholeSeconds(wait))
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	_, err := w.Write(text.Bytes())
	return status, err
}

// log writes one entry per request: failures of the server as errors, refusals as information, the rest for debugging.
func (s *server) log(ctx context.Context, route Route, status int, err error, attrs ...slog.Attr) {
	level := slog.LevelDebug
	switch {
	case status == statusGone:
	case status == http.StatusServiceUnavailable:
		level = slog.LevelWarn
	case status >= http.StatusInternalServerError:
		level = slog.LevelError
	case status >= http.StatusBadRequest:
		level = slog.LevelInfo
	}
	attrs = append(attrs, slog.String(telemetry.KeyMethod, route.Method), slog.String(telemetry.KeyRoute, route.Pattern),
		slog.Int(telemetry.KeyStatus, status))
	if err != nil {
		attrs = append(attrs, slog.String(telemetry.KeyError, err.Error()))
	}
	s.Log.LogAttrs(ctx, level, "request", attrs...)
}
