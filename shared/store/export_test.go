package store

import "testing"

// PatientTakers has takers wait for a fence as long as a slow machine may take, for tests in which its holder goes on.
func PatientTakers(t *testing.T) {
	before := takerPatience
	takerPatience = "8s"
	t.Cleanup(func() { takerPatience = before })
}
