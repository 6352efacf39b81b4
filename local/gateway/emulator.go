//go:build linux

package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

// The Lambda runtime interface emulator, as a Go module.
const (
	emulatorModule  = "github.com/aws/aws-lambda-runtime-interface-emulator"
	emulatorVersion = "v0.0.0-20261030222936-bef5c4ba774d"
)

// Emulator is the installed Lambda runtime interface emulator.
type Emulator struct {
	binary string
	wrap   string // command bootwrap, which ties a function's life to the emulator's
}

// InstallEmulator gives the emulator of a folder that is kept between runs, the user's cache where it is empty. It
// installs it there when it is missing, for which it takes the module from the Go module proxy. Like Build it is for
// processes that were started inside the module.
func InstallEmulator(ctx context.Context, dir string) (*Emulator, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("installing the Lambda emulator: %w", err)
		}
		dir = filepath.Join(cache, "orrery")
	}
	e := &Emulator{binary: filepath.Join(dir, "aws-lambda-rie-"+emulatorVersion)}
	if _, err := os.Stat(e.binary); err != nil {
		if err := installEmulator(ctx, dir, e.binary); err != nil {
			return nil, fmt.Errorf("installing the Lambda emulator: %w", err)
		}
	}
	built, err := build(ctx, dir, module+"/local/gateway/bootwrap")
	if err != nil {
		return nil, fmt.Errorf("installing the Lambda emulator: %w", err)
	}
	e.wrap = built["bootwrap"]
	return e, nil
}

// installEmulator builds beside the place and moves the whole file there: another process may be doing the same.
func installEmulator(ctx context.Context, dir, binary string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(dir, ".install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	args := []string{"install", emulatorModule + "/cmd/aws-lambda-rie@" + emulatorVersion}
	if err := runGo(ctx, args, "GOBIN="+fresh, "GOOS=", "GOARCH="); err != nil {
		return err
	}
	return os.Rename(filepath.Join(fresh, "aws-lambda-rie"), binary)
}

// Pool makes a pool whose instances are emulators, each with the function's binary. The limits must bound the instances,
// as each is two processes. The variables go before those of the template. The log gets what the function writes, and the
// emulator says of it, at debug level.
func (e *Emulator) Pool(f Function, bootstrap string, variables map[string]string, limits Limits, log *slog.Logger) (*Pool, error) {
	if limits.Instances <= 0 {
		return nil, fmt.Errorf("function %s: the instances are not bounded", f.Name)
	}
	environment, err := f.Environment(variables)
	if err != nil {
		return nil, err
	}
	bootstrap, err = filepath.Abs(bootstrap)
	if err != nil {
		return nil, err
	}
	return newPool(f.Name, limits, func() (instance, error) {
		return e.start(f, bootstrap, environment, log)
	}), nil
}
