//go:build linux

package gateway

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
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

// wrapSource names the version of bootwrap that is needed.
//
//go:embed bootwrap/main.go
var wrapSource []byte

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
	e := &Emulator{
		binary: filepath.Join(dir, "aws-lambda-rie-"+emulatorVersion),
		wrap:   filepath.Join(dir, fmt.Sprintf("bootwrap-%.6x", sha256.Sum256(wrapSource))),
	}
	err := errors.Join(ensure(e.binary, func(fresh string) (string, error) {
		args := []string{"install", emulatorModule + "/cmd/aws-lambda-rie@" + emulatorVersion}
		return filepath.Join(fresh, "aws-lambda-rie"), runGo(ctx, args, "GOBIN="+fresh, "GOOS=", "GOARCH=")
	}), ensure(e.wrap, func(fresh string) (string, error) {
		built, err := build(ctx, fresh, module+"/local/gateway/bootwrap")
		return built["bootwrap"], err
	}))
	if err != nil {
		return nil, fmt.Errorf("installing the Lambda emulator: %w", err)
	}
	return e, nil
}

// ensure makes a file that is missing. It is made in a folder beside its place and moved there whole, because another
// process may be doing the same.
func ensure(file string, makeIn func(fresh string) (string, error)) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(file), ".install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	made, err := makeIn(fresh)
	if err != nil {
		return err
	}
	return os.Rename(made, file)
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
