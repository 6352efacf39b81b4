package auth_test

import (
	"context"
	"errors"
	"testing"

	"github.com/orrery-dev/orrery/shared/auth"
)

type closed struct{}

func (closed) Authenticate(context.Context, auth.Credentials) (auth.Principal, error) {
	return auth.Principal{}, auth.ErrUnauthenticated
}

func TestCheckListen(t *testing.T) {
	tests := []struct {
		address  string
		who      auth.Authenticator
		insecure bool
		want     error
	}{
		{"127.0.0.1:8080", auth.Open{}, false, nil},
		{"127.3.2.1:8080", auth.Open{}, false, nil},
		{"[::1]:8080", auth.Open{}, false, nil},
		{"localhost:8080", auth.Open{}, false, nil},
		{":8080", auth.Open{}, false, auth.ErrInsecure},
		{"0.0.0.0:8080", auth.Open{}, false, auth.ErrInsecure},
		{"[::]:8080", auth.Open{}, false, auth.ErrInsecure},
		{"10.0.0.7:8080", auth.Open{}, false, auth.ErrInsecure},
		{"localhost.example.com:8080", auth.Open{}, false, auth.ErrInsecure},
		{":8080", auth.Open{}, true, nil},
		{":8080", closed{}, false, nil},
	}
	for _, tt := range tests {
		if err := auth.CheckListen(tt.address, tt.who, tt.insecure); !errors.Is(err, tt.want) {
			t.Errorf("CheckListen(%q, %T, %v) = %v, want %v", tt.address, tt.who, tt.insecure, err, tt.want)
		}
	}
	if err := auth.CheckListen("no port", closed{}, true); err == nil {
		t.Error("an address without a port is accepted")
	}
}
