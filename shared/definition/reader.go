package definition

import (
	"slices"
	"strings"

	"github.com/orrery-dev/orrery/shared/expr"
)

// The services that the items of a Map are read from.
const (
	getObject   = ":states:::s3:getObject"
	listObjects = ":states:::s3:listObjectsV2"
)

// reader reads an ItemReader.
func (b *builder) reader(s *State, f fields, lang expr.Language) {
	f.only("An ItemReader", append(ownedBy(lang, expr.ItemReader), readerFields...), languageFields)
	f.require("Resource")
	parameters, problems := lang.Template(f.o, "Parameters")
	b.fromExpr(f.at, problems)
	s.Reader = &Reader{Parameters: parameters, Config: expr.NewObject()}
	s.MaxRedeliveries, s.WhenUncertain = DefaultMaxRedeliveries, UncertainWaits
	if config, ok := f.object("ReaderConfig"); ok {
		b.readerConfig(s.Reader, config, lang)
	}
	text, ok := f.text("Resource")
	at := f.at.member("Resource")
	lists := strings.HasSuffix(text, listObjects)
	switch {
	case !ok:
	case !strings.HasPrefix(text, "arn:") || !lists && !strings.HasSuffix(text, getObject):
		b.errorf(at, RuleResource, "Resource: items are read by arn:aws:states:::s3:getObject or arn:aws:states:::s3:listObjectsV2.")
	case b.off[ResourceItems] != "":
		b.errorf(at, RuleOff, "The server does not read items: %s.", b.off[ResourceItems])
	}
	s.Resource = &Resource{Kind: ResourceItems, Text: text, Contract: ItemsContract}
	if _, there := s.Reader.Config.Get("InputType"); there == lists && ok {
		b.errorf(f.at, RuleRequired, "An ItemReader has an InputType in its ReaderConfig where it reads an object, and only there.")
	}
}

// readerConfig reads a ReaderConfig. What it has is kept as written, without the number of items.
func (b *builder) readerConfig(r *Reader, f fields, lang expr.Language) {
	f.only("A ReaderConfig", append(ownedBy(lang, expr.ReaderConfig), configOfReader...), languageFields)
	r.MaxItems = b.integer(f, lang, "MaxItems")
	for _, name := range configOfReader {
		if v, ok := f.o.Get(name); ok && name != "MaxItems" {
			r.Config.Set(name, v)
		}
	}
	kind := f.word("InputType", "JSON", "JSON", "JSONL", "CSV", "PARQUET", "MANIFEST")
	b.manifest(f, kind)
	switch kind {
	case "PARQUET":
		b.errorf(f.at.member("InputType"), RuleNotBuilt, "This version does not read items from PARQUET: it is not built yet.")
	case "CSV":
		b.csv(f)
		return
	}
	for _, name := range []string{"CSVHeaderLocation", "CSVHeaders", "CSVDelimiter"} {
		if f.has(name) {
			b.errorf(f.at.member(name), RuleMisplaced, "Only a ReaderConfig whose InputType is CSV has the field %q.", name)
		}
	}
	f.word("Transformation", "NONE", "NONE")
	if pointer, ok := f.text("ItemsPointer"); ok && pointer != "" && pointer[0] != '/' {
		b.errorf(f.at.member("ItemsPointer"), RuleValue, "An ItemsPointer is a JSON Pointer: empty, or it begins with /.")
	}
}

// manifest reads whether the object lists others that the items are in: those of an inventory are tables, those that Athena has
// unloaded are of the InputType.
func (b *builder) manifest(f fields, kind string) {
	if !f.has("ManifestType") {
		return
	}
	at := f.at.member("ManifestType")
	switch f.word("ManifestType", "S3_INVENTORY", "S3_INVENTORY", "ATHENA_DATA") {
	case "S3_INVENTORY":
		if kind != "MANIFEST" {
			b.errorf(at, RuleValue, "The InputType of an S3_INVENTORY is MANIFEST.")
		}
	case "ATHENA_DATA":
		if kind != "CSV" && kind != "JSONL" && kind != "PARQUET" {
			b.errorf(at, RuleValue, "The InputType of ATHENA_DATA is what the files are that it lists: CSV or JSONL.")
		}
	}
}

// csv reads what a ReaderConfig has for CSV.
func (b *builder) csv(f fields) {
	f.require("CSVHeaderLocation")
	given := f.word("CSVHeaderLocation", "FIRST_ROW", "FIRST_ROW", "GIVEN") == "GIVEN"
	f.word("CSVDelimiter", "COMMA", "COMMA", "PIPE", "SEMICOLON", "SPACE", "TAB")
	if given {
		f.require("CSVHeaders")
	}
	list, _ := f.list("CSVHeaders")
	if slices.ContainsFunc(list, func(v expr.Value) bool { _, ok := v.(string); return !ok }) {
		b.errorf(f.at.member("CSVHeaders"), RuleType, "CSVHeaders must be texts.")
	}
}
