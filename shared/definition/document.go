package definition

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// The limits of a document.
const (
	// DefaultMaxBytes is the size that a document may have, as text and as
	// compact JSON, where Options says nothing.
	DefaultMaxBytes = 1 << 20
	// MaxDepth is how deep the objects and arrays of a document may nest.
	MaxDepth = 200
	// MaxStates is the number of states that a document may have, nested machines
	// included.
	MaxStates = 10_000
	// MaxStateName is the length of a state name in characters.
	MaxStateName = 80
)

// Options say how a document is read.
type Options struct {
	// Strict keeps to Amazon States Language: it refuses the additions.
	Strict bool
	// Off are the kinds of resources that nobody serves, each with the reason: a document that uses one is refused.
	Off map[ResourceKind]string
	// MaxBytes limits the size of the text; zero means DefaultMaxBytes.
	MaxBytes int
}

// Document is a document without errors. It is immutable and safe for
// concurrent use.
type Document struct {
	// Machine is the document's own machine.
	Machine *Machine
	// Normalised is the document as compact JSON, its members in the order
	// written.
	Normalised []byte
	// Hash identifies the content: the SHA-256 of the document as compact JSON
	// with the members of every object sorted by name, as 64 hexadecimal digits; in
	// strict mode, of that with a line "strict" after it.
	// Numbers count by their text: 1 and 1.0 give different hashes.
	Hash string
}

// Parse reads a document, as JSON where its first character is an opening brace
// and as YAML otherwise. It gives all problems that it finds; where one of them
// is an error, the document is nil.
func Parse(text []byte, opts Options) (*Document, Problems) {
	r := &report{}
	doc := parse(text, opts.withDefaults(), r)
	if r.errors > 0 {
		return nil, r.problems
	}
	return doc, r.problems
}

func (o Options) withDefaults() Options {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	return o
}

func parse(text []byte, opts Options, r *report) *Document {
	v, ok := readWithin(text, opts, r)
	if !ok {
		return nil
	}
	o, ok := v.(*expr.Object)
	if !ok {
		r.errorf(root, RuleType, "Definition must be a valid JSON object")
		return nil
	}
	b := builder{report: r, strict: opts.Strict, off: opts.Off, names: map[string]*State{}, rules: &rules{}}
	machine := b.document(o)
	return &Document{Machine: machine, Normalised: expr.Marshal(v), Hash: hash(v, opts.Strict)}
}

// readWithin makes a value of a text, and reports what is beyond its limits.
func readWithin(text []byte, opts Options, r *report) (expr.Value, bool) {
	if len(text) > opts.MaxBytes {
		r.errorf(root, RuleTooLarge, "The document has %d bytes; %d are allowed.", len(text), opts.MaxBytes)
		return nil, false
	}
	v, ok := read(text, r)
	return v, ok && bounded(v, opts, r)
}

// bounded checks what only the value shows: the anchors of YAML may expand to
// more than the text.
func bounded(v expr.Value, opts Options, r *report) bool {
	if _, within := expr.Size(v, opts.MaxBytes); !within {
		r.errorf(root, RuleTooLarge, "The document has more than %d bytes as compact JSON.", opts.MaxBytes)
		return false
	}
	if deeperThan(v, MaxDepth) {
		r.errorf(root, RuleTooLarge, "The document is nested deeper than %d levels.", MaxDepth)
		return false
	}
	return true
}

// Identity is the hash of a value as a document has it: 64 hexadecimal digits.
func Identity(v expr.Value) string { return hash(v, false) }

func hash(v expr.Value, strict bool) string {
	text := expr.Marshal(sorted(v))
	if strict {
		text = append(text, "\nstrict"...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// sorted is v with the members of every object in the order of their names.
func sorted(v expr.Value) expr.Value {
	switch v := v.(type) {
	case []expr.Value:
		list := make([]expr.Value, len(v))
		for i, e := range v {
			list[i] = sorted(e)
		}
		return list
	case *expr.Object:
		members := make([]expr.Member, 0, v.Len())
		for name, e := range v.All() {
			members = append(members, expr.Member{Name: name, Value: sorted(e)})
		}
		slices.SortFunc(members, func(a, b expr.Member) int { return cmp.Compare(a.Name, b.Name) })
		return expr.NewObject(members...)
	}
	return v
}

// Contracts are the contracts that workers must offer for the document to run,
// each once, sorted by task and version.
func (d *Document) Contracts() []history.Contract {
	var contracts []history.Contract
	add := func(s *State) {
		if s.Resource != nil && s.Resource.Kind == ResourceWorker {
			contracts = append(contracts, s.Resource.Contract)
		}
	}
	d.Machine.Walk(func(s *State) {
		add(s)
		if s.Compensate != nil {
			add(s.Compensate.Task)
		}
	})
	slices.SortFunc(contracts, func(a, b history.Contract) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Version, b.Version))
	})
	return slices.Compact(contracts)
}
