package node_test

import (
	"fmt"
	"testing"
)

// TestStartRightAfterAPublishElsewhere: what one process has published the other can start at once, by a name that it has just
// looked for in vain.
func TestStartRightAfterAPublishElsewhere(t *testing.T) {
	s := newSystem(t)
	a, b := s.run("a"), s.run("b")
	for i := range 10 {
		name := fmt.Sprint("w", i)
		if _, err := b.GetWorkflow(t.Context(), caller, name, 0); err == nil {
			t.Error("it is there before it is published")
		}
		s.publish(a, name, listens)
		s.start(b, name, name)
	}
}
