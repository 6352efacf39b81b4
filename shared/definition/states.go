package definition

import (
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/expr"
)

// fill reads the fields that depend on the type of a state.
func (b *builder) fill(s *State, f fields, lang expr.Language) {
	flow, problems := lang.Flow(expr.Kind(s.Type), f.o)
	b.fromExpr(f.at, problems)
	s.Flow = flow
	switch s.Type {
	case Task:
		b.task(s, f, lang)
	case Wait:
		b.wait(s, f, lang)
	case Choice:
		b.choice(s, f, lang)
	case Parallel:
		b.branches(s, f)
		b.handlers(s, f, lang)
	case Map:
		b.mapState(s, f, lang)
	case Fail:
		s.Error = b.text(f, lang, "Error")
		s.Cause = b.text(f, lang, "Cause")
	}
}

// integer reads a whole number that is a constant or an expression.
func (b *builder) integer(f fields, lang expr.Language, name string) expr.Field[int64] {
	field, problems := lang.Integer(f.o, name)
	b.fromExpr(f.at, problems)
	return field
}

// text reads a string that is a constant or an expression.
func (b *builder) text(f fields, lang expr.Language, name string) expr.Field[string] {
	field, problems := lang.Text(f.o, name)
	b.fromExpr(f.at, problems)
	return field
}

// wait reads a Wait: exactly one of Seconds and Timestamp, in any of the forms
// that the language has for them.
func (b *builder) wait(s *State, f fields, lang expr.Language) {
	before := b.errors
	s.Seconds = b.integer(f, lang, "Seconds")
	timestamp, problems := lang.Instant(f.o, "Timestamp")
	b.fromExpr(f.at, problems)
	s.Timestamp = timestamp
	switch {
	case s.Seconds != nil && s.Timestamp != nil:
		b.errorf(f.at, RuleExclusive, "A Wait has one of Seconds and Timestamp, not both.")
	case s.Seconds == nil && s.Timestamp == nil && b.errors == before && !f.has("Seconds") && !f.has("Timestamp"):
		b.errorf(f.at, RuleRequired, "One of these fields is required: [Seconds, SecondsPath, Timestamp, TimestampPath]")
	}
}

// choice reads the rules of a Choice.
func (b *builder) choice(s *State, f fields, lang expr.Language) {
	for _, element := range b.steps(f, "Choices", f.filled("Choices")) {
		rule, problems := lang.Rule(f.o, element.o)
		b.fromExpr(element.at, problems)
		s.Choices = append(s.Choices, Rule{Rule: rule, Next: b.link(element, "Next")})
	}
	if s.Default = b.link(f, "Default"); !f.has("Default") {
		b.warnf(f.at, RuleNoDefault, "The Choice has no Default: an input that no rule matches fails with States.NoChoiceMatched.")
	}
}

// steps are the elements of Choices or Catch, each of which needs a Next.
func (b *builder) steps(f fields, name string, list []expr.Value) []fields {
	found := f.elements(name, list)
	if len(found) < len(list) {
		b.ways.broken = true
	}
	for _, element := range found {
		element.require("Next")
		if !element.has("Next") {
			b.ways.broken = true
		}
	}
	return found
}

// mapState reads a Map.
func (b *builder) mapState(s *State, f fields, lang expr.Language) {
	b.processor(s, f)
	b.handlers(s, f, lang)
	items, problems := lang.Items(f.o)
	b.fromExpr(f.at, problems)
	s.Items = items
	s.MaxConcurrency = b.integer(f, lang, "MaxConcurrency")
	s.ToleratedFailureCount = b.integer(f, lang, "ToleratedFailureCount")
	percentage, problems := lang.Decimal(f.o, "ToleratedFailurePercentage")
	b.fromExpr(f.at, problems)
	s.ToleratedFailurePercentage = percentage
	b.distributed(s, f, lang)
}

// distributed reads what only a Map has whose iterations are executions.
func (b *builder) distributed(s *State, f fields, lang expr.Language) {
	for _, name := range []string{"Label", "ItemBatcher", "ItemReader", "ResultWriter"} {
		if f.has(name) && !s.Distributed {
			b.errorf(f.at.member(name), RuleMisplaced, "Only a Map whose ProcessorConfig has the Mode DISTRIBUTED has the field %q.", name)
		}
	}
	if label, ok := f.text("Label"); ok {
		if err := CheckName(label); err != nil || utf8.RuneCountInString(label) > maxLabel {
			b.errorf(f.at.member("Label"), RuleName, "A Label has 1 to %d characters that a name can have.", maxLabel)
		}
		s.Label = label
	}
	if reader, ok := f.object("ItemReader"); ok {
		b.reader(s, reader, lang)
	}
	if writer, ok := f.object("ResultWriter"); ok {
		b.writer(s, writer, lang)
	}
	if batcher, ok := f.object("ItemBatcher"); ok {
		s.Batcher = b.batcher(batcher, lang)
	}
}

// maxLabel is the length of a Label in characters.
const maxLabel = 40

// batcher reads an ItemBatcher.
func (b *builder) batcher(f fields, lang expr.Language) *Batcher {
	before := b.errors
	f.only("An ItemBatcher", append(ownedBy(lang, expr.ItemBatcher), batcherFields...), nil)
	made := &Batcher{MaxItems: b.integer(f, lang, "MaxItemsPerBatch"), MaxBytes: b.integer(f, lang, "MaxInputBytesPerBatch")}
	if made.MaxItems == nil && made.MaxBytes == nil && b.errors == before {
		b.errorf(f.at, RuleRequired, "One of these fields is required: [MaxItemsPerBatch, MaxInputBytesPerBatch]")
	}
	input, problems := lang.Template(f.o, "BatchInput")
	b.fromExpr(f.at, problems)
	made.Input = input
	return made
}

// branches reads the machines of a Parallel.
func (b *builder) branches(s *State, f fields) {
	for i, branch := range f.elements("Branches", f.filled("Branches")) {
		branch.only("A branch", machineFields, documentFields)
		s.Branches = append(s.Branches, b.machine(branch, s, i))
	}
}

// processor reads ItemProcessor, or Iterator as it was called before.
func (b *builder) processor(s *State, f fields) {
	f.exclusive("ItemProcessor", "Iterator")
	name := "ItemProcessor"
	if f.has("Iterator") {
		name = "Iterator"
	}
	f.require(name)
	p, ok := f.object(name)
	if !ok {
		return
	}
	p.only("An item processor", processorFields, documentFields)
	if config, ok := p.object("ProcessorConfig"); ok {
		config.only("ProcessorConfig", configFields, nil)
		config.word("ExecutionType", "STANDARD", "STANDARD", "EXPRESS")
		s.Distributed = config.word("Mode", "INLINE", "INLINE", "DISTRIBUTED") == "DISTRIBUTED"
	}
	s.Processor = b.machine(p, s, 0)
}
