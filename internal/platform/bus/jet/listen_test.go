package jet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/crypto/bcrypt"

	"renga.dev/renga/internal/platform/fault"
)

const (
	tenantA = "7b0f4a10-1111-4222-8333-444455556666" // of numbered
	tenantB = "7b0f4a10-2222-4222-8333-444455556666"
	secret  = "a long password"
)

// listening opens a server inside that eve and adam, of tenant A, and bob, of tenant B,
// may follow.
func listening(t *testing.T) *Server {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(secret), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	followers, err := ReadFollowers([]byte(`users:
  - {user: eve, password: ` + secret + `, tenant: ` + tenantA + `}
  - {user: adam, password: ` + secret + `, tenant: ` + tenantA + `}
  - {user: bob, password: "` + string(hash) + `", tenant: ` + strings.ToUpper(tenantB) + `}
`))
	if err != nil {
		t.Fatal(err)
	}
	return open(t, Config{Dir: t.TempDir(), Listen: &Listen{Addr: "127.0.0.1:0", Followers: followers}})
}

// as connects as a follower. What the server complains of is noted.
func as(t *testing.T, s *Server, user string) (*nats.Conn, *notes) {
	t.Helper()
	log := newNotes()
	conn, err := nats.Connect(s.Addr().String(), nats.UserInfo(user, secret),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			_, _ = log.Write([]byte(err.Error() + "\n"))
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); until(t, conn.IsClosed) })
	return conn, log
}

func TestFollowersMustProveWhoTheyAre(t *testing.T) {
	s := listening(t)
	for _, user := range []string{"eve", "bob"} {
		as(t, s, user)
	}
	for _, tt := range []struct{ user, password string }{
		{"eve", "a wrong password"},
		{"eve", ""},
		{"bob", "a wrong password"},
		{"nobody", secret},
		{"renga", secret},
		{"renga", ""},
		{"", ""},
	} {
		conn, err := nats.Connect(s.Addr().String(), nats.UserInfo(tt.user, tt.password))
		if err == nil || !strings.Contains(err.Error(), "Authorization Violation") {
			t.Errorf("%s with %q: got %v", tt.user, tt.password, err)
		}
		if conn != nil {
			conn.Close()
		}
	}
	hash := s.door.guests["bob"].Password
	if conn, err := nats.Connect(s.Addr().String(), nats.UserInfo("bob", hash)); err == nil {
		conn.Close()
		t.Error("the hash was taken for the password")
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFilesOfFollowers(t *testing.T) {
	const ok = "users: [{user: a, password: a long password, tenant: " + tenantA + "}]"
	if got, err := ReadFollowers([]byte(ok)); err != nil || len(got) != 1 ||
		got[0] != (Follower{"a", secret, tenantA}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"empty":                   "",
		"no users":                "users: []",
		"not YAML":                "users: {",
		"an unknown member":       strings.Replace(ok, "user:", "name:", 1),
		"a name with a dot":       strings.Replace(ok, "user: a", "user: a.b", 1),
		"a name that matches all": strings.Replace(ok, "user: a", "user: '*'", 1),
		"no name":                 strings.Replace(ok, "user: a", "user: ''", 1),
		"a long name":             strings.Replace(ok, "user: a", "user: "+strings.Repeat("a", 33), 1),
		"a short password":        strings.Replace(ok, secret, "hush", 1),
		"a broken hash":           strings.Replace(ok, secret, "$2a$10$x", 1),
		"no password":             strings.Replace(ok, secret, "''", 1),
		"a tenant that is none":   strings.Replace(ok, tenantA, "acme", 1),
		"a tenant that is all":    strings.Replace(ok, tenantA, "'*'", 1),
		"a name twice": strings.Replace(ok, "[{", "[{user: a, password: another password, tenant: "+tenantB+
			"}, {", 1),
	} {
		_, err := ReadFollowers([]byte(text))
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: got %v", name, err)
		} else if strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "password:") {
			t.Errorf("%s: the error gives a password away: %v", name, err)
		}
	}
}

func TestAServerDoesNotListenCarelessly(t *testing.T) {
	followers := []Follower{{"a", secret, tenantA}}
	for _, tt := range []struct {
		name, want string
		listen     Listen
		url        string
	}{
		{"without users", "needs users", Listen{Addr: "127.0.0.1:0"}, ""},
		{"to the network without TLS", "in the clear", Listen{Addr: "0.0.0.0:0", Followers: followers}, ""},
		{"to everybody without TLS", "in the clear", Listen{Addr: ":0", Followers: followers}, ""},
		{"nowhere", "must be HOST:PORT", Listen{Addr: "4222", Followers: followers}, ""},
		{"at no port", "must be HOST:PORT", Listen{Addr: "127.0.0.1:nats", Followers: followers}, ""},
		{
			"for a server outside", "only the NATS server inside",
			Listen{Addr: "127.0.0.1:0", Followers: followers},
			"nats://127.0.0.1:1",
		},
	} {
		_, err := Open(t.Context(), Config{Dir: t.TempDir(), URL: tt.url, Listen: &tt.listen})
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = Open(t.Context(), Config{Dir: t.TempDir(), Listen: &Listen{
		Addr:      taken.Addr().String(),
		Followers: followers,
	}})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("where somebody listens: got %v", err)
	}
}

func TestFollowersAreReachedOverTLS(t *testing.T) {
	config, roots := certificate(t)
	s := open(t, Config{Dir: t.TempDir(), Listen: &Listen{
		Addr: "0.0.0.0:0", TLS: config, Followers: []Follower{{"eve", secret, tenantA}},
	}})
	_, port, _ := net.SplitHostPort(s.Addr().String())
	addr := "127.0.0.1:" + port
	conn, err := nats.Connect("tls://"+addr, nats.UserInfo("eve", secret), nats.Secure(&tls.Config{RootCAs: roots}))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	until(t, conn.IsClosed)
	if err := s.Check(t.Context()); err != nil { // this process needs none
		t.Error(err)
	}
	plain, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := plain.Write([]byte(`CONNECT {"user":"eve","pass":"` + secret + `","tls_required":false}` +
		"\r\nPING\r\n")); err != nil {
		t.Fatal(err)
	}
	_ = plain.SetReadDeadline(time.Now().Add(maxWait))
	var said []byte
	for buf := make([]byte, 4096); ; {
		n, err := plain.Read(buf)
		said = append(said, buf[:n]...)
		if err != nil {
			break
		}
	}
	if strings.Contains(string(said), "PONG") {
		t.Errorf("without TLS it says %s", said)
	}
}

// certificate makes a key for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "renga"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{
		Certificate: [][]byte{der},
		PrivateKey:  key,
	}}}, roots
}
