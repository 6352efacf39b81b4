package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// bucket is a server that speaks S3, with one bucket of the name "data", and a gate before one key.
type bucket struct {
	t      *testing.T
	url    string
	client *s3.Client

	mu      sync.Mutex
	key     string        // the end of the path that is held back
	came    chan struct{} // closed when somebody has come to it
	release chan struct{}
}

func newBucket(t *testing.T) *bucket {
	t.Helper()
	b := &bucket{t: t}
	inner := gofakes3.New(s3mem.New()).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.hold(r)
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	b.client = s3.New(s3.Options{
		BaseEndpoint: aws.String(b.url), UsePathStyle: true, Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""),
	})
	if _, err := b.client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("data")}); err != nil {
		t.Fatal(err)
	}
	return b
}

// settings have nodes use it.
func (b *bucket) settings() []string {
	return []string{
		"ORRERY_S3_ALLOW=data", "ORRERY_S3_PATH_STYLE=true", "AWS_ENDPOINT_URL_S3=" + b.url, "AWS_REGION=eu-west-1",
		"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key",
	}
}

func (b *bucket) put(key, content string) {
	b.t.Helper()
	_, err := b.client.PutObject(b.t.Context(), &s3.PutObjectInput{Bucket: aws.String("data"), Key: &key, Body: strings.NewReader(content)})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bucket) read(key string, into any) {
	b.t.Helper()
	o, err := b.client.GetObject(b.t.Context(), &s3.GetObjectInput{Bucket: aws.String("data"), Key: &key})
	if err != nil {
		b.t.Fatal(err)
	}
	defer o.Body.Close()
	if err := json.NewDecoder(o.Body).Decode(into); err != nil {
		b.t.Fatal(err)
	}
}

// close holds back requests for a key until open is called; came tells of the first one.
func (b *bucket) close(key string) (came <-chan struct{}, open func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.key, b.came, b.release = key, make(chan struct{}), make(chan struct{})
	return b.came, sync.OnceFunc(func() { close(b.release) })
}

func (b *bucket) hold(r *http.Request) {
	b.mu.Lock()
	release := b.release
	held := b.key != "" && strings.HasSuffix(r.URL.Path, b.key)
	if held {
		select {
		case <-b.came:
		default:
			close(b.came)
		}
	}
	b.mu.Unlock()
	if held {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
}

const objectsDocument = `
StartAt: Each
States:
  Each:
    Type: Map
    ItemReader:
      Resource: arn:aws:states:::s3:getObject
      Parameters: {Bucket: data, Key.$: $.key}
      ReaderConfig: {InputType: CSV, CSVHeaderLocation: FIRST_ROW}
    ToleratedFailurePercentage: 50
    ItemProcessor:
      ProcessorConfig: {Mode: DISTRIBUTED, ExecutionType: STANDARD}
      StartAt: Do
      States: {Do: {Type: Task, Resource: 'task:objects.do', End: true}}
    ResultWriter: {Resource: 'arn:aws:states:::s3:putObject', Parameters: {Bucket: data, Prefix: out}}
    End: true
`

// TestItemsAndResultsInS3 has nodes read the items of a Map from S3 and write its results there, and kills the one that owns the
// execution: while the items are read, and while the results are written.
func TestItemsAndResultsInS3(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.put("in.csv", "n,ok\n1,yes\n2,no\n3,yes\n")
	s := newSystem(t, Options{NodeSettings: b.settings(), SessionTimeout: 5 * time.Second})
	text, err := json.Marshal(objectsDocument)
	if err != nil {
		t.Fatal(err)
	}
	s.call(s.nodes[0], "POST", wire.Path("workflows"), wire.PublishRequest{Name: "objects", Document: text}, nil)
	w := worker.New(s.workerConfig("does", s.URL))
	worker.Handle(w, "objects.do", 1, func(_ context.Context, _ worker.Task, in struct{ N, OK string }) (string, error) {
		if in.OK != "yes" {
			return "", worker.Finalf("Refused", "row %s", in.N)
		}
		return "did " + in.N, nil
	})
	s.work(w)
	for i, held := range []string{"/in.csv", "/manifest.json"} {
		name := fmt.Sprintf("objects-%d", i)
		came, open := b.close(held)
		s.start([]starting{{wire.StartRequest{Workflow: "objects", Name: name, Input: json.RawMessage(`{"key":"in.csv"}`)}, s.nodes[i]}})
		select {
		case <-came:
		case <-time.After(time.Minute):
			t.Fatalf("nobody asked for %s", held)
		}
		s.killOwner(name)
		open()
		s.awaitEnd(time.Minute)
		d := s.detail(name)
		var given struct {
			MapRunArn           string
			ResultWriterDetails struct{ Bucket, Key string }
		}
		if err := json.Unmarshal(d.Output, &given); err != nil || d.Status != wire.Succeeded {
			t.Fatalf("%s is %s with %s and %+v", name, d.Status, d.Output, d.Error)
		}
		b.checkResults(given.ResultWriterDetails.Key, given.MapRunArn)
	}
}

// killOwner kills the node that owns an execution, and runs it again once another one owns it.
func (s *system) killOwner(name string) {
	s.t.Helper()
	owner := s.detail(name).Owner
	for _, n := range s.Nodes {
		if owner == nil || n.ID != owner.Node {
			continue
		}
		if err := n.Kill(); err != nil {
			s.t.Fatal(err)
		}
		for late := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			if now := s.detail(name).Owner; now != nil && now.Node != n.ID {
				break
			}
			if time.Now().After(late) {
				s.t.Fatalf("nobody takes over from %s", n.ID)
			}
		}
		if err := n.Start(); err != nil {
			s.t.Fatal(err)
		}
		if err := n.WaitReady(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	s.t.Fatalf("%s is owned by %+v", name, owner)
}

func (b *bucket) checkResults(manifest, arn string) {
	b.t.Helper()
	var m struct {
		DestinationBucket, MapRunArn string
		ResultFiles                  map[string][]struct{ Key string }
	}
	b.read(manifest, &m)
	if m.DestinationBucket != "data" || m.MapRunArn != arn || len(m.ResultFiles["SUCCEEDED"]) != 1 || len(m.ResultFiles["FAILED"]) != 1 || len(m.ResultFiles["PENDING"]) != 0 {
		b.t.Fatalf("manifest of %s: %+v", arn, m)
	}
	type result struct{ Name, Input, Output, Error, Cause, Status string }
	var good, bad []result
	b.read(m.ResultFiles["SUCCEEDED"][0].Key, &good)
	b.read(m.ResultFiles["FAILED"][0].Key, &bad)
	run := arn[strings.LastIndexByte(arn, ':')+1:]
	want := []result{
		{run + "-0", `{"n":"1","ok":"yes"}`, `"did 1"`, "", "", "SUCCEEDED"}, {run + "-2", `{"n":"3","ok":"yes"}`, `"did 3"`, "", "", "SUCCEEDED"},
		{run + "-1", `{"n":"2","ok":"no"}`, "", "Refused", "row 2", "FAILED"},
	}
	if got := append(good, bad...); fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Errorf("got  %v\nwant %v", got, want)
	}
}
