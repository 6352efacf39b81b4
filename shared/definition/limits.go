package definition

// The limits of an execution where its document says nothing.
const (
	// DefaultPayloadBytes is how large a payload may be, in bytes of JSON.
	DefaultPayloadBytes = 262_144
	// StrictEvents is how many events a history may have in strict mode.
	StrictEvents = 25_000
)

// The most that a document may ask for.
const (
	maxEvents       = 1_000_000_000
	maxFanOut       = 1 << 20
	maxPayloadBytes = 1 << 20
)

// Limits bound what an execution may do.
type Limits struct {
	// Events is how many events the history may have before the execution ends; zero for any number.
	Events int
	// FanOut is how many branches or iterations a state may have; zero for the most that is possible.
	FanOut int
	// PayloadBytes is how large an input, an output, a result, a signal may be, as JSON.
	PayloadBytes int
}

// rules hold for a whole document; its machines share them.
type rules struct {
	strict bool
	limits Limits
}

// Strict tells whether the document was read in strict mode.
func (m *Machine) Strict() bool { return m.rules != nil && m.rules.strict }

// Limits are those of the document.
func (m *Machine) Limits() Limits {
	if m.rules == nil {
		return Limits{PayloadBytes: DefaultPayloadBytes}
	}
	return m.rules.limits
}

// limits reads Limits.
func (b *builder) limits(f fields) {
	l := Limits{PayloadBytes: DefaultPayloadBytes}
	if b.strict {
		l.Events = StrictEvents
	}
	if given, ok := f.object("Limits"); ok {
		given.only("Limits", limitFields, nil)
		l.Events = given.integer("Events", 1, maxEvents, l.Events)
		l.FanOut = given.integer("FanOut", 1, maxFanOut, 0)
		l.PayloadBytes = given.integer("PayloadBytes", 1, maxPayloadBytes, l.PayloadBytes)
	}
	*b.rules = rules{b.strict, l}
}

// schema reads a JSON Schema; nil where there is none.
func (b *builder) schema(f fields, name string) *Schema {
	v, ok := f.o.Get(name)
	if !ok {
		return nil
	}
	s, err := NewSchema(v)
	if err != nil {
		b.errorf(f.at.member(name), RuleSchema, "%s is no JSON Schema that can be used: %v.", name, err)
	}
	return s
}
