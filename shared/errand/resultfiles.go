package errand

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/expr"
)

// MaxResultFile is after how many bytes a file of results is closed, and another one begun.
const MaxResultFile = 16 << 20

// resultFiles writes the files of a run: those of each group with numbers, then the manifest.
type resultFiles struct {
	writer         *builtin.S3
	bucket, folder string
	lines          bool
	groups         []*resultGroup
}

// resultGroups are the groups of executions by status, in the order of the manifest.
var resultGroups = []string{"FAILED", "PENDING", "SUCCEEDED"}

func newResultFiles(writer *builtin.S3, o *expr.Object) *resultFiles {
	f := &resultFiles{writer: writer, bucket: text(o, "Bucket"), folder: text(o, "Folder"), lines: flag(o, "Lines")}
	for _, name := range resultGroups {
		f.groups = append(f.groups, &resultGroup{name: name})
	}
	return f
}

// resultGroup is what is written of one group.
type resultGroup struct {
	name    string
	open    bytes.Buffer // the file that is not written yet
	written []expr.Value // the others, as the manifest has them
}

func (f *resultFiles) add(ctx context.Context, group string, entries []expr.Value) error {
	g := f.groups[slices.Index(resultGroups, group)]
	for _, entry := range entries {
		line := expr.Marshal(entry)
		if g.open.Len() > 0 && g.open.Len()+len(line) > MaxResultFile {
			if err := f.flush(ctx, g); err != nil {
				return err
			}
		}
		switch {
		case f.lines:
		case g.open.Len() == 0:
			g.open.WriteByte('[')
		default:
			g.open.WriteByte(',')
		}
		g.open.Write(line)
		if f.lines {
			g.open.WriteByte('\n')
		}
	}
	return nil
}

// flush writes the open file of a group.
func (f *resultFiles) flush(ctx context.Context, g *resultGroup) error {
	ending, kind := ".json", "application/json"
	if f.lines {
		ending, kind = ".jsonl", "application/jsonl"
	} else {
		g.open.WriteByte(']')
	}
	key := f.folder + g.name + "_" + strconv.Itoa(len(g.written)) + ending
	if err := f.writer.Put(ctx, f.bucket, key, kind, g.open.Bytes()); err != nil {
		return err
	}
	g.written = append(g.written, expr.NewObject(
		expr.Member{Name: "Key", Value: key}, expr.Member{Name: "Size", Value: expr.NumberOf(int64(g.open.Len()))},
	))
	g.open.Reset()
	return nil
}

// close writes what is left, and the manifest.
func (f *resultFiles) close(ctx context.Context, arn string) error {
	files := expr.NewObject()
	for _, g := range f.groups {
		if g.open.Len() > 0 {
			if err := f.flush(ctx, g); err != nil {
				return err
			}
		}
		if g.written == nil {
			g.written = []expr.Value{}
		}
		files.Set(g.name, g.written)
	}
	manifest := expr.NewObject(
		expr.Member{Name: "DestinationBucket", Value: f.bucket}, expr.Member{Name: "MapRunArn", Value: arn},
		expr.Member{Name: "ResultFiles", Value: files},
	)
	return f.writer.Put(ctx, f.bucket, f.folder+"manifest.json", "application/json", expr.Marshal(manifest))
}
