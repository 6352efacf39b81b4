//go:build linux

package functions_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/orrery-dev/orrery/shared/cron"
)

// statements counts those that pass to PostgreSQL through it.
type statements struct {
	url string

	mu    sync.Mutex
	texts []string
}

// newStatements listens in front of a database.
func newStatements(t *testing.T, database string) *statements {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := u.Host
	u.Host = listener.Addr().String()
	s := &statements{url: u.String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.serve(client, target) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	return s
}

func (s *statements) serve(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		client.Close()
	})
	s.follow(bufio.NewReader(io.TeeReader(client, server)))
	server.Close()
	back.Wait()
}

// follow reads the client's half: the message that opens the connection, then those that have a kind. Parse and Query have
// statements.
func (s *statements) follow(r *bufio.Reader) {
	_, err := message(r)
	for err == nil {
		var kind byte
		var text []byte
		if kind, err = r.ReadByte(); err == nil {
			text, err = message(r)
		}
		if err == nil && (kind == 'P' || kind == 'Q') {
			s.mu.Lock()
			s.texts = append(s.texts, strings.Trim(string(text), "\x00"))
			s.mu.Unlock()
		}
	}
}

// message reads a length, which counts itself, and what it measures.
func message(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:])-4)
	_, err := io.ReadFull(r, b)
	return b, err
}

// take gives what has passed since the last call.
func (s *statements) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := s.texts
	s.texts = nil
	return texts
}

// tick invokes the scheduled function with its recorded event.
func (e *emulator) tick() (c cron.Counts) {
	e.t.Helper()
	if err := json.Unmarshal(e.invoke("cron", recorded(e.t, "cron")), &c); err != nil {
		e.t.Fatal(err)
	}
	return c
}

// ticks checks the scheduled function: with nothing due a tick is one statement without session state, and what is due is
// started by one tick, once.
func (e *emulator) ticks() {
	t := e.t
	t.Helper()
	e.tick() // it opens its connection, and makes partitions ahead
	e.statements.take()
	if c := e.tick(); c != (cron.Counts{}) {
		t.Errorf("with nothing due a tick has counted %+v", c)
	}
	if got := e.statements.take(); len(got) != 1 {
		t.Errorf("with nothing due a tick has sent %d statements, want 1:\n%s", len(got), strings.Join(got, "\n"))
	}
	event := moved(recorded(t, "publish"), "POST", "/v1/schedules")
	event["body"] = `{"id":"tick","specs":["0 0 1 1 *"],"target":{"workflow":{"name":"orders"}}}`
	e.expect("a schedule", "publish", event, 201, "")
	event = moved(recorded(t, "start"), "POST", "/v1/schedules/tick/trigger")
	event["body"] = `{}`
	e.expect("a trigger", "start", event, 201, "")
	if c := e.tick(); c.Started != 1 || c.Failed != 0 {
		t.Errorf("with one occurrence due a tick has counted %+v", c)
	}
	if c := e.tick(); c != (cron.Counts{}) {
		t.Errorf("the next one has counted %+v", c)
	}
	list := string(e.invoke("query", moved(recorded(t, "query"), "GET", "/v1/schedules/tick/occurrences")))
	if strings.Count(list, `\"status\":`) != 1 || !strings.Contains(list, `\"status\":\"completed\"`) {
		t.Errorf("the occurrence: %s", list)
	}
}
