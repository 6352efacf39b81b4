package errand_test

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/errand"
	"github.com/orrery-dev/orrery/shared/wire"
)

// kept are executions by name; those of running end at the second look.
type kept struct {
	mu      sync.Mutex
	list    map[string]wire.ExecutionDetail
	running map[string]bool
}

func (k *kept) Iterations(_ context.Context, c auth.Call, names []string) ([]wire.ExecutionDetail, error) {
	if c.Namespace != "default" {
		return nil, fmt.Errorf("the namespace %q", c.Namespace)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []wire.ExecutionDetail
	for _, name := range names {
		e, ok := k.list[name]
		if !ok {
			continue
		}
		if k.running[name] {
			e.Status, e.EndedAt, e.Error = wire.Running, time.Time{}, nil
			delete(k.running, name)
		}
		out = append(out, e)
	}
	return out, nil
}

func (k *kept) add(name, output string, status wire.Status, failure *wire.ExecutionError) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 5e6, time.UTC)
	d := wire.ExecutionDetail{Execution: wire.Execution{ID: name, Status: status, StartedAt: at, EndedAt: at.Add(time.Second)}, Input: []byte(`{"of":"` + name + `"}`), Error: failure}
	if output != "" {
		d.Output = []byte(output)
	}
	k.list[name] = d
}

// objects reads a bucket whole, by key.
func objects(t *testing.T, bucket string) map[string]string {
	t.Helper()
	c, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
	list, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, o := range list.Contents {
		got, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: o.Key})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		found[aws.ToString(o.Key)] = string(body)
	}
	return found
}

