package errand_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/orrery-dev/orrery/shared/errand"
)

// storage runs a server that speaks S3, with objects by their keys in a bucket of the name, and points the environment to it.
func storage(t *testing.T, bucket string, objects map[string]string) {
	t.Helper()
	server := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	t.Cleanup(server.Close)
	for name, v := range map[string]string{"AWS_ENDPOINT_URL_S3": server.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"} {
		t.Setenv(name, v)
	}
	c, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	for key, content := range objects {
		if _, err := client.PutObject(context.Background(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String(key), Body: strings.NewReader(content)}); err != nil {
			t.Fatal(err)
		}
	}
}

// packed packs a text by gzip.
func packed(t *testing.T, content string) string {
	t.Helper()
	var b strings.Builder
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestManifests(t *testing.T) {
	inventory := func(more string) string {
		return `{"sourceBucket":"src","destinationBucket":"arn:aws:s3:::data","version":"2016-11-30","fileFormat":"CSV","fileSchema":"Bucket, Key, Size"` + more + `}`
	}
	storage(t, "data", map[string]string{
		"manifest.json":  inventory(`,"files":[{"key":"inv/1.csv.gz","size":1,"MD5checksum":"x"},{"key":"inv/2.csv.gz"}]`),
		"inv/1.csv.gz":   packed(t, "\"src\",\"a%20b\",\"1\"\n\"src\",\"c\",\"2\"\n"),
		"inv/2.csv.gz":   packed(t, "\"src\",\"d\",\"3\"\n"),
		"orc.json":       strings.Replace(inventory(""), `"CSV"`, `"ORC"`, 1),
		"no-bucket.json": `{"fileFormat":"CSV","fileSchema":"Key"}`,
		"elsewhere.json": strings.Replace(inventory(`,"files":[{"key":"k"}]`), ":::data", ":::other", 1),
		"gone.json":      inventory(`,"files":[{"key":"gone.csv.gz"}]`),
		"plain.json":     inventory(`,"files":[{"key":"plain.csv.gz"}]`),
		"plain.csv.gz":   "not packed",
		"q-manifest.csv": "s3://data/q/1.gz\ns3://data/q/2\n",
		"q/1.gz":         packed(t, "{\"n\":1}\n{\"n\":2}\n"),
		"q/2":            "{\"n\":3}\n",
		"t-manifest.csv": "\"s3://data/t/1.csv\"\n",
		"t/1.csv":        "1,x\n",
		"bad.csv":        "https://example.com/x\n",
	})
	d := open(t, errand.Config{S3Allow: "data", S3PathStyle: true})
	get := func(key, config string) string {
		return `{"Resource":"arn:aws:states:::s3:getObject","Parameters":{"Bucket":"data","Key":"` + key + `"},"ReaderConfig":{` + config + `}}`
	}
	const given = `"CSVHeaderLocation":"GIVEN","CSVHeaders":["n","s"]`
	for _, tt := range []struct{ name, input, output, code, cause string }{
		{"inventory", get("manifest.json", `"InputType":"MANIFEST"`),
			`[{"Bucket":"src","Key":"a%20b","Size":"1"},{"Bucket":"src","Key":"c","Size":"2"},{"Bucket":"src","Key":"d","Size":"3"}]`, "", ""},
		{"its beginning", get("manifest.json", `"InputType":"MANIFEST","ManifestType":"S3_INVENTORY","MaxItems":1`), `[{"Bucket":"src","Key":"a%20b","Size":"1"}]`, "", ""},
		{"another format", get("orc.json", `"InputType":"MANIFEST"`), "", "States.ItemReaderFailed", `the format "ORC"`},
		{"no bucket", get("no-bucket.json", `"InputType":"MANIFEST"`), "", "States.ItemReaderFailed", "no destinationBucket"},
		{"no JSON", get("bad.csv", `"InputType":"MANIFEST"`), "", "States.ItemReaderFailed", "the manifest is none of an S3 inventory"},
		{"a bucket that is not allowed", get("elsewhere.json", `"InputType":"MANIFEST"`), "", "States.Permissions", "the bucket other"},
		{"a file that is gone", get("gone.json", `"InputType":"MANIFEST"`), "", "States.ItemReaderFailed", "s3://data/gone.csv.gz: S3.NoSuchKey"},
		{"a file that is not packed", get("plain.json", `"InputType":"MANIFEST"`), "", "States.ItemReaderFailed", "plain.csv.gz"},
		{"lines of Athena", get("q-manifest.csv", `"InputType":"JSONL","ManifestType":"ATHENA_DATA"`), `[{"n":1},{"n":2},{"n":3}]`, "", ""},
		{"rows of Athena", get("t-manifest.csv", `"InputType":"CSV","ManifestType":"ATHENA_DATA",`+given), `[{"n":"1","s":"x"}]`, "", ""},
		{"no addresses", get("bad.csv", `"InputType":"JSONL","ManifestType":"ATHENA_DATA"`), "", "States.ItemReaderFailed", "an address such as s3://bucket/key"},
	} {
		r := d.do(t, errand.ItemsTask, tt.input)
		if r.output != tt.output || r.code != tt.code || !strings.Contains(r.cause, tt.cause) {
			t.Errorf("%s: got %+v, want %s %s %s", tt.name, r, tt.output, tt.code, tt.cause)
		}
	}
}

func TestItems(t *testing.T) {
	storage(t, "data", map[string]string{
		"list.json":   `[1.0, "two", {"b": null, "a": []}, 1e400]`,
		"object.json": `{"x": {"skip": [[{"a": 1}]], "a/b": [{"n": 1}, {"n": 2}]}, "y": [[7], [8, 9]]}`,
		"broken.json": `[1, 2`,
		"nul.json":    `["a\u0000"]`,
		"lines.jsonl": "\uFEFF{\"a\":1}\r\n\n[2]\n\"three\"",
		"bad.jsonl":   "1\n{",
		"rows.csv":    "\uFEFFH1,H2\na,b\n\n\"c,\"\"d\",\ne,f,g\nh\n",
		"twice.csv":   "H,H\n1,2\n",
		"pipes.csv":   "a|b\n",
		"nothing":     "",
		"large.jsonl": strings.Repeat(`"`+strings.Repeat("x", 1<<19)+"\"\n", 10),
		"long.jsonl":  `"` + strings.Repeat("x", 1<<20) + `"`,
	})
	d := open(t, errand.Config{S3Allow: "data,missing", S3PathStyle: true})
	get := func(key, config string) string {
		return `{"Resource":"arn:aws:states:::s3:getObject","Parameters":{"Bucket":"data","Key":"` + key + `"},"ReaderConfig":{` + config + `}}`
	}
	for _, tt := range []struct{ name, input, output, code, cause string }{
		{"array", get("list.json", `"InputType":"JSON"`), `[1.0,"two",{"b":null,"a":[]},1e400]`, "", ""},
		{"the first", get("list.json", `"InputType":"JSON","MaxItems":2`), `[1.0,"two"]`, "", ""},
		{"all by zero", get("list.json", `"InputType":"JSON","MaxItems":0`), `[1.0,"two",{"b":null,"a":[]},1e400]`, "", ""},
		{"many", get("list.json", `"InputType":"JSON","MaxItems":100000001`), `[1.0,"two",{"b":null,"a":[]},1e400]`, "", ""},
		{"pointer", get("object.json", `"InputType":"JSON","ItemsPointer":"/x/a~1b"`), `[{"n":1},{"n":2}]`, "", ""},
		{"pointer into an array", get("object.json", `"InputType":"JSON","ItemsPointer":"/y/1"`), `[8,9]`, "", ""},
		{"pointer to nowhere", get("object.json", `"InputType":"JSON","ItemsPointer":"/x/z"`), "", "States.ItemReaderFailed", `there is no "z"`},
		{"pointer through a number", get("object.json", `"InputType":"JSON","ItemsPointer":"/y/0/0/0"`), "", "States.ItemReaderFailed", `there is no "0"`},
		{"no array", get("object.json", `"InputType":"JSON"`), "", "States.ItemReaderFailed", "Attempting to map over non-iterable node."},
		{"cut off", get("broken.json", `"InputType":"JSON"`), "", "States.ItemReaderFailed", ""},
		{"its beginning is read", get("broken.json", `"InputType":"JSON","MaxItems":2`), "[1,2]", "", ""},
		{"NUL", get("nul.json", `"InputType":"JSON"`), "", "States.ItemReaderFailed", "item 0"},
		{"lines", get("lines.jsonl", `"InputType":"JSONL"`), `[{"a":1},[2],"three"]`, "", ""},
		{"a bad line", get("bad.jsonl", `"InputType":"JSONL"`), "", "States.ItemReaderFailed", "line 2 is no JSON"},
		{"a long line", get("long.jsonl", `"InputType":"JSONL"`), "", "States.ItemReaderFailed", "token too long"},
		{"too much", get("large.jsonl", `"InputType":"JSONL"`), "", "States.ItemReaderFailed", "more than 4194304 bytes"},
		{"the beginning of too much", get("large.jsonl", `"InputType":"JSONL","MaxItems":1`), `["` + strings.Repeat("x", 1<<19) + `"]`, "", ""},
		{"rows", get("rows.csv", `"InputType":"CSV","CSVHeaderLocation":"FIRST_ROW"`),
			`[{"H1":"a","H2":"b"},{"H1":"c,\"d","H2":""},{"H1":"e","H2":"f"},{"H1":"h","H2":""}]`, "", ""},
		{"given headers", get("rows.csv", `"InputType":"CSV","CSVHeaderLocation":"GIVEN","CSVHeaders":["X"],"MaxItems":2`), `[{"X":"H1"},{"X":"a"}]`, "", ""},
		{"delimiter", get("pipes.csv", `"InputType":"CSV","CSVHeaderLocation":"GIVEN","CSVHeaders":["X","Y"],"CSVDelimiter":"PIPE"`), `[{"X":"a","Y":"b"}]`, "", ""},
		{"headers twice", get("twice.csv", `"InputType":"CSV","CSVHeaderLocation":"FIRST_ROW"`), "", "States.ItemReaderFailed", "CSV headers cannot contain duplicates."},
		{"no rows", get("nothing", `"InputType":"CSV","CSVHeaderLocation":"FIRST_ROW"`), "[]", "", ""},
		{"no object", get("other", `"InputType":"JSON"`), "", "States.ItemReaderFailed", "S3.NoSuchKey"},
		{"keys", `{"Resource":"arn:aws:states:::s3:listObjectsV2","Parameters":{"Bucket":"data","Prefix":"l"},"ReaderConfig":{"MaxItems":2}}`, `"Key":"large.jsonl"`, "", ""},
		{"no bucket", `{"Resource":"arn:aws:states:::s3:listObjectsV2","Parameters":{"Bucket":"missing"}}`, "", "States.ItemReaderFailed", "S3.NoSuchBucket"},
		{"forbidden", `{"Resource":"arn:aws:states:::s3:listObjectsV2","Parameters":{"Bucket":"other"}}`, "", "States.Permissions", "the bucket other"},
	} {
		r := d.do(t, errand.ItemsTask, tt.input)
		if !strings.Contains(r.output, tt.output) || r.code != tt.code || !strings.Contains(r.cause, tt.cause) || r.code == "" && r.output == "" {
			t.Errorf("%s: got %s, want %s %s %s", tt.name, fmt.Sprintf("%.300v", r), tt.output, tt.code, tt.cause)
		}
	}
}
