package definition

import (
	"strings"

	"github.com/orrery-dev/orrery/shared/expr"
)

// putObject is the service that the results of a Map are written to.
const putObject = ":states:::s3:putObject"

// writer reads a ResultWriter.
func (b *builder) writer(s *State, f fields, lang expr.Language) {
	f.only("A ResultWriter", append(ownedBy(lang, expr.ResultWriter), writerFields...), languageFields)
	w := &Writer{Transformation: Described}
	s.Writer = w
	s.MaxRedeliveries, s.WhenUncertain = DefaultMaxRedeliveries, UncertainWaits
	parameters, problems := lang.Template(f.o, "Parameters")
	b.fromExpr(f.at, problems)
	w.Parameters = parameters
	text, there := f.text("Resource")
	if config, ok := f.object("WriterConfig"); ok {
		b.writerConfig(w, config, there)
	}
	at := f.at.member("Resource")
	switch {
	case !f.has("Resource") && !f.has("WriterConfig"):
		b.errorf(f.at, RuleRequired, "One of these fields is required: [Resource, WriterConfig]")
	case !f.has("Resource") && f.has("Parameters"):
		f.require("Resource")
	case there && (!strings.HasPrefix(text, "arn:") || !strings.HasSuffix(text, putObject)):
		b.errorf(at, RuleResource, "Resource: results are written by arn:aws:states:::s3:putObject.")
	case there:
		w.Resource = &Resource{Kind: ResourceResults, Text: text, Contract: ResultsContract}
		f.require("Parameters")
	}
	if w.ByServer() && b.off[ResourceItems] != "" {
		b.errorf(f.at, RuleOff, "The server does not write results: %s.", b.off[ResourceItems])
	}
}

// writerConfig reads a WriterConfig; written tells whether there is a place to write to.
func (b *builder) writerConfig(w *Writer, f fields, written bool) {
	f.only("A WriterConfig", configOfWriter, nil)
	if !f.has("Transformation") && !f.has("OutputType") {
		b.errorf(f.at, RuleRequired, "One of these fields is required: [Transformation, OutputType]")
	}
	usual := Compact
	if written {
		usual = Described
	}
	w.Transformation = Transformation(f.word("Transformation", string(usual), string(Described), string(Compact), string(Flattened)))
	w.Lines = f.word("OutputType", "JSON", "JSON", "JSONL") == "JSONL"
	if w.Lines && !written {
		b.errorf(f.at.member("OutputType"), RuleNotBuilt, "A state gives JSON: JSONL is for results that are written to a Resource.")
	}
}