func TestResults(t *testing.T) {
	storage(t, "data", nil)
	k := &kept{list: map[string]wire.ExecutionDetail{}, running: map[string]bool{"new-1": true}}
	k.add("old-0", `[1,[2]]`, wire.Succeeded, nil)
	k.add("old-1", "", wire.Failed, &wire.ExecutionError{Code: "Boom", Message: "first"})
	k.add("new-1", "", wire.Cancelled, &wire.ExecutionError{Message: "stopped"})
	k.add("new-2", `{"b":1.0}`, wire.Succeeded, nil)
	d := open(t, errand.Config{S3Allow: "data,missing", S3PathStyle: true, Executions: k})
	task := func(where, how string) string {
		return `{` + where + `,"MapRunArn":"ns/wf/L:new","ExecutionArn":"ns/","StateMachineArn":"ns/wf","Runs":["new","old"],"Items":4,` +
			`"Pending":[{"Index":3,"Input":{"x":"y"}}],` + how + `}`
	}
	put := func(bucket, folder string) string {
		return `"Resource":"arn:aws:states:::s3:putObject","Bucket":"` + bucket + `","Folder":"` + folder + `"`
	}
	one := `{"ExecutionArn":"ns/old-0","Input":"{\"of\":\"old-0\"}","InputDetails":{"Included":true},"Name":"old-0","Output":"[1,[2]]",` +
		`"OutputDetails":{"Included":true},"RedriveCount":0,"RedriveStatus":"NOT_REDRIVABLE","RedriveStatusReason":"Execution is SUCCEEDED and cannot be redriven",` +
		`"StartDate":"2026-11-30T12:00:00.005Z","StateMachineArn":"ns/wf","Status":"SUCCEEDED","StopDate":"2026-11-30T12:00:01.005Z"}`
	failed := `{"Cause":"stopped","Error":"","ExecutionArn":"ns/new-1","Input":"{\"of\":\"new-1\"}","InputDetails":{"Included":true},"Name":"new-1",` +
		`"RedriveCount":0,"RedriveStatus":"REDRIVABLE_BY_MAP_RUN","StartDate":"2026-11-30T12:00:00.005Z","StateMachineArn":"ns/wf","Status":"ABORTED","StopDate":"2026-11-30T12:00:01.005Z"}`
	waits := `{"Input":"{\"x\":\"y\"}","InputDetails":{"Included":true},"StateMachineArn":"ns/wf","Status":"PENDING"}`
	for folder, tt := range map[string]struct{ how, ending, succeeded, failed, pending string }{
		"none/":    {`"Transformation":"NONE","Lines":false`, ".json", "[" + one + ",{", "[" + failed + "]", "[" + waits + "]"},
		"compact/": {`"Transformation":"COMPACT","Lines":false`, ".json", `[[1,[2]],{"b":1.0}]`, "[" + failed + "]", "[" + waits + "]"},
		"flatten/": {`"Transformation":"FLATTEN","Lines":false`, ".json", `[1,[2],{"b":1.0}]`, "[" + failed + "]", "[" + waits + "]"},
		"lines/":   {`"Transformation":"FLATTEN","Lines":true`, ".jsonl", "1\n[2]\n{\"b\":1.0}\n", failed + "\n", waits + "\n"},
	} {
		for range 2 { // again gives the same
			if r := d.do(t, errand.ResultsTask, task(put("data", folder), tt.how)); r.code != "" {
				t.Fatalf("%s: %+v", folder, r)
			}
		}
		got := objects(t, "data")
		for name, want := range map[string]string{"SUCCEEDED_0": tt.succeeded, "FAILED_0": tt.failed, "PENDING_0": tt.pending} {
			if text := got[folder+name+tt.ending]; !strings.HasPrefix(text, want) {
				t.Errorf("%s%s: got %s, want %s", folder, name, text, want)
			}
		}
		file := func(name string) string {
			return `[{"Key":"` + folder + name + tt.ending + `","Size":` + strconv.Itoa(len(got[folder+name+tt.ending])) + `}]`
		}
		want := `{"DestinationBucket":"data","MapRunArn":"ns/wf/L:new","ResultFiles":{"FAILED":` + file("FAILED_0") + `,"PENDING":` + file("PENDING_0") + `,"SUCCEEDED":` + file("SUCCEEDED_0") + `}}`
		if got[folder+"manifest.json"] != want {
			t.Errorf("%s: manifest %s, want %s", folder, got[folder+"manifest.json"], want)
		}
	}
	if n := len(objects(t, "data")); n != 4*4 {
		t.Errorf("%d objects were written", n)
	}
	described := d.do(t, errand.ResultsTask, task(`"Lines":false`, `"Transformation":"NONE"`))
	if want := "[" + one + "," + failed + ",{"; !strings.HasPrefix(described.output, want) || !strings.HasSuffix(described.output, waits+"]") {
		t.Errorf("described: %+v", described)
	}
	for name, tt := range map[string]struct{ input, code, cause string }{
		"forbidden":  {task(put("other", ""), `"Transformation":"NONE"`), "States.Permissions", "the bucket other"},
		"no bucket":  {task(put("missing", ""), `"Transformation":"NONE"`), "States.ResultWriterFailed", ""},
		"not kept":   {strings.Replace(task(put("data", "gone/"), `"Transformation":"NONE"`), `"Items":4`, `"Items":5`, 1), "States.ResultWriterFailed", "the execution of item 4 is not kept any more"},
		"no results": {strings.Replace(task(put("data", "empty/"), `"Transformation":"NONE"`), `"Items":4`, `"Items":0`, 1), "", ""},
	} {
		if r := d.do(t, errand.ResultsTask, tt.input); r.code != tt.code || !strings.Contains(r.cause, tt.cause) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	want := `{"DestinationBucket":"data","MapRunArn":"ns/wf/L:new","ResultFiles":{"FAILED":[],"PENDING":[],"SUCCEEDED":[]}}`
	if got := objects(t, "data")["empty/manifest.json"]; got != want {
		t.Errorf("a manifest of nothing: %s", got)
	}
}

// What has more bytes than a file may have is written into several.
func TestResultsInParts(t *testing.T) {
	storage(t, "data", nil)
	k := &kept{list: map[string]wire.ExecutionDetail{}}
	large := `"` + strings.Repeat("x", 1<<18) + `"`
	n := errand.MaxResultFile/len(large) + 5
	for i := range n {
		k.add("r-"+strconv.Itoa(i), large, wire.Succeeded, nil)
	}
	d := open(t, errand.Config{S3Allow: "data", S3PathStyle: true, Executions: k})
	r := d.do(t, errand.ResultsTask, `{"Resource":"arn:aws:states:::s3:putObject","Bucket":"data","Folder":"f/","Transformation":"COMPACT","Lines":true,"Runs":["r"],"Items":`+strconv.Itoa(n)+`}`)
	got := objects(t, "data")
	lines := strings.Count(got["f/SUCCEEDED_0.jsonl"], "\n") + strings.Count(got["f/SUCCEEDED_1.jsonl"], "\n")
	if r.code != "" || lines != n || len(got) != 3 || len(got["f/SUCCEEDED_0.jsonl"]) > errand.MaxResultFile+1 {
		t.Errorf("%+v: %d lines of %d, %d objects", r, lines, n, len(got))
	}
}
