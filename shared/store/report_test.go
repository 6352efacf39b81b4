package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestReportOutcomes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	a, b := w.session("a"), w.session("b")
	row := func(unit string, attempt, offer int) history.RowRef {
		return history.RowRef{Unit: history.UnitKey(unit), Attempt: attempt, Offer: offer}
	}
	e := w.start("e", 0, offer("A", 1, 0), offer("B", 1, 0), offer("C", 1, 0), offer("D", 1, 0), offer("E", 1, 0))
	w.claim(a, "p", 4) // E stays in the queue
	// The hand-outs of B and E were given up and offered anew; C was withdrawn, and its worker is to be told.
	w.mustCommit(n, e.turn(n, func(t *history.Turn) {
		t.Lost = []history.RowRef{row("B", 1, 0)}
		t.Offers = []history.Offer{offer("B", 1, 1)}
		t.Resolved = []history.Resolved{{Unit: "C", Attempt: 1, CancelNotice: true}}
	}))
	e.seq++
	done := w.start("done", 0, offer("A", 1, 0))
	w.mustCommit(n, done.turn(n, end))
	ending := w.start("ending", 0, offer("Z", 1, 0))
	w.exec("update orrery.execution set ending = true where id = $1", ending.id)

	fail := func(e *execution, r history.RowRef, s store.Session) store.Report {
		return store.Report{Kind: history.KindFail, Execution: e.id, Row: r, Session: s.ID, Worker: s.Worker,
			Failure: &history.Failure{Code: "Broken", Message: "why", NonRetryable: true, Details: []byte(`[1]`)}}
	}
	uncertain := func(e *execution, r history.RowRef, s store.Session) store.Report {
		return store.Report{Kind: history.KindUncertain, Execution: e.id, Row: r, Session: s.ID, Worker: s.Worker, Reason: "no answer"}
	}
	steps := []struct {
		what   string
		report store.Report
		want   store.ReportOutcome
	}{
		{"the first", complete(e, row("A", 1, 0), a), store.ReportAccepted},
		{"the same again", complete(e, row("A", 1, 0), a), store.ReportDuplicate},
		{"the same token, another word", fail(e, row("A", 1, 0), a), store.ReportStale},
		{"another session's token of the attempt", complete(e, row("A", 1, 0), b), store.ReportStale},
		{"a token of a lost offer, the newer one queued", complete(e, row("B", 1, 0), a), store.ReportAccepted},
		{"the newer offer, too late", complete(e, row("B", 1, 1), b), store.ReportStale},
		{"a withdrawn attempt", complete(e, row("C", 1, 0), a), store.ReportStale},
		{"uncertain", uncertain(e, row("D", 1, 0), a), store.ReportAccepted},
		{"a word after uncertain", fail(e, row("D", 1, 0), a), store.ReportAccepted},
		{"uncertain after a word", uncertain(e, row("D", 1, 0), a), store.ReportStale},
		{"uncertain about what nobody holds", uncertain(e, row("E", 1, 0), a), store.ReportStale},
		{"another attempt", complete(e, row("A", 2, 0), a), store.ReportStale},
		{"another unit", complete(e, row("X", 1, 0), a), store.ReportStale},
		{"an ended execution", complete(done, row("A", 1, 0), a), store.ReportStale},
		{"an execution that is about to end", complete(ending, row("Z", 1, 0), a), store.ReportRetry},
		{"no execution", complete(&execution{id: 12345}, row("A", 1, 0), a), store.ReportStale},
	}
	for _, step := range steps {
		if got := w.report(step.report); got[0] != step.want {
			t.Errorf("%s: %v, want %v", step.what, got[0], step.want)
		}
	}
	var kinds []string
	for _, x := range w.inbox(0) {
		kinds = append(kinds, fmt.Sprintf("%s %s/%d/%d", x.Command.Kind, x.Command.Row.Unit, x.Command.Row.Attempt, x.Command.Row.Offer))
	}
	want := []string{"complete A/1/0", "complete B/1/0", "uncertain D/1/0", "fail D/1/0"}
	if !slices.Equal(kinds, want) {
		t.Errorf("inbox %q, want %q", kinds, want)
	}
	last := w.inbox(0)[3].Command
	if f := last.Failure; f == nil || f.Code != "Broken" || f.Message != "why" || !f.NonRetryable || string(f.Details) != "[1]" ||
		last.Claim.Session != a.ID || last.Claim.Worker != "a" || last.Claim.At == 0 {
		t.Errorf("the failure is %+v", last)
	}
	// Every offer of an attempt that is reported meets the report.
	w.want(2, "select count(*) from orrery.task where unit = 'B' and state = 'done'")
}

func TestReportsOfOneCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session("a")
	e, f := w.start("e", 0, offer("A", 1, 0), offer("B", 1, 0)), w.start("f", 7, offer("A", 1, 0))
	w.claim(s, "p", 3)
	ra, rb := history.RowRef{Unit: "A", Attempt: 1}, history.RowRef{Unit: "B", Attempt: 1}
	other := ra
	other.Offer = 1
	got := w.report(complete(f, ra, s), complete(e, rb, s), complete(e, ra, s), complete(e, ra, s), complete(e, other, s))
	want := []store.ReportOutcome{store.ReportAccepted, store.ReportAccepted, store.ReportAccepted, store.ReportDuplicate, store.ReportStale}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	w.want(3, "select count(*) from orrery.inbox")
	w.want(1, "select count(*) from orrery.inbox where partition = 7")
}

// TestOneReportIsFirst: of many tokens of one attempt that report at once, one is accepted.
func TestOneReportIsFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session("a")
	e := w.start("e", 0, offer("A", 1, 0))
	w.claim(s, "p", 1)
	outcomes := make(chan store.ReportOutcome, 8)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() { outcomes <- w.report(complete(e, history.RowRef{Unit: "A", Attempt: 1}, s))[0] })
	}
	wait.Wait()
	close(outcomes)
	counts := map[store.ReportOutcome]int{}
	for o := range outcomes {
		counts[o]++
	}
	if counts[store.ReportAccepted] != 1 || counts[store.ReportDuplicate] != 7 {
		t.Errorf("outcomes: %v", counts)
	}
}

// TestInsertAgainstEnd: an entry is either before the end, and then answered by it, or it is not there. Both orders, with
// the first transaction open before its COMMIT.
func TestInsertAgainstEnd(t *testing.T) {
	t.Parallel()
	signal := store.Message{Namespace: namespace, Name: "e", Command: history.Command{Kind: history.KindSignal, Signal: "go", Output: []byte("1")}}
	t.Run("insert first", func(t *testing.T) {
		w := newWorld(t)
		n := w.join("n1", 1, 0)
		e := w.start("e", 0)
		slow, open := w.held(w.url, 1)
		sent := make(chan store.Sent, 1)
		go func() {
			got, err := slow.Send(ctx(t), signal)
			if err != nil {
				t.Error(err)
			}
			sent <- got
		}()
		w.waits(gateClass)
		_, err := w.commit(n, e.turn(n, end))
		wantCommitError(t, err, store.Locked, e.id)
		open()
		got := <-sent
		if got.Outcome != store.SendQueued {
			t.Fatalf("sent: %+v", got)
		}
		w.mustCommit(n, e.turn(n, end))
		reply, err := w.fn.Reply(ctx(t), got.Entry)
		if err != nil || reply == nil || reply.Outcome != history.Finished {
			t.Errorf("reply: %+v, %v", reply, err)
		}
	})
	t.Run("end first", func(t *testing.T) {
		w := newWorld(t)
		n := w.join("n1", 1, 0)
		s := w.session("a")
		e := w.start("e", 0, offer("A", 1, 0))
		w.claim(s, "p", 1)
		slow, open := w.held(w.url, 1)
		committed := make(chan error, 1)
		go func() {
			_, err := slow.Commit(ctx(t), store.Batch{Fence: n.Fence, Items: []store.Item{e.turn(n, func(t *history.Turn) {
				end(t)
				t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1}}
			})}})
			committed <- err
		}()
		w.waits(gateClass)
		sent := make(chan store.Sent, 1)
		reported := make(chan []store.ReportOutcome, 1)
		go func() {
			got, err := w.fn.Send(ctx(t), signal)
			if err != nil {
				t.Error(err)
			}
			sent <- got
		}()
		go func() { reported <- w.report(complete(e, history.RowRef{Unit: "A", Attempt: 1}, s)) }()
		w.until(2, "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%for key share%' and datname = current_database()")
		open()
		if err := <-committed; err != nil {
			t.Fatal(err)
		}
		if got := <-sent; got.Outcome != store.SendFinished {
			t.Errorf("sent: %+v", got)
		}
		if got := <-reported; got[0] != store.ReportStale {
			t.Errorf("reported: %v", got)
		}
		w.want(0, "select count(*) from orrery.inbox")
	})
}

// TestWithdrawalAgainstReport: a report that is under way when its unit is withdrawn is either applied first or stale.
func TestWithdrawalAgainstReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	s := w.session("a")
	e := w.start("e", 0, offer("A", 1, 0))
	w.claim(s, "p", 1)
	withdraw := func(t *history.Turn) { t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1}} }
	slow, open := w.held(w.url, 1)
	reported := make(chan []store.ReportOutcome, 1)
	go func() {
		got, err := slow.Report(ctx(t), []store.Report{complete(e, history.RowRef{Unit: "A", Attempt: 1}, s)})
		if err != nil {
			t.Error(err)
		}
		reported <- got
	}()
	w.waits(gateClass)
	_, err := w.commit(n, e.turn(n, withdraw))
	wantCommitError(t, err, store.Locked, e.id)
	open()
	if got := <-reported; got[0] != store.ReportAccepted {
		t.Fatalf("reported: %v", got)
	}
	_, err = w.commit(n, e.turn(n, withdraw))
	wantCommitError(t, err, store.ReportFirst, e.id)
}
