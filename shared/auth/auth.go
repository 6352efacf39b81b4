// Package auth says who calls. It knows neither HTTP nor the database: the edge hands in credentials, gets a principal,
// and passes it on inside a [Call] to whoever serves the request.
package auth

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Credentials are what a request brings to prove who sends it.
type Credentials struct {
	// Authorization is the header of that name, as it came.
	Authorization string
	// Remote is the address of the peer, as the transport sees it.
	Remote string
}

// Principal is who calls. The zero value is anonymous.
type Principal struct {
	// Name is what the log and the audit show.
	Name string
	// Namespaces are those that the principal may name; empty for all.
	Namespaces []string
}

// ErrUnauthenticated is returned for credentials that are missing or not known.
var ErrUnauthenticated = errors.New("auth: unauthenticated")

// Authenticator tells who sends a request.
type Authenticator interface {
	// Authenticate returns ErrUnauthenticated (wrapped or not) when the credentials prove nobody; any other error is a
	// failure of the check itself.
	Authenticate(ctx context.Context, c Credentials) (Principal, error)
}

// Open admits everybody as the anonymous principal. It serves a node on the loopback address or with --insecure, and a
// function whose gateway has checked the caller.
type Open struct{}

// Authenticate admits the caller.
func (Open) Authenticate(context.Context, Credentials) (Principal, error) { return Principal{}, nil }

// Call is one request as the areas behind the routes see it.
type Call struct {
	Namespace string
	Principal Principal
	// RequestID is in the answer, the log, and the events that the request causes.
	RequestID string
	// IdempotencyKey names a request that may be repeated; empty for none.
	IdempotencyKey string
	// TraceParent is the W3C trace context of the caller; empty for none.
	TraceParent string
}

// ErrInsecure is returned by CheckListen.
var ErrInsecure = errors.New("listening beyond the loopback address without authentication")

// CheckListen refuses an address (host:port) that others than this machine can reach, unless callers are
// authenticated or insecure says that this is meant. An empty host is every address; a name that is not localhost
// counts as reachable, whatever it resolves to.
func CheckListen(address string, a Authenticator, insecure bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("auth: listen address %q: %w", address, err)
	}
	if _, open := a.(Open); !open || insecure || isLoopback(host) {
		return nil
	}
	return fmt.Errorf("auth: %w: %s (listen on 127.0.0.1, or say --insecure if the network is trusted)", ErrInsecure, address)
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
