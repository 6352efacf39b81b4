package history

import (
	"crypto/sha256"
	"encoding/binary"
)

// AllWeights is what the weights of an alias add up to.
const AllWeights = 100

// Route is one version that an alias stands for, and how many of a hundred executions it gets.
type Route struct {
	Version, Weight int
}

// Routes are what an alias stands for. Their weights add up to [AllWeights].
type Routes []Route

// Version is that of the execution of the name. The name alone decides: the first eight bytes of its SHA-256, as a number modulo
// a hundred, fall into the stretch of one route, in their order. A start that is repeated finds the same version.
func (r Routes) Version(execution string) int {
	sum := sha256.Sum256([]byte(execution))
	point := int(binary.BigEndian.Uint64(sum[:]) % AllWeights)
	for _, x := range r {
		if point -= x.Weight; point < 0 {
			return x.Version
		}
	}
	return r[len(r)-1].Version
}
