//go:build linux

package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/errand"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/storetest"
	"github.com/orrery-dev/orrery/shared/wire"
)

// lambdaAPI answers as the Lambda service does, with a function under the emulator behind it. The emulator does not mark a
// failure, so that is done here.
func lambdaAPI(t *testing.T, p *Pool) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, _ := io.ReadAll(r.Body)
		answer, err := p.Invoke(r.Context(), event)
		w.Header().Set("X-Amz-Executed-Version", "$LATEST")
		if failed, ok := errors.AsType[*FunctionError](err); ok {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			answer, err = json.Marshal(map[string]string{"errorType": failed.Type, "errorMessage": failed.Message})
		}
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
		w.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s
}

// startErrands runs a node that does Lambda tasks.
func startErrands(t *testing.T) *frontend.Frontend {
	t.Helper()
	url := storetest.URL(t)
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	open := func(conns int) *store.Store {
		db, err := store.Open(t.Context(), url, store.Options{MaxConns: conns, Direct: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		return db
	}
	db := open(4)
	n, err := node.New(node.Config{ID: "n1", NodeTimeout: time.Second, SessionTimeout: 10 * time.Second, Log: log}, db, open(1))
	if err != nil {
		t.Fatal(err)
	}
	front := n.Frontend(frontend.Options{SessionTimeout: 10 * time.Second, HeartbeatInterval: time.Second, NodeTimeout: time.Second})
	s, err := errand.New(t.Context(), errand.Config{ID: "n1", LambdaAllow: "*", Namespaces: db.Namespaces, Log: log}, front)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Beside(n.Run)(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(20 * time.Second); n.Health().Node.Partitions == 0 || !n.Health().Ready; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the node owns nothing")
		}
	}
	return front
}

// TestLambdaTasks runs a document whose tasks are functions, on a node and with the real runtime: a bare function, one that
// fails, and one that is asked by its parameters.
func TestLambdaTasks(t *testing.T) {
	api := lambdaAPI(t, emulatedProbe(t, nil, Limits{Instances: 1}, quiet))
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_LAMBDA": api.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key",
	} {
		t.Setenv(name, value)
	}
	front := startErrands(t)
	call := auth.Call{Namespace: "default", RequestID: "test"}
	document := json.RawMessage(`{"StartAt":"Say","States":{
		"Say":{"Type":"Task","Resource":"arn:aws:lambda:eu-west-1:123456789012:function:probe","ResultPath":"$.said","Next":"Break"},
		"Break":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"probe","Payload":{"fail.$":"$.said"}},
			"Retry":[{"ErrorEquals":["errorString"],"MaxAttempts":1}],
			"Catch":[{"ErrorEquals":["errorString"],"ResultPath":"$.error","Next":"Tell"}],"End":true},
		"Tell":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"probe","Payload":{"text.$":"$.error.Cause"}},
			"ResultSelector":{"cause.$":"States.StringToJson($.Payload)","version.$":"$.ExecutedVersion"},"TimeoutSeconds":30,"End":true}}}`)
	if _, _, err := front.Publish(t.Context(), call, wire.PublishRequest{Name: "w", Document: document}, false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := front.Start(t.Context(), call, wire.StartRequest{Workflow: "w", Name: "x", Input: json.RawMessage(`{"text":"it broke"}`)}); err != nil {
		t.Fatal(err)
	}
	r, err := front.Result(t.Context(), call, "x", wire.ResultQuery{WaitMS: 20_000})
	const want = `{"cause":{"errorMessage":"it broke","errorType":"errorString"},"version":"$LATEST"}`
	if err != nil || string(r.Output) != want {
		t.Errorf("result %+v, %v, want %s", r, err, want)
	}
	page, err := front.History(t.Context(), call, "x", wire.HistoryQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range page.Events {
		types = append(types, e.Type)
	}
	if wanted := []string{
		"ExecutionStarted", "TaskStateEntered", "LambdaFunctionScheduled", "LambdaFunctionStarted", "LambdaFunctionSucceeded", "TaskStateExited",
		"TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskFailed", "TaskScheduled", "TaskStarted", "TaskFailed", "TaskStateExited",
		"TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskSucceeded", "TaskStateExited", "ExecutionSucceeded",
	}; !slices.Equal(types, wanted) {
		t.Errorf("events %v\nwant   %v", types, wanted)
	}
}
