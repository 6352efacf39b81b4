package history_test

import (
	"strconv"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
)

// TestRoutesSplitByName: a name has one side for ever, and the sides get what they weigh.
func TestRoutesSplitByName(t *testing.T) {
	routes := history.Routes{{Version: 1, Weight: 90}, {Version: 2, Weight: 0}, {Version: 3, Weight: 10}}
	got := map[int]int{}
	const names = 10_000
	for i := range names {
		name := "order-" + strconv.Itoa(i)
		version := routes.Version(name)
		if again := routes.Version(name); again != version {
			t.Fatalf("%s goes to version %d and to %d", name, version, again)
		}
		got[version]++
	}
	if got[2] != 0 || got[1]+got[3] != names || got[3] < names/10*8/10 || got[3] > names/10*12/10 {
		t.Errorf("of %d: %v", names, got)
	}
	// The SHA-256 of order-1 begins with 0bafe221, and its first eight bytes are 96 modulo 100; for order-13 they are 5.
	for name, want := range map[string]int{"order-1": 3, "order-13": 1} {
		if v := routes.Version(name); v != want {
			t.Errorf("%s goes to version %d, want %d", name, v, want)
		}
	}
}

// TestRoutesMoveOneWay: a version that gets more weight takes names over, and gives none away.
func TestRoutesMoveOneWay(t *testing.T) {
	for i := range 1000 {
		name, before := strconv.Itoa(i), 1
		for _, weight := range []int{0, 1, 10, 50, 99, 100} {
			now := history.Routes{{Version: 1, Weight: 100 - weight}, {Version: 2, Weight: weight}}.Version(name)
			if now < before {
				t.Fatalf("%s goes back to version 1 at %d of 100", name, weight)
			}
			before = now
		}
		if before != 2 {
			t.Fatalf("%s goes to version %d, which has no weight", name, before)
		}
	}
}
