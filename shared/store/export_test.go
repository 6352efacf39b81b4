package store

import (
	"context"
	"testing"
)

// PatientTakers has takers wait for a fence as long as a slow machine may take, for tests in which its holder goes on.
func PatientTakers(t *testing.T) {
	before := takerPatience
	takerPatience = "8s"
	t.Cleanup(func() { takerPatience = before })
}

// AttentionWindow is Attention with a window of its own, for tests that fill it.
func (s *Store) AttentionWindow(ctx context.Context, q AttentionQuery, window int) (AttentionPage, error) {
	return s.attention(ctx, q, window)
}

// PatientCommits has commits wait for their locks for as long as a slow machine may need.
func PatientCommits(t *testing.T) {
	old := lockTimeout
	lockTimeout = "20s"
	t.Cleanup(func() { lockTimeout = old })
}
