package frontend

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// owner is the store as a sender sees it: an owner answers an entry after a time, and ends an execution with it.
type owner struct {
	Store
	answersAt time.Time // zero for never
	looks     int
}

func (o *owner) answered() bool {
	o.looks++
	return !o.answersAt.IsZero() && !time.Now().Before(o.answersAt)
}

func (o *owner) Namespace(context.Context, string) (history.NamespaceID, error) { return 1, nil }

func (o *owner) Send(context.Context, store.Message) (store.Sent, error) {
	return store.Sent{Outcome: store.SendQueued, Entry: store.EntryRef{ID: 7}}, nil
}

func (o *owner) Reply(context.Context, store.EntryRef) (*history.Reply, error) {
	if !o.answered() {
		return nil, nil
	}
	return &history.Reply{Outcome: history.Applied, Event: 12}, nil
}

func (o *owner) Execution(context.Context, history.NamespaceID, string) (store.ExecutionDetail, error) {
	d := store.ExecutionDetail{Execution: store.Execution{Name: "e", Status: history.Running}}
	if o.answered() {
		d.Status = history.Succeeded
	}
	return d, nil
}

func (o *owner) Load(context.Context, []history.ExecutionID, store.LoadFrom) ([]store.Loaded, error) {
	events := []history.Event{
		{Type: history.EventStarted, Scope: history.MainScope, Start: &history.Start{}, Text: history.Text{Literal: []byte("{}")}},
		{Type: history.EventEnded, Scope: history.MainScope, Status: history.Succeeded},
	}
	return []store.Loaded{{
		Execution: store.Execution{Name: "e", Status: history.Succeeded},
		Turns:     []store.Row{{Seq: 1, First: 1, Events: history.EncodeEvents(events)}},
	}}, nil
}

func (o *owner) Settings(context.Context) (store.Settings, error) { return store.Settings{}, nil }

func (o *owner) Session(_ context.Context, id string) (store.Session, error) {
	return store.Session{ID: id, Registration: store.Registration{Namespace: 1}}, nil
}

func (o *owner) Touch(context.Context, []store.Touch) ([]string, error) { return nil, nil }

func (o *owner) Claim(context.Context, store.ClaimRequest) (store.ClaimResult, error) {
	return store.ClaimResult{}, nil
}

// Report takes every report whose execution has an even number; the others are about to end.
func (o *owner) Report(_ context.Context, rs []store.Report) ([]store.ReportOutcome, error) {
	outcomes := make([]store.ReportOutcome, len(rs))
	for i, r := range rs {
		outcomes[i] = store.ReportAccepted
		if r.Execution%2 == 1 {
			outcomes[i] = store.ReportRetry
		}
	}
	return outcomes, nil
}

// bells is a host that rings when the owner answers; a deaf one loses every bell.
type bells struct {
	Host
	owner *owner
	deaf  bool
}

func (b bells) await() (<-chan struct{}, func()) {
	rung := make(chan struct{})
	if b.deaf || b.owner.answersAt.IsZero() {
		return rung, func() {}
	}
	t := time.AfterFunc(time.Until(b.owner.answersAt), func() { close(rung) })
	return rung, func() { t.Stop() }
}

func (b bells) Open(store.Poll, bool) (OpenPoll, error) { return emptyPoll{}, nil }

type emptyPoll struct{}

func (emptyPoll) Wait(context.Context, time.Time) ([]store.Assignment, error) { return nil, nil }

func (emptyPoll) Close() {}

func (b bells) AwaitReply(store.EntryRef) (<-chan struct{}, func()) { return b.await() }

func (b bells) Ended(context.Context, history.NamespaceID, string, time.Time) (*Ended, bool) {
	return nil, false
}

func (b bells) AwaitEnd(context.Context, history.ExecutionID) (<-chan struct{}, func(), error) {
	rung, forget := b.await()
	return rung, forget, nil
}

