package gate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func TestKeyFilesThatAreRefused(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(
		rsaKey(t, 2048))})
	for name, data := range map[string][]byte{
		"empty":          nil,
		"text":           []byte("hello"),
		"a private key":  private,
		"a short key":    publicPEM(t, &rsaKey(t, 1024).PublicKey),
		"another curve":  publicPEM(t, &curve.PublicKey),
		"a broken key":   pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")}),
		"a broken set":   []byte(`{"keys":`),
		"an empty set":   []byte(`{"keys":[]}`),
		"a shared key":   []byte(`{"keys":[{"kty":"oct","kid":"a","k":"c2VjcmV0"}]}`),
		"too many bytes": append(publicPEM(t, &rsaKey(t, 2048).PublicKey), make([]byte, maxKeyFile)...),
	} {
		path := filepath.Join(t.TempDir(), "keys")
		writeKeys(t, path, data)
		if _, err := OpenAuth(AuthConfig{Mode: ModeJWT, Keys: path}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for name, cfg := range map[string]AuthConfig{
		"no file":         {Mode: ModeJWT},
		"a missing file":  {Mode: ModeJWT, Keys: filepath.Join(t.TempDir(), "none")},
		"an unknown mode": {Mode: "basic"},
	} {
		if _, err := OpenAuth(cfg); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestKeysAreExchangedWithoutARestart(t *testing.T) {
	before, after := rsaKey(t, 2048), newKey(t, 2048)
	now := time.Now()
	path := filepath.Join(t.TempDir(), "keys")
	writeKeys(t, path, publicPEM(t, &before.PublicKey))
	log := &logbook{}
	auth, err := OpenAuth(AuthConfig{
		Mode: ModeJWT, Keys: path, Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	d := openDoor(t, Config{Auth: auth}, Route{Pattern: "GET /things", Do: ok})
	ask := func(key *rsa.PrivateKey) int {
		return d.ask("GET", "/things", "", "Authorization: Bearer "+sign(t, jwt.SigningMethodRS256, key, nil,
			jwt.MapClaims{"exp": now.Add(time.Hour).Unix()})).Code
	}
	expect := func(stage string, oldKey, newKey int) {
		t.Helper()
		if a, b := ask(before), ask(after); a != oldKey || b != newKey {
			t.Errorf("%s: got %d and %d, want %d and %d", stage, a, b, oldKey, newKey)
		}
	}
	change := func(data []byte) {
		t.Helper()
		writeKeys(t, path, data)
		now = now.Add(keysRecheck + time.Second)
		if err := os.Chtimes(path, now, now); err != nil {
			t.Fatal(err)
		}
	}
	expect("the first key", 200, 401)
	change(append(publicPEM(t, &before.PublicKey), publicPEM(t, &after.PublicKey)...))
	expect("both keys", 200, 200)
	change([]byte("half a file"))
	expect("a broken file leaves the keys", 200, 200)
	if !strings.Contains(log.String(), "key file not taken") {
		t.Errorf("the broken file is not logged: %s", log)
	}
	change(publicPEM(t, &after.PublicKey))
	expect("a withdrawn key opens nothing, not even from memory", 401, 200)
}

func TestVerifiedTokensLeaveTheCacheWhenTheyExpire(t *testing.T) {
	key, now := rsaKey(t, 2048), time.Now()
	path := filepath.Join(t.TempDir(), "keys")
	writeKeys(t, path, publicPEM(t, &key.PublicKey))
	auth, err := OpenAuth(AuthConfig{Mode: ModeJWT, Keys: path, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	d := openDoor(t, Config{Auth: auth}, Route{Pattern: "GET /things", Do: ok})
	bearer := "Authorization: Bearer " + sign(t, jwt.SigningMethodRS256, key, nil,
		jwt.MapClaims{"exp": now.Add(time.Minute).Unix()})
	for _, want := range []int{200, 200} {
		if got := d.ask("GET", "/things", "", bearer).Code; got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	if n := len(auth.verifier.known); n != 1 {
		t.Errorf("%d tokens are remembered, want 1", n)
	}
	now = now.Add(time.Minute + clockLeeway + time.Second)
	w := d.ask("GET", "/things", "", bearer)
	if w.Code != 401 || !strings.Contains(w.Body.String(), "expired") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestMemoryOfVerifiedTokensIsBounded(t *testing.T) {
	keys := &keySet{}
	v := &verifier{known: map[[32]byte]*token{}}
	now := time.Now()
	for i := range 2*maxVerified + 1 {
		v.remember([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, &token{keys: keys, expires: now.Add(time.Hour)}, now)
		if len(v.known) > maxVerified {
			t.Fatalf("%d tokens are remembered", len(v.known))
		}
	}
}
