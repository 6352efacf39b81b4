// Package tap is a proxy in front of PostgreSQL that writes down what passes, for tests that count statements.
package tap

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Tap writes down which transactions pass. It reads the client's half of the protocol and changes nothing.
type Tap struct {
	URL    string // to reach the database by
	target string
	names  map[string]string // by the text that a statement has on the wire

	mu   sync.Mutex
	seen []Transaction
}

// Transaction is a block from BEGIN to COMMIT or ROLLBACK, or a single statement outside of one.
type Transaction struct {
	Application string
	Block       bool
	Statements  []string // names of files in shared/store/query, or texts
}

// Has tells whether a statement is in it.
func (x Transaction) Has(statement string) bool { return slices.Contains(x.Statements, statement) }

// New listens in front of a database until the test ends.
func New(t *testing.T, database string) *Tap {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Tap{target: u.Host, names: statementNames(t)}
	u.Host = listener.Addr().String()
	p.URL = u.String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	return p
}

// statementNames reads the statements of the store as they are on the wire: without comments, with numbered arguments.
func statementNames(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "shared/store/query/*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no statements: %v", err)
	}
	names := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var sql strings.Builder
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(strings.TrimSpace(line), "--") {
				sql.WriteString(line)
			}
		}
		wired, _, err := pgx.NamedArgs{}.RewriteQuery(context.Background(), nil, sql.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		names[wired] = strings.TrimSuffix(filepath.Base(file), ".sql")
	}
	return names
}

// root is the repository's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above the test")
		}
	}
}

// serve passes one connection through until either side closes it.
func (p *Tap) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		client.Close()
	})
	c := &tapped{tap: p, prepared: map[string]string{}}
	c.follow(bufio.NewReader(io.TeeReader(client, server)))
	server.Close()
	back.Wait()
}

// tapped is what is known of one connection.
type tapped struct {
	tap         *Tap
	application string
	prepared    map[string]string
	bound       string       // text of the statement in the unnamed portal
	open        *Transaction // nil outside of a block
}

// follow reads the client's messages to their end.
func (c *tapped) follow(r *bufio.Reader) {
	startup, err := body(r)
	if err != nil {
		return
	}
	fields := bytes.Split(startup, []byte{0})
	if i := slices.IndexFunc(fields, func(f []byte) bool { return string(f) == "application_name" }); i >= 0 {
		c.application = string(fields[i+1])
	}
	for {
		kind, err := r.ReadByte()
		if err != nil {
			return
		}
		message, err := body(r)
		if err != nil {
			return
		}
		c.message(kind, bytes.Split(message, []byte{0}))
	}
}

// body reads a length, which counts itself, and what it measures.
func body(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:])-4)
	_, err := io.ReadFull(r, b)
	return b, err
}

// message follows the extended protocol, as far as it says which statement runs.
func (c *tapped) message(kind byte, fields [][]byte) {
	switch kind {
	case 'P': // Parse: name, text
		c.prepared[string(fields[0])] = string(fields[1])
	case 'B': // Bind: portal, name
		c.bound = c.prepared[string(fields[1])]
	case 'E': // Execute
		c.run(c.bound)
	case 'Q': // Query: text
		c.run(string(fields[0]))
	}
}

func (c *tapped) run(sql string) {
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(sql)), " ")
	switch word {
	case "begin":
		c.open = &Transaction{Application: c.application, Block: true}
	case "commit", "rollback":
		if c.open != nil {
			c.tap.note(*c.open)
		}
		c.open = nil
	default:
		name, known := c.tap.names[sql]
		if !known {
			name = sql
		}
		if c.open != nil {
			c.open.Statements = append(c.open.Statements, name)
			return
		}
		c.tap.note(Transaction{Application: c.application, Statements: []string{name}})
	}
}

func (p *Tap) note(x Transaction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, x)
}

// Drain gives the transactions since the last call.
func (p *Tap) Drain() []Transaction {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen
	p.seen = nil
	return seen
}

// Summary counts transactions by what is in them, for messages.
func Summary(list []Transaction) string {
	counts := map[string]int{}
	for _, x := range list {
		counts[strings.Join(x.Statements, "+")]++
	}
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "\n%6d  %s", counts[what], what)
	}
	return b.String()
}