// TestWaits compares who waits for a reply and for an end: a function that looks again, a node that is rung, and one whose
// bell is lost.
func TestWaits(t *testing.T) {
	const never = time.Duration(-1)
	tests := []struct {
		name      string
		host      func(*owner) Host
		answers   time.Duration
		confirmed bool
		took      time.Duration // at most
		looks     int           // at most
	}{
		{"function, soon", nil, 100 * time.Millisecond, true, 200 * time.Millisecond, 10},
		{"function, late", nil, 8 * time.Second, true, 9 * time.Second, 25},
		{"function, never", nil, never, false, 10 * time.Second, 30},
		{"node, soon", func(o *owner) Host { return bells{owner: o} }, 100 * time.Millisecond, true, 100 * time.Millisecond, 2},
		{"node, late", func(o *owner) Host { return bells{owner: o} }, 8 * time.Second, true, 8 * time.Second, 6},
		{"node, never", func(o *owner) Host { return bells{owner: o} }, never, false, 10 * time.Second, 6},
		{"node, bell lost", func(o *owner) Host { return bells{owner: o, deaf: true} }, 100 * time.Millisecond, true, time.Second, 3},
	}
	for _, tt := range tests {
		for _, what := range []string{"signal", "result"} {
			t.Run(tt.name+", "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := &owner{}
					if tt.answers != never {
						o.answersAt = time.Now().Add(tt.answers)
					}
					opts := Options{}
					if tt.host != nil {
						opts.Host = tt.host(o)
					}
					f, began := New(o, opts), time.Now()
					var confirmed bool
					if what == "signal" {
						a, err := f.Signal(t.Context(), auth.Call{}, "e", "s", wire.SignalRequest{})
						if confirmed = a.Confirmed; err != nil || confirmed && a.Event != 12 {
							t.Errorf("%+v, %v", a, err)
						}
					} else {
						a, err := f.Result(t.Context(), auth.Call{}, "e", wire.ResultQuery{WaitMS: 10_000})
						if confirmed = a.Status == wire.Succeeded; err != nil {
							t.Error(err)
						}
						o.looks-- // the first look tells a wrong id from a running execution
					}
					if took := time.Since(began); confirmed != tt.confirmed || took > tt.took || o.looks > tt.looks {
						t.Errorf("confirmed %v after %v and %d looks; want %v within %v and %d looks", confirmed, took, o.looks, tt.confirmed, tt.took, tt.looks)
					}
				})
			})
		}
	}
}

// TestWaitFitsTheDeadline: an answer comes while there is time to write it, whatever the caller asks for.
func TestWaitFitsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		f, began := New(&owner{}, Options{}), time.Now()
		if a, err := f.Signal(ctx, auth.Call{}, "e", "s", wire.SignalRequest{}); err != nil || a.Confirmed {
			t.Errorf("%+v, %v", a, err)
		}
		if took := time.Since(began); took > 3*time.Second-answerTime {
			t.Errorf("answered after %v of 3s", took)
		}
	})
}

// TestOnlyFunctionsAskForAPause: a node's poll waits in memory, so its worker should be back at once.
func TestOnlyFunctionsAskForAPause(t *testing.T) {
	o := &owner{}
	for host, want := range map[Host]time.Duration{nil: time.Second, bells{owner: o}: 0} {
		a, err := New(o, Options{Host: host}).Poll(t.Context(), auth.Call{}, wire.PollRequest{SessionID: "s", PollID: "p", MaxTasks: 1})
		if err != nil || len(a.Assignments) != 0 || a.RetryAfter != want {
			t.Errorf("host %T: %+v, %v, want a pause of %v", host, a, err, want)
		}
	}
}

// TestReportsToSendAgain: one by one where something was taken, by the status where nothing was.
func TestReportsToSendAgain(t *testing.T) {
	f, signer := New(&owner{}, Options{}), NewSigner(nil)
	report := func(executions ...history.ExecutionID) (outcomes []wire.ReportOutcome, err error) {
		var q wire.UncertainRequest
		for _, e := range executions {
			q.Reports = append(q.Reports, wire.Uncertainty{Token: signer.Sign(Token{Namespace: 1, Execution: e})})
		}
		a, err := f.Uncertain(t.Context(), auth.Call{}, q)
		for _, r := range a.Results {
			outcomes = append(outcomes, r.Outcome)
		}
		return outcomes, err
	}
	if got, err := report(1, 2); err != nil || !slices.Equal(got, []wire.ReportOutcome{wire.ReportRetry, wire.ReportAccepted}) {
		t.Errorf("one of two: %v, %v", got, err)
	}
	var e *wire.Error
	if _, err := report(1, 3); !errors.As(err, &e) || e.Code != wire.Unavailable || e.RetryAfter != time.Second {
		t.Errorf("both: %v", err)
	}
}
