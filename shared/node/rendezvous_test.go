package node

import (
	"fmt"
	"slices"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
)

const partitions = 256

func nodeNames(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("node-%d", i))
	}
	return out
}

func TestRendezvousSpreadsEvenly(t *testing.T) {
	for _, n := range []int{2, 3, 5, 8} {
		counts := map[string]int{}
		for p := range history.Partition(partitions) {
			counts[rendezvous(p, nodeNames(n))]++
		}
		for _, id := range nodeNames(n) {
			if fair := partitions / n; counts[id] < fair/2 || counts[id] > fair*2 {
				t.Errorf("%d nodes: %s has %d partitions, a fair share is %d", n, id, counts[id], fair)
			}
		}
	}
}

func TestRendezvousMovesOnlyWhatItMust(t *testing.T) {
	before, after := nodeNames(3), nodeNames(4)
	for p := range history.Partition(partitions) {
		old, now := rendezvous(p, before), rendezvous(p, after)
		if old != now && now != "node-3" {
			t.Errorf("partition %d moved from %s to %s when node-3 came", p, old, now)
		}
	}
}

func TestRendezvousIgnoresOrder(t *testing.T) {
	nodes := nodeNames(5)
	reversed := slices.Clone(nodes)
	slices.Reverse(reversed)
	for p := range history.Partition(partitions) {
		if a, b := rendezvous(p, nodes), rendezvous(p, reversed); a != b {
			t.Errorf("partition %d: %s in one order, %s in the other", p, a, b)
		}
	}
	if got := rendezvous(1, nil); got != "" {
		t.Errorf("no nodes: got %q", got)
	}
}
