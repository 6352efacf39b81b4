package errand

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/worker"
)

const (
	// MaxItemBytes bounds the items of one Map, together, as JSON. An object is read as a stream, so a larger one will do where
	// MaxItems takes its beginning.
	MaxItemBytes = 4 << 20
	// maxLine bounds one line of an object.
	maxLine = 1 << 20

	codeItems = "States.ItemReaderFailed"
)

// errEnough ends the reading of what has as many items as are wanted.
var errEnough = errors.New("enough")

// buckets reads the items of Maps.
type buckets struct{ reader *builtin.S3 }

// read gives the items that the input describes.
func (b *buckets) read(ctx context.Context, _ worker.Task, in value) (value, error) {
	o, _ := in.Value.(*expr.Object)
	parameters, config := object(o, "Parameters"), object(o, "ReaderConfig")
	items := &gathered{}
	items.most = whole(config, "MaxItems")
	var err error
	if strings.HasSuffix(text(o, "Resource"), ":listObjectsV2") {
		err = b.list(ctx, parameters, items)
	} else {
		err = b.object(ctx, parameters, config, items)
	}
	switch {
	case err == nil, errors.Is(err, errEnough):
		return value{items.list}, nil
	case errors.Is(err, builtin.ErrForbidden):
		return value{}, worker.Errorf(codePermissions, "%v", err)
	}
	return value{}, worker.Errorf(codeItems, "%v", err)
}

// gathered are the items so far.
type gathered struct {
	list []expr.Value
	most int64 // zero for any number
	size int
}

func (g *gathered) add(v expr.Value) error {
	g.size += len(expr.Marshal(v)) + 1
	if g.size > MaxItemBytes {
		return fmt.Errorf("the items have more than %d bytes", MaxItemBytes)
	}
	g.list = append(g.list, v)
	if g.most > 0 && int64(len(g.list)) >= g.most {
		return errEnough
	}
	return nil
}

// list takes the objects of a bucket as items.
func (b *buckets) list(ctx context.Context, parameters *expr.Object, items *gathered) error {
	var full error
	err := b.reader.List(ctx, text(parameters, "Bucket"), text(parameters, "Prefix"), func(o types.Object) bool {
		full = items.add(shownObject(o))
		return full == nil
	})
	return errors.Join(err, full)
}

// shownObject shows one object of a bucket as the reference service does.
func shownObject(o types.Object) expr.Value {
	item := expr.NewObject()
	if o.ETag != nil {
		item.Set("Etag", *o.ETag)
	}
	if o.Key != nil {
		item.Set("Key", *o.Key)
	}
	if o.LastModified != nil {
		item.Set("LastModified", expr.NumberOf(o.LastModified.Unix()))
	}
	if o.Size != nil {
		item.Set("Size", expr.NumberOf(*o.Size))
	}
	item.Set("StorageClass", string(o.StorageClass))
	return item
}

// object takes what an object holds as items.
func (b *buckets) object(ctx context.Context, parameters, config *expr.Object, items *gathered) error {
	in := place{text(parameters, "Bucket"), text(parameters, "Key"), text(parameters, "VersionId")}
	switch kind := text(config, "InputType"); {
	case kind == "MANIFEST":
		return b.inventory(ctx, in, items)
	case text(config, "ManifestType") == "ATHENA_DATA":
		return b.unloaded(ctx, in, config, items)
	}
	return b.open(ctx, in, func(r *bufio.Reader) error { return readAs(r, config, items) })
}

// place is where an object lies.
type place struct{ bucket, key, version string }

// open reads an object, as it is or unpacked where it is packed by gzip.
func (b *buckets) open(ctx context.Context, in place, read func(*bufio.Reader) error) error {
	body, err := b.reader.Open(ctx, in.bucket, in.key, in.version)
	if err != nil {
		return err
	}
	defer body.Close()
	r := bufio.NewReader(body)
	if mark, _ := r.Peek(2); strings.HasSuffix(in.key, ".gz") || bytes.Equal(mark, []byte{0x1f, 0x8b}) {
		packed, err := gzip.NewReader(r)
		if err != nil {
			return fmt.Errorf("%s: %w", in.key, err)
		}
		r = bufio.NewReader(packed)
	}
	if mark, _ := r.Peek(3); bytes.Equal(mark, []byte("\uFEFF")) {
		_, _ = r.Discard(3) // they are there
	}
	return read(r)
}

