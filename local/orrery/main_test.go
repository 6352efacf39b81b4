package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/trial"
)

var rewrite = flag.Bool("rewrite", false, "write what the commands of testdata print as what they have to")

// TestCommands runs the commands of testdata/*.txt, which work without a server. A file is a list of
//
//	# a comment
//	$ orrery a command line
//	what it prints, on the standard output and then on the standard error
//	(the status, where it is not 0)
//
// with an empty line after each. Words with spaces stand in single quotes; > FILE writes the standard output to a file that
// the following commands can read as such.
func TestCommands(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no commands: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) { runFile(t, name) })
	}
}

func runFile(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var out strings.Builder
	for block := range strings.SplitSeq(string(text), "\n$ ") {
		if out.Len() == 0 && !strings.HasPrefix(block, "$ ") {
			out.WriteString(block) // the comment at the top
			continue
		}
		line, rest, _ := strings.Cut(strings.TrimPrefix(block, "$ "), "\n")
		want, comment := rest, ""
		if i := strings.Index(rest, "\n# "); i >= 0 {
			want, comment = rest[:i+1], rest[i+1:]
		}
		got := runLine(t, dir, line)
		if strings.TrimRight(want, "\n") != strings.TrimRight(got, "\n") && !*rewrite {
			t.Errorf("%s: %s\ngot:\n%s\nwant:\n%s", name, line, got, want)
		}
		out.WriteString("\n$ " + line + "\n" + got)
		if comment != "" {
			out.WriteString("\n" + comment)
		}
	}
	if *rewrite {
		if err := os.WriteFile(name, []byte(strings.TrimLeft(out.String(), "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// runLine runs a command line in testdata and gives what it printed.
func runLine(t *testing.T, dir, line string) string {
	line, file, toFile := strings.Cut(line, " > ")
	args := words(line)
	if args[0] != "orrery" {
		t.Fatalf("no command: %s", line)
	}
	t.Chdir("testdata")
	defer t.Chdir("..")
	for i := range args {
		if strings.HasPrefix(args[i], "OUT/") {
			args[i] = filepath.Join(dir, strings.TrimPrefix(args[i], "OUT/"))
		}
	}
	var out, errs bytes.Buffer
	c := &cli{out: &out, errs: &errs, in: strings.NewReader("")}
	root := c.root()
	root.SetArgs(args[1:])
	root.SetOut(&out)
	status := c.report(root.ExecuteContext(context.Background()))
	text := out.String()
	if toFile {
		if err := os.WriteFile(filepath.Join(dir, file), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		text = ""
	}
	text = strings.ReplaceAll(text+errs.String(), dir, "OUT")
	if status != 0 {
		text += fmt.Sprintf("(%d)\n", status)
	}
	return text
}

// words splits a command line.
func words(line string) []string {
	var list []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	return list
}

// TestRecordRows makes testdata/rows.jsonl, the rows of three executions of draws.yaml as the database exports them, with
// -rewrite: two that ended, and one that waits for a worker.
func TestRecordRows(t *testing.T) {
	if !*rewrite {
		return
	}
	text, err := os.ReadFile("testdata/draws.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, _ := definition.Parse(text, definition.Options{})
	var out bytes.Buffer
	for i, script := range []string{"tasks: {work: [{error: Unlucky}, {output: 1}]}", "{}", "tasks: {work: [{output: 2}]}"} {
		world, _ := trial.ParseScript([]byte(script))
		start := history.Start{Namespace: "default", Name: fmt.Sprint("draw-", i+1), Workflow: "draws", Version: 1, Input: []byte("{}"), Seed: uint64(100 + i)}
		run, _ := trial.Execute(doc.Machine, world, trial.Options{Start: start, At: 1_796_009_361_000})
		for _, turn := range run.Turns {
			row := map[string]any{
				"execution": 41 + i, "at": turn.At.Time(), "born": "2026-11-30", "seq": turn.Seq,
				"first_event": turn.Views[0].ID, "events": string(history.EncodeEvents(turn.Events)),
			}
			if err := json.NewEncoder(&out).Encode(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile("testdata/rows.jsonl", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWithin: a command comes back although what it does never ends.
func TestWithin(t *testing.T) {
	never := make(chan struct{})
	block := func() error { <-never; return nil }
	defer close(never)
	c := &cli{errs: &bytes.Buffer{}}
	cmd := &cobra.Command{}
	cmd.SetContext(context.Background())
	err := within(cmd, time.Nanosecond, block)
	if err == nil || err.Error() != "gave up after 1ns (--max-time)" || c.report(err) != 2 {
		t.Errorf("%v", err)
	}
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	cmd.SetContext(ctx)
	if err := within(cmd, time.Hour, block); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	cmd.SetContext(context.Background())
	if err := within(cmd, time.Hour, func() error { return errNo }); !errors.Is(err, errNo) {
		t.Errorf("%v", err)
	}
}
