// Package worker does tasks of workflows in Go: typed handlers, bounded concurrency, heartbeats, repeated reports and a
// clean end.
//
//	w := worker.New(worker.Config{URL: "http://127.0.0.1:8080", ID: "billing-1"})
//	worker.Handle(w, "payments.charge", 1, func(ctx context.Context, t worker.Task, in Charge) (Receipt, error) {
//		...
//	})
//	err := w.Run(ctx)
//
// What holds:
//
//   - A task is delivered at least once. Task.IdempotencyKey stays the same over every delivery and retry of the same
//     work: an effect outside goes under that key.
//   - A report is repeated until the server has answered it for good; the first report of an attempt counts.
//   - The context of a handler ends when the task times out, is cancelled or is no longer this worker's.
//   - When Run's context ends nothing more is taken, handlers go on for Config.Drain, what they did is reported, and what
//     is left is given back.
//
// The parts and who talks to whom:
//
//	 poller ---- free slots ----> takes tasks (two polls open at most)
//	   |                               |
//	   v                               v
//	handlers (Concurrency at once) -> reporter (up to 100 reports a call, which polls for as many tasks)
//	   ^
//	   |  cancels what is no longer wanted
//	heartbeat (lists all that is held)
//
// A lost session (the server has not heard of the worker for the session timeout) is replaced by a new one; work in
// progress goes on, and its report counts if nobody else's came first.
package worker
