package node

import (
	"hash/fnv"

	"github.com/orrery-dev/orrery/shared/history"
)

// rendezvous gives the node that should own the partition: the one with the highest score for it. Every node computes
// the same answer from the same list, whatever its order; when a node comes or goes, only the partitions that it gains
// or had move. It answers "" for an empty list.
//
// The hash is of the node id and not of the incarnation, so that a node that restarts gets its partitions back.
func rendezvous(p history.Partition, nodes []string) string {
	var best string
	var top uint64
	for _, id := range nodes {
		s := score(p, id)
		if best == "" || s > top || s == top && id < best {
			best, top = id, s
		}
	}
	return best
}

// score hashes the pair. FNV alone changes only low bits with the partition's number, so the result is mixed once more
// (the finaliser of SplitMix64).
func score(p history.Partition, node string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(node))
	x := h.Sum64() + uint64(p)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
