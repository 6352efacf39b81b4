package errand

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/orrery-dev/orrery/shared/expr"
)

const (
	// maxManifest bounds the text of an inventory's manifest, and maxListed the objects that a manifest lists.
	maxManifest = 4 << 20
	maxListed   = 10_000
)

// inventoryManifest is what the manifest of an S3 inventory tells, as far as it matters.
type inventoryManifest struct {
	DestinationBucket string `json:"destinationBucket"` // an ARN
	FileFormat        string `json:"fileFormat"`
	FileSchema        string `json:"fileSchema"` // names of columns, with commas
	Files             []struct {
		Key string `json:"key"`
	} `json:"files"`
}

// inventory takes the rows of an S3 inventory as items: the objects of a bucket, each with what the inventory has of it.
func (b *buckets) inventory(ctx context.Context, in place, items *gathered) error {
	var m inventoryManifest
	err := b.open(ctx, in, func(r *bufio.Reader) error {
		content, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
		switch {
		case err != nil:
			return err
		case len(content) > maxManifest:
			return fmt.Errorf("the manifest has more than %d bytes", maxManifest)
		}
		if err := json.Unmarshal(content, &m); err != nil {
			return fmt.Errorf("the manifest is none of an S3 inventory: %w", err)
		}
		return nil
	})
	bucket := m.DestinationBucket[strings.LastIndexByte(m.DestinationBucket, ':')+1:]
	switch {
	case err != nil:
		return err
	case m.FileFormat != "CSV":
		return fmt.Errorf("an inventory in the format %q cannot be read, only CSV", m.FileFormat)
	case bucket == "" || m.FileSchema == "":
		return errors.New("the manifest is none of an S3 inventory: it has no destinationBucket or no fileSchema")
	case len(m.Files) > maxListed:
		return fmt.Errorf("the manifest lists %d files, %d are allowed", len(m.Files), maxListed)
	}
	var names []expr.Value
	for name := range strings.SplitSeq(m.FileSchema, ",") {
		v, err := storable(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		names = append(names, v)
	}
	config := expr.NewObject(
		expr.Member{Name: "InputType", Value: "CSV"}, expr.Member{Name: "CSVHeaderLocation", Value: "GIVEN"}, expr.Member{Name: "CSVHeaders", Value: names},
	)
	for _, file := range m.Files {
		err := b.open(ctx, place{bucket: bucket, key: file.Key}, func(r *bufio.Reader) error { return readAs(r, config, items) })
		if err != nil {
			return named(err, bucket, file.Key)
		}
	}
	return nil
}

// named tells the object that an error is of, unless there are enough items.
func named(err error, bucket, key string) error {
	if errors.Is(err, errEnough) {
		return err
	}
	return fmt.Errorf("s3://%s/%s: %w", bucket, key, err)
}

// unloaded takes the items of the files that Athena has unloaded: the manifest has the address of one on each line.
func (b *buckets) unloaded(ctx context.Context, in place, config *expr.Object, items *gathered) error {
	var files []place
	err := b.open(ctx, in, func(r *bufio.Reader) error {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			line := strings.Trim(strings.TrimSpace(lines.Text()), `"`)
			if line == "" {
				continue
			}
			rest, ok := strings.CutPrefix(line, "s3://")
			bucket, key, both := strings.Cut(rest, "/")
			switch {
			case !ok || !both || bucket == "" || key == "":
				return errors.New("the manifest must have an address such as s3://bucket/key on each line")
			case len(files) == maxListed:
				return fmt.Errorf("the manifest lists more than %d files", maxListed)
			}
			files = append(files, place{bucket: bucket, key: key})
		}
		return lines.Err()
	})
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := b.open(ctx, file, func(r *bufio.Reader) error { return readAs(r, config, items) }); err != nil {
			return named(err, file.bucket, file.key)
		}
	}
	return nil
}
