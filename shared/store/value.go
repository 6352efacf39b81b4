package store

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// Arrays travel as slices of the database's own types: a driver that does not ask the server for a statement's
// parameters has no other way to know them.

func int64s[T ~int64](in []T) []int64 {
	out := make([]int64, len(in))
	for i, v := range in {
		out[i] = int64(v)
	}
	return out
}

func int16s[T ~int16](in []T) []int16 {
	out := make([]int16, len(in))
	for i, v := range in {
		out[i] = int16(v)
	}
	return out
}

// A timestamp without a value is the zero Time.

func instant(t pgtype.Timestamptz) history.Time {
	if !t.Valid {
		return 0
	}
	return history.TimeOf(t.Time)
}

func timestamp(t history.Time) *time.Time {
	if t == 0 {
		return nil
	}
	at := t.Time()
	return &at
}

// optional is NULL for the empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// text is NULL for nil bytes.
func text(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}

// bytes is the inverse of text.
func bytes(s *string) []byte {
	if s == nil {
		return nil
	}
	return []byte(*s)
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// positive is NULL for zero.
func positive(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// value is zero for NULL.
func value[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}
