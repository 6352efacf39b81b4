package gateway

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

const module = "github.com/orrery-dev/orrery"

// Build compiles the functions of functions/<name> for Linux on this machine's processor, as the deployment does, and
// gives the path of each one's binary, dir/<name>/bootstrap. It is for processes that were started inside the module.
func Build(ctx context.Context, dir string, names ...string) (map[string]string, error) {
	packages := make([]string, len(names))
	for i, name := range names {
		packages[i] = module + "/functions/" + name
	}
	return build(ctx, dir, packages...)
}

// build compiles main packages by one run of the compiler, which shares what they have in common. The names of the result
// are the last parts of the packages' paths. A binary that runs meanwhile is left alone: the new one takes its name.
func build(ctx context.Context, dir string, packages ...string) (map[string]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	fresh, err := os.MkdirTemp(dir, ".build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(fresh)
	args := append([]string{"build", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", fresh + "/"}, packages...)
	if err := runGo(ctx, args, "CGO_ENABLED=0", "GOOS=linux"); err != nil {
		return nil, err
	}
	binaries := map[string]string{}
	for _, p := range packages {
		name := path.Base(p)
		binaries[name] = filepath.Join(dir, name, "bootstrap")
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return nil, err
		}
		if err := os.Rename(filepath.Join(fresh, name), binaries[name]); err != nil {
			return nil, err
		}
	}
	return binaries, nil
}

func runGo(ctx context.Context, args []string, env ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
