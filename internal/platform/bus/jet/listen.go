package jet

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/crypto/bcrypt"

	"renga.dev/renga/internal/platform/fault"
)

// Limits of all followers.
const (
	MaxFollowerConnections = 1000
	MaxFollowerPending     = 16 << 20 // unread bytes; then it is disconnected
)

// Listen lets followers reach the server inside.
type Listen struct {
	Addr      string // HOST:PORT
	Followers []Follower
	TLS       *tls.Config // nil: loopback only
}

// check says why a server may not listen so.
func (l *Listen) check(ctx context.Context) error {
	host, port, err := net.SplitHostPort(l.Addr)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 && port != "0" {
		return fault.New(fault.Invalid, "NATS_LISTEN_INVALID",
			"the address to listen on for NATS must be HOST:PORT, not %q",
			l.Addr)
	}
	if len(l.Followers) == 0 {
		return fault.New(fault.Invalid, "NATS_LISTEN_INVALID",
			"a NATS server that listens needs users: whoever may follow which tenant")
	}
	if l.TLS != nil || loopback(ctx, host) {
		return nil
	}
	return fault.New(fault.Invalid, "NATS_LISTEN_INVALID",
		"on %s passwords and events would cross the network in the clear: "+
			"give a certificate and its key, or listen on 127.0.0.1", l.Addr)
}

func loopback(ctx context.Context, host string) bool {
	addrs, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	for _, a := range addrs {
		if !a.IP.IsLoopback() {
			return false
		}
	}
	return err == nil && len(addrs) > 0
}

// apply makes a server listen. Before open only this process may connect.
func (l *Listen) apply(opts *server.Options, d *door) {
	host, port, _ := net.SplitHostPort(l.Addr)
	opts.DontListen, opts.Host = false, host
	opts.Port, _ = strconv.Atoi(port)
	if opts.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	opts.MaxConn, opts.MaxPending = MaxFollowerConnections, MaxFollowerPending
	opts.CustomClientAuthentication = d
	if l.TLS != nil {
		opts.TLS, opts.TLSConfig = true, l.TLS
	}
}

// door authenticates clients of the server inside.
type door struct {
	self string // password of this process

	mu     sync.Mutex // guessing costs one core at most
	guests map[string]*guest
}

type guest struct {
	Follower
	account *server.Account // private
}

const selfName = "renga"

func newDoor() *door { return &door{self: rand.Text()} }

// open admits followers, each into an account of its own.
func (d *door) open(s *Server, inside *server.Server, followers []Follower) error {
	guests := map[string]*guest{}
	for _, f := range followers {
		account, err := inside.RegisterAccount("follower-" + f.User)
		if err != nil {
			return err
		}
		g := &guest{Follower: f, account: account}
		if err := g.admit(inside.GlobalAccount()); err != nil {
			return fmt.Errorf("follower %s: %w", f.User, err)
		}
		guests[f.User] = g
	}
	if _, err := s.conn.Subscribe(createSubject+"*.*.>", d.create(s)); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.guests = guests
	return nil
}

// Check implements server.Authentication.
func (d *door) Check(c server.ClientAuthentication) bool {
	user, password := c.GetOpts().Username, c.GetOpts().Password
	d.mu.Lock()
	defer d.mu.Unlock()
	if user == selfName && same(d.self, password) {
		c.RegisterUser(&server.User{Username: selfName})
		return true
	}
	g := d.guests[user]
	if g == nil || !g.knows(password) {
		return false
	}
	c.RegisterUser(&server.User{Username: g.User, Account: g.account, Permissions: g.permissions()})
	return true
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (g *guest) knows(password string) bool {
	if _, err := bcrypt.Cost([]byte(g.Password)); err == nil {
		return bcrypt.CompareHashAndPassword([]byte(g.Password), []byte(password)) == nil
	}
	return same(g.Password, password)
}
