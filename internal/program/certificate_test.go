package program

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issue writes a certificate for this machine and its key, and gives both names.
func issue(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "renga"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &signer.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestARenewedCertificateIsTaken replaces the files as renewals do, and in the middle of one.
func TestARenewedCertificateIsTaken(t *testing.T) {
	var said bytes.Buffer
	cert, key := issue(t, t.TempDir(), 1)
	c := &certificate{cert: cert, key: key, log: slog.New(slog.NewTextHandler(&said, nil))}
	if err := c.load(); err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		pair, err := c.get(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.SerialNumber.Int64()
	}
	if got := serial(); got != 1 || said.Len() > 0 {
		t.Errorf("at first: got %d, log %s", got, &said)
	}
	newer, newerKey := issue(t, t.TempDir(), 2)
	replace(t, newer, cert)
	for range 2 {
		if got := serial(); got != 1 {
			t.Errorf("with the key still to come: got %d", got)
		}
	}
	if n := strings.Count(said.String(), "stays in force"); n != 1 {
		t.Errorf("one flaw has %d lines in the log: %s", n, &said)
	}
	replace(t, newerKey, key)
	if got := serial(); got != 2 || !strings.Contains(said.String(), "renewed") {
		t.Errorf("after the renewal: got %d, log %s", got, &said)
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 2 || !strings.Contains(said.String(), "can read the private key") {
		t.Errorf("with a key for everybody: got %d, log %s", got, &said)
	}
}

func replace(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestTLSNeedsAPairThatFits(t *testing.T) {
	cert, key := issue(t, t.TempDir(), 1)
	_, other := issue(t, t.TempDir(), 2)
	open := filepath.Join(t.TempDir(), "open.pem")
	text, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(open, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	for _, tc := range []struct{ cert, key, want string }{
		{cert, "", "--tls-cert and --tls-key go together"},
		{"", key, "--tls-cert and --tls-key go together"},
		{cert, open, "every user of this machine can read the private key in " + open + ": chmod o= " + open},
		{cert, other, "cannot be used"},
		{cert, "/nowhere/key.pem", "key.pem"},
		{key, cert, "cannot be used"},
	} {
		if _, err := openTLS(tc.cert, tc.key, slog.Default()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s, %s: got %v, want %s", tc.cert, tc.key, err, tc.want)
		}
	}
	if got, err := openTLS("", "", slog.Default()); got != nil || err != nil {
		t.Errorf("without files: got %v, %v", got, err)
	}
	if got, err := openTLS(cert, key, slog.Default()); got == nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
