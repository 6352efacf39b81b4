package memory_test

import (
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/sim/memory"
)

var (
	_ node.Store      = (*memory.Store)(nil)
	_ node.Membership = (*memory.Store)(nil)
)
