package definition

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/orrery-dev/orrery/shared/expr"
)

// Schema is a JSON Schema of a document: draft 2020-12 unless its $schema names an older one, with formats checked. It
// refers to nothing outside of itself.
type Schema struct {
	compiled *jsonschema.Schema
	work     *work
}

// Fault is a place where a value does not fit a schema.
type Fault struct {
	// Pointer is the place in the value (RFC 6901).
	Pointer string
	// Keyword of the schema that it does not fit.
	Keyword string
	// Message says more, for people. Its words may change from version to version.
	Message string
}

// FaultList is why a value was refused: some faults, sorted by place and keyword.
type FaultList []Fault

// Error names places and keywords.
func (l FaultList) Error() string {
	parts := make([]string, len(l))
	for i, f := range l {
		parts[i] = fmt.Sprintf("%s (%s)", cmp.Or(f.Pointer, "/"), f.Keyword)
	}
	return "does not fit the schema at " + strings.Join(parts, ", ")
}

// maxFaults is how many places are named.
const maxFaults = 10

// schemaURL stands for the place of a schema, which has none.
const schemaURL = "urn:orrery:schema"

// NewSchema compiles a schema.
func NewSchema(v expr.Value) (*Schema, error) {
	s := &Schema{work: &work{}}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	c.AssertFormat()
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "urn:orrery:work", Compile: s.work.compile})
	c.AssertVocabs()
	if err := c.AddResource(schemaURL, asGo(v)); err != nil {
		return nil, err
	}
	var err error
	if s.compiled, err = c.Compile(schemaURL); err != nil {
		return nil, err
	}
	return s, nil
}

// Contract is what the tasks of a contract take and give; nil for anything.
type Contract struct{ Input, Output *Schema }

// nowhere loads no schema.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema refers to nothing outside of itself, and not to %s", url)
}

// Check is nil where the value fits. The error is a [FaultList], also where the schema takes too much work to say.
func (s *Schema) Check(v expr.Value) error {
	err := s.work.bounded(func() error { return s.compiled.Validate(asGo(v)) })
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return FaultList{{Keyword: "$schema", Message: err.Error()}}
	}
	list := faults(nil, invalid.DetailedOutput())
	slices.SortFunc(list, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Message, b.Message))
	})
	list = slices.CompactFunc(list, func(a, b Fault) bool { return a.Pointer == b.Pointer && a.Keyword == b.Keyword })
	return list[:min(len(list), maxFaults)]
}

// faults lists the leaves of a tree of faults.
func faults(list FaultList, u *jsonschema.OutputUnit) FaultList {
	for i := range u.Errors {
		list = faults(list, &u.Errors[i])
	}
	if u.Error != nil {
		keyword := u.KeywordLocation[strings.LastIndexByte(u.KeywordLocation, '/')+1:]
		list = append(list, Fault{u.InstanceLocation, keyword, u.Error.String()})
	}
	return list
}

// maxWork bounds one check: it counts how often a schema meets a value, and more where these are large. References can make a
// short schema take as long as one likes.
const maxWork = 250_000

var errWork = fmt.Errorf("the schema takes more than %d steps for this value", maxWork)

// work counts the steps of one check at a time.
type work struct {
	mu   sync.Mutex
	left int
}

// bounded runs a check, which ends with errWork when there is no work left for it.
func (w *work) bounded(check func() error) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = maxWork
	defer func() {
		if x := recover(); x == errWork {
			err = errWork
		} else if x != nil {
			panic(x)
		}
	}()
	return check()
}

// compile hooks the counter into every schema, also the inner ones.
func (w *work) compile(_ *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
	patterns, _ := schema["patternProperties"].(map[string]any)
	values, _ := schema["enum"].([]any)
	return &counter{w, 1 + len(patterns), len(values)}, nil
}

// counter counts how often one schema meets a value.
type counter struct {
	*work
	each, once int
}

// textUnit is how many bytes of a text count as one step.
const textUnit = 64

// Validate implements [jsonschema.SchemaExt].
func (c *counter) Validate(_ *jsonschema.ValidatorContext, v any) {
	size := 1
	switch v := v.(type) {
	case string:
		size += len(v) / textUnit
	case []any:
		size += len(v)
	case map[string]any:
		size += len(v)
	}
	if c.left -= size*c.each + c.once; c.left < 0 {
		panic(errWork)
	}
}

// asGo is a value as the library wants it.
func asGo(v expr.Value) any {
	switch v := v.(type) {
	case []expr.Value:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = asGo(e)
		}
		return list
	case *expr.Object:
		members := make(map[string]any, v.Len())
		for name, e := range v.All() {
			members[name] = asGo(e)
		}
		return members
	case expr.Number:
		return asGoNumber(v)
	}
	return v
}

// asGoNumber keeps the digits of a number that is within the range of floating point; others become its ends, because a
// short text can stand for very many digits.
func asGoNumber(n expr.Number) any {
	f, err := json.Number(n).Float64()
	switch {
	case err != nil && f < 0:
		return -math.MaxFloat64
	case err != nil:
		return math.MaxFloat64
	case f == 0:
		return 0.0
	}
	return json.Number(n)
}
