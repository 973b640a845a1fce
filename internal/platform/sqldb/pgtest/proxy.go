package pgtest

import (
	"errors"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Cut is where a connection is cut.
type Cut int

// The places around a COMMIT.
const (
	Whole       Cut = iota // not at all
	Before                 // the COMMIT does not reach the server
	During                 // the COMMIT goes to the server, the client is cut off at once
	AfterAnswer            // the server has answered the COMMIT; the client does not learn it
)

// Proxy stands between clients and a PostgreSQL server and cuts connections.
type Proxy struct {
	listener net.Listener
	server   string
	at       *url.URL
	wg       sync.WaitGroup

	mu     sync.Mutex
	choose func(commit int) Cut
	seen   int // commits
	cuts   map[Cut]int
	links  map[*link]bool
	state  state
	change chan struct{} // closed when the state changes
}

// state is what a proxy does with its connections.
type state int

const (
	carrying state = iota
	away           // there are none
	hanging        // they bring nothing, and new ones are taken and not answered
)

// NewProxy starts a proxy before the server of a database.
func NewProxy(t testing.TB, database string) *Proxy {
	t.Helper()
	at, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		listener: listener, server: at.Host, at: at, cuts: map[Cut]int{}, links: map[*link]bool{},
		change: make(chan struct{}),
	}
	p.at.Host = listener.Addr().String()
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		_ = listener.Close()
		p.set(away)
		p.Sever()
		p.wg.Wait()
	})
	return p
}

// URL is the database's address through the proxy.
func (p *Proxy) URL() string { return p.at.String() }

// Choose sets who decides, for every COMMIT in turn, where the connection is cut.
// Nil lets all pass.
func (p *Proxy) Choose(choose func(commit int) Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.choose = choose
}

// Cuts counts the connections that were cut at a place.
func (p *Proxy) Cuts(at Cut) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts[at]
}

// Commits counts the COMMITs that clients have sent.
func (p *Proxy) Commits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// Sever cuts all connections, wherever they are, and says how many there were.
func (p *Proxy) Sever() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.links)
	for l := range p.links {
		l.close()
	}
	return n
}

// Away cuts all connections and refuses new ones, as a server that is not there.
func (p *Proxy) Away() {
	p.set(away)
	p.Sever()
}

// Hang lets nothing through any more, as a server or a network that has stopped: connections
// stay, and new ones are taken and never answered.
func (p *Proxy) Hang() { p.set(hanging) }

// Back ends Away and Hang. What hung is cut.
func (p *Proxy) Back() {
	p.Sever()
	p.set(carrying)
}

func (p *Proxy) set(s state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
	close(p.change)
	p.change = make(chan struct{})
}

// pass reports whether connections live, after waiting while they hang.
func (p *Proxy) pass() bool {
	for {
		p.mu.Lock()
		s, change := p.state, p.change
		p.mu.Unlock()
		if s != hanging {
			return s == carrying
		}
		<-change
	}
}

// commit counts a COMMIT and decides what becomes of its connection.
func (p *Proxy) commit() Cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	if p.choose == nil {
		return Whole
	}
	at := p.choose(p.seen)
	p.cuts[at]++
	return at
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() {
			if !p.pass() {
				_ = client.Close()
				return
			}
			server, err := net.DialTimeout("tcp", p.server, 5*time.Second)
			if err != nil {
				_ = client.Close()
				return
			}
			l := &link{proxy: p, client: client, server: server, answered: make(chan struct{}, 1)}
			p.keep(l, true)
			defer p.keep(l, false)
			l.run()
		})
	}
}

func (p *Proxy) keep(l *link, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.links[l] = true
	} else {
		delete(p.links, l)
	}
}

// link is one client's connection.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	answered       chan struct{}

	mu   sync.Mutex
	mute bool // what the server says does not reach the client any more
}

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// run carries messages both ways until one side ends or the connection is cut.
func (l *link) run() {
	var back sync.WaitGroup
	back.Go(l.answers)
	err := l.requests()
	if !errors.Is(err, errCut) {
		_ = l.server.Close() // the client has gone
	}
	back.Wait()
	l.close()
}

// errCut says that the connection was cut on purpose.
var errCut = errors.New("cut")

// requests carries what the client says, message by message.
func (l *link) requests() error {
	f := frontend{from: l.client}
	for {
		message, commit, err := f.next()
		if err != nil {
			return err
		}
		if !l.proxy.pass() {
			return errCut
		}
		if commit {
			if at := l.proxy.commit(); at != Whole {
				l.cut(at, message)
				return errCut
			}
		}
		if _, err := l.server.Write(message); err != nil {
			return err
		}
	}
}

// silence lets nothing that the server says from now on reach the client.
func (l *link) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute = true
}

// cut cuts the connection around a COMMIT.
func (l *link) cut(at Cut, commit []byte) {
	switch at {
	case Before:
		_ = l.client.Close()
	case During:
		l.silence()
		_, _ = l.server.Write(finish(commit))
		_ = l.client.Close()
		_ = l.server.(*net.TCPConn).CloseWrite() // closed as a whole, it could take the COMMIT back
		return
	case AfterAnswer:
		l.silence()
		_, _ = l.server.Write(finish(commit))
		select {
		case <-l.answered:
		case <-time.After(5 * time.Second): // it waits for a lock, or is gone
		}
		_ = l.client.Close()
	}
	_ = l.server.Close()
}

// answers carries what the server says.
func (l *link) answers() {
	defer l.client.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := l.server.Read(buf)
		if !l.proxy.pass() {
			return
		}
		l.mu.Lock()
		mute := l.mute
		l.mu.Unlock()
		switch {
		case mute && idle(buf[:n]):
			select {
			case l.answered <- struct{}{}:
			default:
			}
		case !mute && n > 0:
			if _, err := l.client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// idle reports whether an answer ends with the message that the server is ready for
// another query and outside of a transaction.
func idle(answer []byte) bool {
	const ready = "Z\x00\x00\x00\x05I"
	return len(answer) >= len(ready) && string(answer[len(answer)-len(ready):]) == ready
}
