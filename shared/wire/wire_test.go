package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// bodies are all types that stand at the top of a request or an answer.
var bodies = []any{
	wire.RegisterRequest{}, wire.RegisterResponse{}, wire.HeartbeatRequest{}, wire.HeartbeatResponse{}, wire.PollRequest{},
	wire.PollResponse{}, wire.DeregisterRequest{}, wire.DeregisterResponse{}, wire.CompleteRequest{}, wire.FailRequest{},
	wire.UncertainRequest{}, wire.ReportResponse{}, wire.PublishRequest{}, wire.Workflow{}, wire.WorkflowList{},
	wire.StartRequest{}, wire.Execution{}, wire.ExecutionList{}, wire.ExecutionDetail{}, wire.HistoryPage{}, wire.Result{},
	wire.SignalRequest{}, wire.SignalResponse{}, wire.CancelRequest{}, wire.CancelResponse{}, wire.QueueList{},
	wire.WorkerList{}, wire.NodeList{}, wire.PartitionList{}, wire.AttentionList{}, wire.Health{}, wire.ErrorEnvelope{},
	wire.ScheduleDefinition{}, wire.ScheduleDetail{}, wire.ScheduleList{}, wire.PreviewRequest{}, wire.Preview{}, wire.PauseRequest{},
	wire.ResumeRequest{}, wire.ArchiveRequest{}, wire.TriggerRequest{}, wire.BackfillRequest{}, wire.BackfillResponse{},
	wire.ScheduleEventList{}, wire.OccurrenceList{}, wire.OccurrenceDetail{}, wire.OccurrenceRequest{}, wire.OccurrenceResponse{},
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	timeType = reflect.TypeFor[time.Time]()
)

// fill sets every field that JSON carries to a value that is not its zero.
func fill(v reflect.Value) {
	switch v.Type() {
	case rawType:
		v.SetBytes([]byte(`{"deep":[1,"<&>",null]}`))
		return
	case timeType:
		v.Set(reflect.ValueOf(time.Date(2026, 3, 7, 7, 30, 0, 123e6, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("text <&> ü")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(42)
	default:
		panic("a wire type has a field of kind " + v.Kind().String())
	}
}

func TestRoundTrip(t *testing.T) {
	for _, b := range bodies {
		want := reflect.New(reflect.TypeOf(b))
		fill(want.Elem())
		text, err := json.Marshal(want.Interface())
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(b))
		dec := json.NewDecoder(strings.NewReader(string(text)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(got.Interface()); err != nil {
			t.Errorf("%T: %v in %s", b, err, text)
		}
		compactRaw(got.Elem())
		if !reflect.DeepEqual(got.Interface(), want.Interface()) {
			t.Errorf("%T\n got %+v\nwant %+v", b, got.Elem(), want.Elem())
		}
	}
}

// compactRaw undoes the escapes that encoding/json puts into raw JSON.
func compactRaw(v reflect.Value) {
	switch {
	case v.Type() == rawType:
		text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(v.Bytes()))
		v.SetBytes([]byte(text))
	case v.Type() == timeType:
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			compactRaw(v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			compactRaw(v.Index(i))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		compactRaw(v.Elem())
	}
}

// TestNames holds the rules of the package comment: snake_case, and milliseconds in whole-number fields that end in _ms.
func TestNames(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var check func(reflect.Type)
	check = func(typ reflect.Type) {
		for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ == timeType || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous {
				check(f.Type)
				continue
			}
			if name == "-" {
				continue
			}
			if name == "" || strings.ToLower(name) != name {
				t.Errorf("%s.%s has the name %q", typ, f.Name, name)
			}
			if strings.HasSuffix(name, "_ms") != strings.HasSuffix(f.Name, "MS") || strings.HasSuffix(name, "_ms") && f.Type.Kind() != reflect.Int64 {
				t.Errorf("%s.%s: %q must be an int64 of milliseconds", typ, f.Name, name)
			}
			check(f.Type)
		}
	}
	for _, b := range bodies {
		check(reflect.TypeOf(b))
	}
	if len(seen) < 30 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}

func TestCodes(t *testing.T) {
	if n := len(wire.Codes()); n != 39 {
		t.Errorf("there are %d codes; a new one belongs into the documents and into this number", n)
	}
	for _, c := range wire.Codes() {
		if s := c.Status(); s < 400 || s > 599 {
			t.Errorf("%s has the status %d", c, s)
		}
	}
	if s := wire.Code("NO_SUCH").Status(); s != 500 {
		t.Errorf("an unknown code has the status %d, want 500", s)
	}
}

func TestErrorIsByCode(t *testing.T) {
	err := fmt.Errorf("wrapped: %w", wire.Errorf(wire.SessionNotFound, "there is no session %q", "x").After(time.Second))
	if !errors.Is(err, &wire.Error{Code: wire.SessionNotFound}) || errors.Is(err, &wire.Error{Code: wire.TokenNotFound}) {
		t.Errorf("errors.Is does not compare codes: %v", err)
	}
	five := wire.Invalid(wire.Detail{Field: "a", Rule: "r"}, wire.Detail{Field: "b", Rule: "r"}, wire.Detail{Field: "c", Rule: "r"},
		wire.Detail{Field: "d", Rule: "r"}, wire.Detail{Field: "e", Rule: "r"})
	if got, want := five.Error(), "INVALID_REQUEST: the request breaks 5 rules; a: r; b: r; c: r; 2 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
