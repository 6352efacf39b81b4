package pgserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
)

// Proxy stands between clients and a server, and does to their connections
// what networks do:
//
//	Reset    ends the clients' connections
//	Cut      does that and refuses new ones
//	Silence  passes nothing on, in either direction, and keeps every connection
//	Mute     holds back what the server answers; what the clients send arrives
//	Heal     ends all of that; what was held back arrives now
//
// A connection that is cut ends for the server only when that writes to it or
// has read all that was sent before: a transaction that the client sent whole
// goes on. The methods may be called from several goroutines.
type Proxy struct {
	url, target string
	listener    net.Listener
	serving     sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	changed *sync.Cond // some of them, or of a link's
	held    [2]bool    // by direction
	refuses bool
	links   map[*link]bool
}

// direction is an index of Proxy.held.
type direction int

const (
	toServer direction = iota
	toClient
)

// link is one connection.
type link struct {
	client, server net.Conn
	cut            bool
}

// NewProxy starts a proxy in front of the server of a database URL, on a free
// port of the loopback address.
func NewProxy(database string) (*Proxy, error) {
	u, err := url.Parse(database)
	if err != nil {
		return nil, fmt.Errorf("reading the database URL: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: u.Host, listener: listener, links: map[*link]bool{}}
	p.changed = sync.NewCond(&p.mu)
	u.Host = listener.Addr().String()
	p.url = u.String()
	p.serving.Go(p.serve)
	return p, nil
}

// URL is the database URL that leads through the proxy.
func (p *Proxy) URL() string { return p.url }

// Cut ends the clients' connections, and refuses new ones until Heal.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = true
	p.end()
}

// Reset ends the clients' connections; new ones are welcome, also those by
// which a client has the server cancel what it was doing.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

// end ends the clients' connections. The caller holds mu.
func (p *Proxy) end() {
	for l := range p.links {
		l.cut = true
		l.client.Close()
	}
	p.changed.Broadcast()
}

// Silence passes nothing on until Heal.
func (p *Proxy) Silence() { p.set([2]bool{true, true}) }

// Mute holds the server's answers back until Heal.
func (p *Proxy) Mute() { p.set([2]bool{toClient: true}) }

// Heal lets everything pass again.
func (p *Proxy) Heal() {
	p.mu.Lock()
	p.refuses = false
	p.mu.Unlock()
	p.set([2]bool{})
}

func (p *Proxy) set(held [2]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = held
	p.changed.Broadcast()
}

// Close ends all connections and returns when nothing of the proxy runs.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Cut()
	p.mu.Lock()
	for l := range p.links {
		l.server.Close()
	}
	p.mu.Unlock()
	p.serving.Wait()
	return err
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.serving.Go(func() { p.pass(client) })
		}
	}
}

// pass serves one connection to its end.
func (p *Proxy) pass(client net.Conn) {
	defer client.Close()
	l := p.link(client)
	if l == nil {
		return
	}
	defer p.unlink(l)
	var back sync.WaitGroup
	back.Go(func() {
		p.copy(l, client, l.server, toClient)
		client.Close()
	})
	p.copy(l, l.server, client, toServer)
	// The server learns that nothing more comes, and still answers what did.
	if half, ok := l.server.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	back.Wait()
}

// link connects a client to the server; nil when it cannot.
func (p *Proxy) link(client net.Conn) *link {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuses {
		server.Close()
		return nil
	}
	l := &link{client: client, server: server}
	p.links[l] = true
	return l
}

func (p *Proxy) unlink(l *link) {
	l.server.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// copy passes bytes on in one direction until one side ends.
func (p *Proxy) copy(l *link, to io.Writer, from io.Reader, way direction) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.await(l, way)
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil && way == toServer {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// await waits until the direction is open, or the connection cut.
func (p *Proxy) await(l *link, way direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.held[way] && !l.cut {
		p.changed.Wait()
	}
}
