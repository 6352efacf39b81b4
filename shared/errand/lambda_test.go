package errand_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/errand"
)

func TestContracts(t *testing.T) {
	for name, c := range map[string]string{
		errand.HTTPTask: definition.HTTPContract.Task, errand.LambdaTask: definition.LambdaContract.Task, errand.FunctionTask: definition.FunctionContract.Task,
		errand.ItemsTask: definition.ItemsContract.Task, errand.ResultsTask: definition.ResultsContract.Task,
	} {
		if name != c {
			t.Errorf("the contract %s is called %s in documents", name, c)
		}
	}
}

// TestLambda has functions of a server that speaks as Lambda does; the real runtime is in local/gateway.
func TestLambda(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, _ := io.ReadAll(r.Body)
		about, _ := base64.StdEncoding.DecodeString(r.Header.Get("X-Amz-Client-Context"))
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/2015-03-31/functions/"), "/")
		w.Header().Set("X-Amzn-Requestid", "r-1")
		w.Header().Set("X-Amz-Executed-Version", "$LATEST")
		fail := func(payload string) {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			io.WriteString(w, payload)
		}
		refuse := func(status int, code string) {
			w.Header().Set("X-Amzn-Errortype", code)
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"Message":"no: %s"}`, code)
		}
		switch name {
		case "echo":
			if !strings.Contains(string(about), `"Idempotency-Key":"key-1"`) {
				t.Errorf("client context %s", about)
			}
			w.Write(payload)
		case "said":
			w.Header().Set("X-Amz-Log-Result", "bG9n")
			fmt.Fprintf(w, `{"q":%q,"type":%q,"about":%s}`, r.URL.Query().Get("Qualifier"), r.Header.Get("X-Amz-Invocation-Type"), about)
		case "event":
			w.WriteHeader(http.StatusAccepted)
		case "fails":
			fail(`{"errorMessage":"it broke","errorType":"Boom","stackTrace":["a"]}`)
		case "killed":
			fail(`{"errorMessage":"Task timed out after 3.00 seconds"}`)
		case "nul":
			io.WriteString(w, `"a\u0000"`)
		case "throttled":
			refuse(http.StatusTooManyRequests, "TooManyRequestsException")
		case "down":
			refuse(http.StatusInternalServerError, "ServiceException")
		case "aborts":
			panic(http.ErrAbortHandler)
		default:
			refuse(http.StatusNotFound, "ResourceNotFoundException")
		}
	}))
	defer s.Close()
	for name, v := range map[string]string{"AWS_ENDPOINT_URL_LAMBDA": s.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"} {
		t.Setenv(name, v)
	}
	d := open(t, errand.Config{LambdaAllow: "echo,said,event,fails,killed,nul,throttled,down,aborts,missing"})
	for _, tt := range []struct{ name, task, input, output, code, cause string }{
		{"payload", errand.LambdaTask, `{"FunctionName":"echo","Payload":{"a":1.0,"b":null}}`, `"Payload":{"a":1.0,"b":null}`, "", ""},
		{"version", errand.LambdaTask, `{"FunctionName":"echo","Payload":1}`, `{"ExecutedVersion":"$LATEST","Payload":1,"SdkHttpMetadata":{"AllHttpHeaders":{`, "", ""},
		{"request", errand.LambdaTask, `{"FunctionName":"echo","Payload":1}`, `"SdkResponseMetadata":{"RequestId":"r-1"},"StatusCode":200}`, "", ""},
		{"everything", errand.LambdaTask, `{"FunctionName":"said","Qualifier":"live","InvocationType":"RequestResponse","LogType":"Tail","ClientContext":{"custom":{"x":"y"},"env":{}}}`,
			`"LogResult":"bG9n","Payload":{"q":"live","type":"RequestResponse","about":{"custom":{"x":"y","Idempotency-Key":"key-1","Traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},"env":{}}}`, "", ""},
		{"event", errand.LambdaTask, `{"FunctionName":"event","InvocationType":"Event"}`, `"Payload":""`, "", ""},
		{"bare", errand.FunctionTask, `{"FunctionName":"echo","Payload":["x"]}`, `["x"]`, "", ""},
		{"fails", errand.FunctionTask, `{"FunctionName":"fails","Payload":1}`, "", "Boom", `{"errorMessage":"it broke","errorType":"Boom","stackTrace":["a"]}`},
		{"killed", errand.LambdaTask, `{"FunctionName":"killed"}`, "", "Lambda.Unknown", `Returned payload: {"errorMessage":"Task timed out after 3.00 seconds"}`},
		{"nul", errand.LambdaTask, `{"FunctionName":"nul"}`, "", "States.TaskFailed", "cannot be stored"},
		{"throttled", errand.LambdaTask, `{"FunctionName":"throttled"}`, "", "Lambda.TooManyRequestsException", "no: TooManyRequestsException (Service: Lambda, Status Code: 429, Request ID: r-1)"},
		{"down", errand.LambdaTask, `{"FunctionName":"down"}`, "", "Lambda.ServiceException", "Status Code: 500"},
		{"missing", errand.LambdaTask, `{"FunctionName":"missing"}`, "", "Lambda.ResourceNotFoundException", "Status Code: 404"},
		{"breaks off", errand.LambdaTask, `{"FunctionName":"aborts"}`, "", "Lambda.SdkClientException", ""},
		{"forbidden", errand.LambdaTask, `{"FunctionName":"other"}`, "", "States.Permissions", "the function other"},
	} {
		r := d.do(t, tt.task, tt.input)
		if !strings.Contains(r.output, tt.output) || r.code != tt.code || !strings.Contains(r.cause, tt.cause) || r.code == "" && r.output == "" {
			t.Errorf("%s: got %+v, want %s %s %s", tt.name, r, tt.output, tt.code, tt.cause)
		}
	}
}
