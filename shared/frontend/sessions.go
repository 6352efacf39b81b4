package frontend

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Register opens a session for a worker.
func (f *Frontend) Register(ctx context.Context, c auth.Call, q wire.RegisterRequest) (wire.RegisterResponse, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.RegisterResponse{}, err
	}
	r := store.Registration{Namespace: ns, Worker: q.WorkerID, Language: q.Language, Contracts: contractsOf(q.Contracts)}
	var s store.Session
	err = retried(ctx, true, func() (err error) { s, err = f.store.Register(ctx, r); return err })
	if err != nil {
		return wire.RegisterResponse{}, failed("register worker "+q.WorkerID, err)
	}
	f.sessions.add(s)
	return wire.RegisterResponse{
		SessionID:           s.ID,
		SessionTimeoutMS:    f.options.SessionTimeout.Milliseconds(),
		HeartbeatIntervalMS: f.options.HeartbeatInterval.Milliseconds(),
	}, nil
}

// contractsOf drops repeats.
func contractsOf(list []wire.Contract) []history.Contract {
	seen := map[history.Contract]bool{}
	var out []history.Contract
	for _, c := range list {
		h := history.Contract{Task: c.Task, Version: c.Version}
		if !seen[h] {
			seen[h] = true
			out = append(out, h)
		}
	}
	return out
}

// Heartbeat records what a session holds.
func (f *Frontend) Heartbeat(ctx context.Context, c auth.Call, q wire.HeartbeatRequest) (wire.HeartbeatResponse, error) {
	s, err := f.session(ctx, c, q.SessionID)
	if err != nil {
		return wire.HeartbeatResponse{}, err
	}
	held, err := f.held(ctx, s, q.Tokens)
	if err != nil {
		return wire.HeartbeatResponse{}, err
	}
	beat := store.WorkerBeat{Session: s.ID, Number: q.Beat, Interval: f.options.HeartbeatInterval, Held: held.tasks}
	var a store.WorkerBeatAnswer
	err = retried(ctx, true, func() (err error) { a, err = f.store.WorkerBeat(ctx, beat); return err })
	if err != nil {
		return wire.HeartbeatResponse{}, f.sessions.lost(s.ID, err)
	}
	return wire.HeartbeatResponse{Cancelled: held.named(a.Cancelled, nil), Unknown: held.named(a.Unknown, held.unknown)}, nil
}

// heldTokens are the tokens of a heartbeat: those that are checked, with their text, and those of an earlier key.
type heldTokens struct {
	tasks   []store.HeldTask
	text    map[store.Holding]string
	unknown []string
}

func (h heldTokens) named(list []store.Holding, more []string) []string {
	out := make([]string, 0, len(list)+len(more))
	for _, x := range list {
		out = append(out, h.text[x])
	}
	return append(out, more...)
}

// held checks the tokens of a heartbeat. A wrong signature is no fault here: after a restore, which makes a new key, a
// worker still lists what it began before, and is told that it is over.
func (f *Frontend) held(ctx context.Context, s store.Session, list []wire.HeldToken) (heldTokens, error) {
	cl, err := f.settings(ctx)
	if err != nil {
		return heldTokens{}, err
	}
	h := heldTokens{text: make(map[store.Holding]string, len(list))}
	var faults tokenFaults
	for i, t := range list {
		token, err := cl.signer.Parse(t.Token)
		at := tokenField{"tokens", i}
		switch {
		case errors.Is(err, ErrTokenForged):
			h.unknown = append(h.unknown, t.Token)
		case err != nil:
			faults.add(at, err)
		case token.Namespace != s.Namespace:
			faults.add(at, ErrTokenForged)
		case token.Worker != s.Worker:
			faults.add(at, errTokenForeign)
		default:
			holding := store.Holding{Execution: token.Execution, Row: token.Row}
			if h.text[holding] == "" {
				h.text[holding] = t.Token
				h.tasks = append(h.tasks, store.HeldTask{Holding: holding, Details: t.Details, Turn: token.Turn})
			}
		}
	}
	return h, faults.err()
}

// Deregister closes a session; what it held is offered again at once.
func (f *Frontend) Deregister(ctx context.Context, c auth.Call, q wire.DeregisterRequest) (wire.DeregisterResponse, error) {
	s, err := f.session(ctx, c, q.SessionID)
	if err != nil {
		return wire.DeregisterResponse{}, err
	}
	cl, err := f.settings(ctx)
	if err != nil {
		return wire.DeregisterResponse{}, err
	}
	var back []store.HeldTask
	err = retried(ctx, false, func() (err error) { back, err = f.store.Deregister(ctx, s.ID); return err })
	if err != nil {
		return wire.DeregisterResponse{}, f.sessions.lost(s.ID, err)
	}
	f.sessions.remove(s.ID)
	a := wire.DeregisterResponse{Tokens: make([]string, 0, len(back))}
	for _, h := range back {
		a.Tokens = append(a.Tokens, cl.signer.Sign(Token{s.Namespace, h.Execution, h.Turn, h.Row, s.ID, s.Worker}))
	}
	return a, nil
}

// session finds the session of a call and counts the call as contact. A session of another namespace is not seen.
func (f *Frontend) session(ctx context.Context, c auth.Call, id string) (store.Session, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return store.Session{}, err
	}
	s, err := f.sessions.contact(ctx, id)
	if err == nil && s.Namespace != ns {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Session{}, notFound(err, noSession, id)
	}
	return s, nil
}

const (
	// contactEvery is the least time between two writes of contact with one session.
	contactEvery = time.Second
	// maxSessions bounds the cache; beyond it the cache begins anew.
	maxSessions = 10_000
)

// sessions caches the sessions that called this process. What is cached never changes in the database; that a session
// is gone is found when its contact is written.
type sessions struct {
	store workerStore

	mu    sync.Mutex
	known map[string]knownSession
}

type knownSession struct {
	store.Session
	written time.Time // when contact was last written
}

func newSessions(s workerStore) *sessions {
	return &sessions{store: s, known: map[string]knownSession{}}
}

func (s *sessions) add(x store.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxSessions {
		clear(s.known)
	}
	s.known[x.ID] = knownSession{x, time.Now()}
}

func (s *sessions) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}

// contact returns the session and writes contact with it when the last is long enough ago.
func (s *sessions) contact(ctx context.Context, id string) (store.Session, error) {
	s.mu.Lock()
	k, ok := s.known[id]
	s.mu.Unlock()
	if ok && time.Since(k.written) < contactEvery {
		return k.Session, nil
	}
	if !ok {
		var err error
		if k.Session, err = s.store.Session(ctx, id); err != nil {
			return store.Session{}, err
		}
	}
	if gone, err := s.store.Touch(ctx, []store.Touch{{Session: id}}); err != nil {
		return store.Session{}, err
	} else if len(gone) > 0 {
		s.remove(id)
		return store.Session{}, store.ErrNotFound
	}
	s.add(k.Session)
	return k.Session, nil
}

// lost is the error of a write under a session; a session that is gone is forgotten.
func (s *sessions) lost(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		s.remove(id)
	}
	return notFound(err, noSession, id)
}
