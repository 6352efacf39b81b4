package store

import (
	"context"
	"fmt"

	"github.com/orrery-dev/orrery/shared/history"
)

// Message is a command of a client or an operator on its way to the owner.
type Message struct {
	Namespace history.NamespaceID
	Name      string // of the execution
	// Command is a signal, cancel, resolve or redrive. Ref, Inbox, Claim and Seed are not used.
	Command history.Command
	// From is the node that waits for the reply and listens for its bell; zero where the sender looks again by itself.
	From history.FenceNumber
	// Key makes a repeat of the message harmless; empty for none. KeyHash tells another request under the same key apart.
	Key     string
	KeyHash []byte
}

// SendOutcome is what became of a message.
type SendOutcome string

const (
	// SendQueued: the entry is durable and waits for its owner.
	SendQueued SendOutcome = "queued"
	// SendRepeated: the key was used before by the same request. Sent.Reply has its answer, or Sent.Entry waits for it.
	SendRepeated SendOutcome = "repeated"
	// SendKeyReused: the key was used before by another request. Nothing was written.
	SendKeyReused SendOutcome = "key reused"
	// SendFinished: the execution has ended (for redrive: is running). Nothing was written.
	SendFinished SendOutcome = "finished"
	// SendRetry: the execution is about to end; ask again after the end has committed.
	SendRetry SendOutcome = "retry"
	// SendUnknown: there is no such execution.
	SendUnknown SendOutcome = "unknown"
)

// Sent is the result of Send.
type Sent struct {
	Outcome SendOutcome
	Entry   EntryRef // SendQueued, SendRepeated
	Reply   *history.Reply
}

var (
	lockNamedSQL = query("lock_named")
	sendSQL      = query("send")
	ringNamedSQL = query("ring_named")
	replySQL     = query("reply")
)

// answerRow is a kept answer; an empty outcome is none.
type answerRow struct {
	Outcome string
	Event   int32
	Answer  string
}

func (r answerRow) reply() *history.Reply {
	if r.Outcome == "" {
		return nil
	}
	return &history.Reply{Outcome: history.Outcome(r.Outcome), Event: history.EventID(r.Event), Message: r.Answer}
}

type sentRow struct {
	Sent      string
	Execution int64
	Entry     int64
	answerRow
}

// Send puts a message into the inbox of its execution, in one transaction and one round trip, and rings the owner.
func (s *Store) Send(ctx context.Context, m Message) (Sent, error) {
	rows, err := s.send(ctx, m)
	if err == nil && rows[0].Sent == "" { // the same key was used a moment ago
		rows, err = s.send(ctx, m)
	}
	if err != nil {
		return Sent{}, fmt.Errorf("store: send %s to %s: %w", m.Command.Kind, m.Name, translateWrite(err))
	}
	r := rows[0]
	if r.Sent == "" {
		return Sent{}, fmt.Errorf("store: send %s to %s: %w", m.Command.Kind, m.Name, ErrConflict)
	}
	return Sent{
		Outcome: SendOutcome(r.Sent), Reply: r.reply(),
		Entry: EntryRef{history.ExecutionID(r.Execution), history.InboxID(r.Entry)},
	}, nil
}

func (s *Store) send(ctx context.Context, m Message) ([]sentRow, error) {
	cmd := &m.Command
	ended := cmd.Kind == history.KindRedrive
	f := failureOf(cmd.Failure)
	if cmd.Terminate {
		f.final = &cmd.Terminate
	}
	hash := m.KeyHash
	if hash == nil {
		hash = []byte{}
	}
	var rows []sentRow
	p := s.pipeline()
	p.begin()
	p.exec(lockNamedSQL, args{"namespace": int32(m.Namespace), "name": m.Name, "ended": ended})
	collect(p, sendSQL, args{
		"namespace": int32(m.Namespace), "name": m.Name, "ended": ended, "kind": string(cmd.Kind), "waiter": int32(m.From),
		"key": m.Key, "key_hash": hash, "unit": optional(string(cmd.Row.Unit)), "output": text(cmd.Output),
		"signal": optional(cmd.Signal), "reason": optional(cmd.Reason), "resolution": optional(cmd.Resolution),
		"error": f.code, "cause": f.cause, "details": f.details, "final": f.final, "request": optional(cmd.RequestID),
		"now": s.now(),
	}, &rows)
	p.commit()
	p.exec(ringNamedSQL, args{"namespace": int32(m.Namespace), "name": m.Name, "fence": int32(m.From)})
	return rows, p.run(ctx)
}

// Reply returns the answer to an awaited entry and removes it, or nil while it is not applied. ErrNotFound says that the
// answer was read before, or was left for more than 60 s.
func (s *Store) Reply(ctx context.Context, e EntryRef) (*history.Reply, error) {
	type row struct {
		answerRow
		There bool
	}
	rows, err := write[row](ctx, s, "read a reply", replySQL, args{"execution": int64(e.Execution), "entry": int64(e.ID)})
	if err != nil {
		return nil, err
	}
	if reply := rows[0].reply(); reply != nil {
		return reply, nil
	}
	if !rows[0].There {
		return nil, fmt.Errorf("store: read a reply: %w", ErrNotFound)
	}
	return nil, nil
}
