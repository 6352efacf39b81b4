package node

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
)

func TestResults(t *testing.T) {
	e1 := name{1, "e1"}
	end := frontend.Ended{End: history.End{Status: history.Succeeded, Output: []byte("7")}, At: 5}
	tests := []struct {
		name  string
		does  func(r *results) // what happens; the wait begins after the first second
		known bool
		ended bool
		took  time.Duration // of the wait
	}{
		{"never loaded", func(r *results) {}, false, false, 0},
		{"runs on", func(r *results) { r.loaded(e1) }, true, false, 5 * time.Second},
		{"ends", func(r *results) { r.loaded(e1); time.Sleep(3 * time.Second); r.ended(e1, end) }, true, true, 2 * time.Second},
		{"has ended", func(r *results) { r.loaded(e1); r.ended(e1, end) }, true, true, 0},
		{"ended without having been loaded", func(r *results) { r.ended(e1, end) }, true, true, 0},
		{"is unloaded", func(r *results) { r.loaded(e1); time.Sleep(3 * time.Second); r.left(e1) }, false, false, 2 * time.Second},
		{"goes on after its end", func(r *results) { r.ended(e1, end); r.loaded(e1) }, true, false, 5 * time.Second},
		{"its partition goes", func(r *results) { r.ended(e1, end); r.forgetEnds() }, false, false, 0},
		{"the incarnation ends", func(r *results) { r.loaded(e1); time.Sleep(3 * time.Second); r.close() }, false, false, 2 * time.Second},
		{"after the incarnation", func(r *results) { r.close(); r.loaded(e1) }, false, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newResults()
				go tt.does(r)
				time.Sleep(time.Second)
				from := time.Now()
				got, known := r.await(t.Context(), e1, from.Add(5*time.Second))
				if known != tt.known || (got != nil) != tt.ended || time.Since(from) != tt.took {
					t.Errorf("known %v, ended %v after %v; want %v, %v after %v", known, got, time.Since(from), tt.known, tt.ended, tt.took)
				}
				if got != nil && string(got.Output) != "7" {
					t.Errorf("output %s", got.Output)
				}
			})
		})
	}
}

func TestResultsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newResults()
		r.ended(name{1, "late"}, frontend.Ended{})
		time.Sleep(endedFor + time.Millisecond)
		if _, known := r.await(t.Context(), name{1, "late"}, time.Now()); known {
			t.Error("an end is remembered for too long")
		}
		text := make([]byte, 1<<10)
		for i := range 20_000 {
			r.ended(name{1, fmt.Sprint("e", i)}, frontend.Ended{End: history.End{Output: text}})
		}
		if n := len(r.young) + len(r.old); n > 2*endedBytes/(1<<10) || n < 3000 {
			t.Errorf("%d ends of 1 KiB are remembered", n)
		}
		if _, known := r.await(t.Context(), name{1, "e19999"}, time.Now()); !known {
			t.Error("the newest end is forgotten")
		}
	})
}

func TestResultWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newResults()
		r.loaded(name{1, "e"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		from := time.Now()
		if got, known := r.await(ctx, name{1, "e"}, from.Add(time.Minute)); got != nil || !known || time.Since(from) != time.Second {
			t.Errorf("%v, %v after %v", got, known, time.Since(from))
		}
	})
}
