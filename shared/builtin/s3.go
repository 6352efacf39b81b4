package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// S3 reads and writes buckets that are allowed. It is safe for concurrent use.
type S3 struct {
	patterns []string
	client   *s3.Client
}

// NewS3 makes a client of the buckets whose name a pattern of the list matches, which has commas: * stands for any characters.
// It is nil where the list is empty. Region, credentials and endpoint are those of the environment; pathStyle is for servers
// that find the bucket in the path, as most do that are not AWS's.
func NewS3(ctx context.Context, list string, pathStyle bool) (*S3, error) {
	r := &S3{}
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			r.patterns = append(r.patterns, entry)
		}
	}
	if len(r.patterns) == 0 {
		return nil, nil
	}
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("builtin: configuration of AWS: %w", err)
	}
	r.client = s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = pathStyle })
	return r, nil
}

func (r *S3) allowed(bucket string) error {
	if slices.ContainsFunc(r.patterns, func(p string) bool { return matches(p, bucket) }) {
		return nil
	}
	return fmt.Errorf("%w: the bucket %s", ErrForbidden, bucket)
}

// Open begins to read an object; version is empty for the newest.
func (r *S3) Open(ctx context.Context, bucket, key, version string) (io.ReadCloser, error) {
	if err := r.allowed(bucket); err != nil {
		return nil, err
	}
	in := &s3.GetObjectInput{Bucket: &bucket, Key: &key}
	if version != "" {
		in.VersionId = &version
	}
	out, err := r.client.GetObject(ctx, in)
	if err != nil {
		return nil, s3Error(err)
	}
	return out.Body, nil
}

// List gives the objects of a bucket whose keys begin with prefix, in order, until each says no.
func (r *S3) List(ctx context.Context, bucket, prefix string, each func(types.Object) bool) error {
	if err := r.allowed(bucket); err != nil {
		return err
	}
	pages := s3.NewListObjectsV2Paginator(r.client, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return s3Error(err)
		}
		for _, o := range page.Contents {
			if !each(o) {
				return nil
			}
		}
	}
	return nil
}

// Put writes an object, in the place of one that has the key already.
func (r *S3) Put(ctx context.Context, bucket, key, kind string, body []byte) error {
	if err := r.allowed(bucket); err != nil {
		return err
	}
	_, err := r.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, ContentType: &kind, Body: bytes.NewReader(body)})
	if err != nil {
		return s3Error(err)
	}
	return nil
}

// s3Error names what the service says, by its code.
func s3Error(err error) error {
	if said, ok := errors.AsType[smithy.APIError](err); ok {
		return fmt.Errorf("S3.%s: %s", said.ErrorCode(), said.ErrorMessage())
	}
	return fmt.Errorf("builtin: S3: %w", err)
}
