package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/wire"
)

// errorOf is the one place where an error becomes what the caller is told. The status follows from the code
// ([wire.Code.Status]). An error that is not in the table is a fault of the server, whose text stays in the log.
func errorOf(err error) *wire.Error {
	var (
		own    *wire.Error
		syntax *expr.SyntaxError
		large  *http.MaxBytesError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &syntax):
		e := wire.Errorf(wire.MalformedJSON, "the body is not JSON: %s", syntax.Message)
		e.Details = []wire.Detail{{Field: "body", Rule: "json", Message: syntax.Error()}}
		return e
	case errors.As(err, &large):
		e := wire.Errorf(wire.BodyTooLarge, "a body may have %d bytes", large.Limit)
		e.Details = []wire.Detail{{Field: "body", Rule: "max=" + strconv.FormatInt(large.Limit, 10)}}
		return e
	case errors.Is(err, auth.ErrUnauthenticated):
		return wire.Errorf(wire.Unauthenticated, "credentials are missing or not known")
	case errors.Is(err, context.DeadlineExceeded):
		return wire.Errorf(wire.Unavailable, "the request took longer than it may; what it asked for may have happened")
	case errors.Is(err, context.Canceled):
		return wire.Errorf(wire.Unavailable, "the server is stopping or the caller has gone")
	}
	return wire.Errorf(wire.Internal, "the server failed; its log has the request id")
}

// retryAfter is the wait that an answer with the status names: always one with 429 and 503.
func retryAfter(status int, wait time.Duration) time.Duration {
	if wait == 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		return time.Second
	}
	return wait
}

// wholeSeconds rounds up, because the header has no fractions.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
