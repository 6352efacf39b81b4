package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// What the commands that work without a server share.

// usualLimit is how long such a command may work.
const usualLimit = time.Minute

// within runs f and waits for it no longer than limit, or until the command is interrupted: a document may keep one
// evaluation busy for a long time, and nothing stops that from the outside.
func within(cmd *cobra.Command, limit time.Duration, f func() error) error {
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), limit, fmt.Errorf("gave up after %s (--max-time)", limit))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return givenError{context.Cause(ctx)}
	}
}

func maxTime(cmd *cobra.Command, limit *time.Duration) {
	cmd.Flags().DurationVar(limit, "max-time", usualLimit, "give up after this time")
}

// document reads a document that has to be right.
func (c *cli) document(name string, strict bool) (*definition.Document, error) {
	text, err := c.readFile(name)
	if err != nil {
		return nil, err
	}
	doc, problems := definition.Parse(text, definition.Options{Strict: strict})
	if doc == nil {
		return nil, refused(name, problems)
	}
	return doc, nil
}

// refused is the error of a file with problems, which it lists.
func refused(name string, problems definition.Problems) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s is refused:", name)
	for _, p := range problems.Errors() {
		text.WriteString("\n  " + visible(p.String()))
	}
	return givenError{errors.New(text.String())}
}

// clockAt reads a time; now where there is none.
func clockAt(text string) (history.Time, error) {
	if text == "" {
		return history.TimeOf(time.Now()), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, usageError{fmt.Errorf("%q is not a time such as 2026-11-30T03:29:21Z", text)}
	}
	return history.TimeOf(t), nil
}
