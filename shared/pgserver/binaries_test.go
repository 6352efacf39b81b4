package pgserver

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programs makes a folder with empty executables and returns it.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestFindBinaries(t *testing.T) {
	whole, half, empty := programs(t, "initdb", "postgres"), programs(t, "postgres"), programs(t)
	debian, _ := filepath.Glob(debianBinaries)
	tests := []struct {
		name, pgBin, path string
		want              []string // any of these
		err               error
	}{
		{name: "PG_BIN before the PATH", pgBin: whole, path: programs(t, "initdb", "postgres"), want: []string{whole}},
		{name: "PG_BIN is not second-guessed", pgBin: empty, path: whole, err: ErrNotInstalled},
		{name: "PATH before Debian's folders", path: whole, want: []string{whole}},
		{name: "a client's PATH does not count", path: half, want: debian},
		{name: "Debian's folders last", path: empty, want: debian},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("PG_BIN", test.pgBin)
			t.Setenv("PATH", test.path)
			got, err := findBinaries()
			if test.err != nil {
				if !errors.Is(err, test.err) || !strings.Contains(err.Error(), "apt-get install postgresql") {
					t.Errorf("error = %v, want %v with what to install", err, test.err)
				}
				return
			}
			if len(test.want) == 0 { // no server of Debian's on this machine
				test.want = []string{""}
			}
			if !slices.Contains(test.want, got) {
				t.Errorf("findBinaries() = %q, %v, want one of %q", got, err, test.want)
			}
		})
	}
}

func TestMajorVersionsAreNumbers(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]float64{
		"/usr/lib/postgresql/15/bin":  15,
		"/usr/lib/postgresql/9.6/bin": 9.6,
		"/usr/lib/postgresql/odd/bin": 0,
	} {
		if got := majorVersion(folder); got != want {
			t.Errorf("majorVersion(%s) = %v, want %v", folder, got, want)
		}
	}
}
