package store_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between a store and the database, so that a test can cut the client off while its transaction goes on.
type proxy struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	clients  []net.Conn
}

// newProxy returns a proxy and the database URL that leads through it.
func newProxy(t *testing.T, address string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: u.Host}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.listener.Close() })
	go p.serve()
	u.Host = p.listener.Addr().String()
	return p, u.String()
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.clients = append(p.clients, client)
		p.mu.Unlock()
		go io.Copy(server, client) // the server's side stays open when the client's is cut
		go func() {
			io.Copy(client, server)
			client.Close()
			server.Close()
		}()
	}
}

// cut ends the clients' connections and lets no new one in, not even to cancel.
func (p *proxy) cut() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.Close()
	}
}
