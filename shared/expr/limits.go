package expr

// Limits bound one evaluation, so that no document and no input can hold up a
// node or fill its memory.
type Limits struct {
	// Depth is how deep a result may nest, at most [MaxDepth]; default MaxDepth.
	Depth int
	// Steps is how many values and texts an evaluation may look at or make;
	// default 1,000,000, which takes some tenths of a second.
	Steps int
	// Bytes is how large a result may be as JSON text; default 1 MiB.
	Bytes int
	// VariableBytes is how large one variable may be, and all that one state
	// assigns together; default 256 KiB.
	VariableBytes int
}

// The default limits.
const (
	DefaultSteps         = 1_000_000
	DefaultBytes         = 1 << 20
	DefaultVariableBytes = 256 << 10
)

func (l Limits) withDefaults() Limits {
	if l.Depth <= 0 || l.Depth > MaxDepth {
		l.Depth = MaxDepth
	}
	if l.Steps <= 0 {
		l.Steps = DefaultSteps
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.VariableBytes <= 0 {
		l.VariableBytes = DefaultVariableBytes
	}
	return l
}

// check refuses a result that is too deep or too large.
func (l Limits) check(v Value) error {
	m := meter{left: l.Bytes, depth: l.Depth}
	m.value(v, 0)
	switch {
	case m.deep:
		return runtimeError("The result is nested deeper than %d levels.", l.Depth)
	case m.left < 0:
		return l.tooLarge()
	}
	return nil
}

func (l Limits) tooLarge() *Error { return tooLarge("The result is", l.Bytes) }
