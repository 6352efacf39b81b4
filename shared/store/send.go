package store

import (
	"context"

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

// Send puts a message into the inbox of its execution, in one transaction and one round trip, and rings the owner.
func (s *Store) Send(ctx context.Context, m Message) (Sent, error) { panic("not written") }

// Reply returns the answer to an awaited entry and removes it, or nil while it is not applied. ErrNotFound says that the
// answer was read before, or was left for more than 60 s.
func (s *Store) Reply(ctx context.Context, e EntryRef) (*history.Reply, error) { panic("not written") }
