package memory

// Break names a rule that a store does not keep.
type Break string

const (
	// NoFence: a commit of a fenced incarnation is not refused.
	NoFence Break = "no fence"
	// NoEpoch: taking a partition does not raise its epoch, and a commit does not compare who owns it.
	NoEpoch Break = "no epoch"
	// NoWait: who takes partitions does not wait for commits under way.
	NoWait Break = "no wait"
	// NoCompare: a commit writes its turns whatever the number of the last one is.
	NoCompare Break = "no compare"
	// KeepEntry: an inbox entry that a turn has applied stays.
	KeepEntry Break = "keep entry"
	// NoArbiter: a withdrawal does not look for a durable report.
	NoArbiter Break = "no arbiter"
	// NoInheritance: what is owed in a partition does not go with it, and nobody looks for what has no row.
	NoInheritance Break = "no inheritance"
	// NoNotice: a worker is not told that what it holds was withdrawn.
	NoNotice Break = "no notice"
	// NoLeftovers: the end of an execution does not answer what is left in its inbox.
	NoLeftovers Break = "no leftovers"
	// DoubleClaim: a claimed row is handed out again while nobody has noticed the claim.
	DoubleClaim Break = "double claim"
	// NoRaise: a check that fails in the course of a transaction keeps nobody from committing it.
	NoRaise Break = "no raise"
	// NewestDocument: of a workflow there is only the newest document, also for executions of earlier versions.
	NewestDocument Break = "newest document"
	// NoName: a start does not look whether the name is taken.
	NoName Break = "no name"
)

func (m *Store) broken(b Break) bool { return m.options.Break == b }
