package shared_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// proving are the packages whose tests docs/proofs.md names, by the names that it uses.
var proving = map[string]string{
	"api": "api", "cron": "cron", "decide": "decide", "frontend": "frontend", "history": "history", "node": "node", "sim": "sim",
	"memory": "sim/memory", "store": "store", "worker": "worker",
	"functions": "../functions", "migrations": "../migrations", "stack": "../local/stack", "chaos": "../local/chaos",
}

// TestEveryPromiseHasATest: every row of docs/proofs.md names tests, and each of them is there. The traps are all listed.
func TestEveryPromiseHasATest(t *testing.T) {
	page, err := os.ReadFile("../docs/proofs.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{} // package.Test
	for name, dir := range proving {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(source), -1) {
				tests[name+"."+m[1]] = true
			}
		}
	}
	reference := regexp.MustCompile("`(\\w+\\.Test\\w+)`")
	rows, traps := 0, map[string]bool{}
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.Contains(line, "|---|") || strings.Contains(line, "| test") {
			continue
		}
		rows++
		named := reference.FindAllStringSubmatch(cells[len(cells)-2], -1)
		if len(named) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, m := range named {
			if !tests[m[1]] {
				t.Errorf("%s is not there: %s", m[1], line)
			}
		}
		traps[strings.TrimSpace(cells[1])] = true
	}
	for _, series := range []struct {
		letter string
		n      int
	}{{"T", 12}, {"R", 10}} {
		for i := range series.n {
			if name := fmt.Sprint(series.letter, i+1); !traps[name] {
				t.Errorf("the trap %s is not listed", name)
			}
		}
	}
	if rows < 80 {
		t.Errorf("only %d rows", rows)
	}
}