// readAs takes the items of an object by its InputType.
func readAs(r io.Reader, config *expr.Object, items *gathered) error {
	switch text(config, "InputType") {
	case "CSV":
		return readCSV(r, config, items)
	case "JSONL":
		return readLines(r, items)
	}
	return readJSON(r, text(config, "ItemsPointer"), items)
}

// readLines takes each line as an item.
func readLines(r io.Reader, items *gathered) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		v, err := expr.Parse(line)
		if err != nil {
			return fmt.Errorf("line %d is no JSON: %w", n, err)
		}
		if err := items.add(v); err != nil {
			return err
		}
	}
	return lines.Err()
}

// errNotIterable is the reference service's word for what is no array.
//
//lint:ignore ST1005 as the reference service says it
var errNotIterable = errors.New("Attempting to map over non-iterable node.")

// readJSON takes the elements of the array that the pointer leads to; empty for the whole text.
func readJSON(r io.Reader, pointer string, items *gathered) error {
	d := json.NewDecoder(r)
	d.UseNumber()
	if err := goTo(d, pointer); err != nil {
		return err
	}
	token, err := d.Token()
	switch {
	case err != nil:
		return fmt.Errorf("the object is no JSON: %w", err)
	case token != json.Delim('['):
		return errNotIterable
	}
	for d.More() {
		var element json.RawMessage
		if err := d.Decode(&element); err != nil {
			return fmt.Errorf("the object is no JSON: %w", err)
		}
		v, err := expr.Parse(element)
		if err != nil {
			return fmt.Errorf("item %d: %w", len(items.list), err)
		}
		if err := items.add(v); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// goTo reads up to the value that a JSON Pointer names.
func goTo(d *json.Decoder, pointer string) error {
	if pointer == "" {
		return nil
	}
	for name := range strings.SplitSeq(pointer[1:], "/") {
		if err := enter(d, strings.NewReplacer("~1", "/", "~0", "~").Replace(name)); err != nil {
			return fmt.Errorf("ItemsPointer %s: %w", pointer, err)
		}
	}
	return nil
}

// enter reads up to a member of an object, or an element of an array.
func enter(d *json.Decoder, name string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	for i := 0; d.More(); i++ {
		at := strconv.Itoa(i)
		switch token {
		case json.Delim('{'):
			member, err := d.Token()
			if err != nil {
				return err
			}
			at, _ = member.(string)
		case json.Delim('['):
		default:
			return errNotIterable
		}
		if at == name {
			return nil
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
	}
	return fmt.Errorf("there is no %q", name)
}

// delimiters are the characters of CSVDelimiter.
var delimiters = map[string]rune{"": ',', "COMMA": ',', "PIPE": '|', "SEMICOLON": ';', "SPACE": ' ', "TAB": '\t'}

// readCSV takes each row as an item, its fields by the headers. A field that is not there is empty, and one without a header
// is left out.
func readCSV(r io.Reader, config *expr.Object, items *gathered) error {
	rows := csv.NewReader(r)
	rows.Comma, rows.FieldsPerRecord, rows.LazyQuotes, rows.ReuseRecord = delimiters[text(config, "CSVDelimiter")], -1, true, true
	headers, err := headersOfCSV(rows, config)
	if err != nil {
		return err
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		item := expr.NewObject()
		for i, name := range headers {
			field := ""
			if i < len(row) {
				field = row[i]
			}
			v, err := storable(field)
			if err != nil {
				return fmt.Errorf("item %d: %w", len(items.list), err)
			}
			item.Set(name, v)
		}
		if err := items.add(item); err != nil {
			return err
		}
	}
}

func headersOfCSV(rows *csv.Reader, config *expr.Object) ([]string, error) {
	var headers []string
	if text(config, "CSVHeaderLocation") == "GIVEN" {
		given, _ := config.Get("CSVHeaders")
		for _, v := range listed(given) {
			headers = append(headers, scalar(v))
		}
	} else {
		row, err := rows.Read()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		headers = append(headers, row...)
	}
	seen := map[string]bool{}
	for _, name := range headers {
		if seen[name] {
			//lint:ignore ST1005 as the reference service says it
			return nil, errors.New("CSV headers cannot contain duplicates.")
		}
		seen[name] = true
	}
	return headers, nil
}
