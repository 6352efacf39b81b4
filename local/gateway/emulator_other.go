//go:build !linux

package gateway

import (
	"context"
	"errors"
	"log/slog"
)

var errLinux = errors.New("the Lambda emulator runs on Linux only")

// Emulator is the Lambda runtime interface emulator, which runs on Linux only.
type Emulator struct{}

// InstallEmulator fails: the emulator runs on Linux only.
func InstallEmulator(context.Context, string) (*Emulator, error) { return nil, errLinux }

// Pool fails: the emulator runs on Linux only.
func (*Emulator) Pool(Function, string, map[string]string, Limits, *slog.Logger) (*Pool, error) {
	return nil, errLinux
}
