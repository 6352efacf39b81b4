package pgserver

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// ErrNotInstalled is returned by [Start] on a machine without PostgreSQL's
// server programs. Its text says what to do.
var ErrNotInstalled = errors.New("no PostgreSQL server programs found; install them (Debian: apt-get install postgresql)" +
	" or set PG_BIN to the folder that holds initdb and postgres")

// debianBinaries matches the folders, one per major version, where Debian
// keeps the server programs; they are not in the PATH.
const debianBinaries = "/usr/lib/postgresql/*/bin"

// findBinaries returns the folder of initdb and postgres: PG_BIN when it is
// set, else the one in the PATH, else Debian's newest.
func findBinaries() (string, error) {
	if folder := os.Getenv("PG_BIN"); folder != "" {
		if !hasBinaries(folder) {
			return "", fmt.Errorf("PG_BIN=%s: %w", folder, ErrNotInstalled)
		}
		return folder, nil
	}
	if postgres, err := exec.LookPath("postgres"); err == nil && hasBinaries(filepath.Dir(postgres)) {
		return filepath.Dir(postgres), nil
	}
	folders, _ := filepath.Glob(debianBinaries) // the pattern is well formed
	slices.SortFunc(folders, func(a, b string) int { return cmp.Compare(majorVersion(b), majorVersion(a)) })
	if i := slices.IndexFunc(folders, hasBinaries); i >= 0 {
		return folders[i], nil
	}
	return "", ErrNotInstalled
}

// majorVersion reads 15 out of /usr/lib/postgresql/15/bin.
func majorVersion(folder string) float64 {
	version, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(folder)), 64) // before 10 they were like 9.6
	return version
}

func hasBinaries(folder string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(folder, name)); err != nil {
			return false
		}
	}
	return true
}
