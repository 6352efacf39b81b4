// Command conformance runs recorded behaviour of the reference service through the pure core and reports where the two
// differ.
//
//	go run ./local/conformance -kind histories|choices|teststate FILE.jsonl...
//
// Each line of a file is a case. For a case that differs it prints the id and the first difference; its last line is
// "N passed, N failed, N skipped". A case is skipped where it needs what this version does not have, and -v says what.
// The exit status is 1 where a case failed, 2 where the files cannot be read.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
)

// verdict is what became of a case: neither reason set is a pass.
type verdict struct {
	id string
	// skip says what the case needs that is not there, fail what differs first.
	skip, fail string
}

// kinds runs one line of a file; n is its number, from 1.
var kinds = map[string]func(line []byte, n int) (verdict, error){
	"histories": runHistory,
	"choices":   runChoice,
	"teststate": runState,
}

func main() {
	kind := flag.String("kind", "histories", "what the files hold: histories, choices or teststate")
	verbose := flag.Bool("v", false, "print the skipped cases with the reason")
	flag.Parse()
	run := kinds[*kind]
	if run == nil || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	var total tally
	for _, name := range flag.Args() {
		if err := total.file(name, run, *verbose, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "conformance:", err)
			os.Exit(2)
		}
	}
	fmt.Println(total)
	if total.failed > 0 {
		os.Exit(1)
	}
}

type tally struct{ passed, failed, skipped int }

func (t tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

// maxLine is the longest line that a file may have.
const maxLine = 16 << 20

func (t *tally) file(name string, run func([]byte, int) (verdict, error), verbose bool, out io.Writer) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		text, err := t.line(lines.Bytes(), n, run, verbose)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		io.WriteString(out, text)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// line runs one case and gives what there is to print of it.
func (t *tally) line(text []byte, n int, run func([]byte, int) (verdict, error), verbose bool) (string, error) {
	v, err := run(text, n)
	switch {
	case err != nil:
		return "", err
	case v.skip != "":
		t.skipped++
		if !verbose {
			return "", nil
		}
		return fmt.Sprintf("SKIP %s: %s\n", v.id, v.skip), nil
	case v.fail != "":
		t.failed++
		return fmt.Sprintf("FAIL %s: %s\n", v.id, v.fail), nil
	}
	t.passed++
	return "", nil
}
