package cron_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestEveryScenarioHasATest: the list of cases has 87 numbers.
func TestEveryScenarioHasATest(t *testing.T) {
	name := regexp.MustCompile(`func TestScenario(\d+)(?:(And|To)(\d+))?`)
	row := regexp.MustCompile(`(?m)^\t\{"(\d\d)[" ]`) // of the table of calendar cases
	found := map[int]bool{}
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, pattern := range []string{"*_test.go", "../schedule/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range name.FindAllStringSubmatch(string(source), -1) {
				from := number(m[1])
				to := from
				if m[2] != "" {
					to = number(m[3])
				}
				for n := from; n <= to; n++ {
					found[n] = true
				}
			}
			for _, m := range row.FindAllStringSubmatch(string(source), -1) {
				found[number(m[1])] = true
			}
		}
	}
	for n := 1; n <= 87; n++ {
		if !found[n] {
			t.Errorf("scenario %d has no test", n)
		}
	}
}
