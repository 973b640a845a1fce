package test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// canaries are secrets by what they are, planted where they belong. They must turn up
// nowhere else.
type canaries map[string]string

// plant makes a secret that looks like no other.
func (c canaries) plant(what string) string {
	var word [9]byte
	_, _ = rand.Read(word[:]) // it never fails
	c[what] = "canary-" + hex.EncodeToString(word[:])
	return c[what]
}

// in says which secrets are in a text, as they are or as headers, URLs and JSON have them.
func (c canaries) in(text string) (found []string) {
	for what, secret := range c {
		for _, form := range []string{
			secret, url.QueryEscape(secret), inBase64(secret, 0), inBase64(secret, 1),
			inBase64(secret, 2),
		} {
			if strings.Contains(text, form) {
				found = append(found, what)
				break
			}
		}
	}
	return found
}

// inBase64 is what base64 makes of a secret that stands behind so many bytes, without the
// ends, which its neighbours have a part in.
func inBase64(secret string, behind int) string {
	encoded := base64.RawStdEncoding.EncodeToString([]byte("xx"[:behind] + secret))
	return encoded[2 : len(encoded)-3][min(2, behind*2):]
}

// none demands that no secret is in a text.
func (c canaries) none(t *testing.T, where, text string) {
	t.Helper()
	for _, what := range c.in(text) {
		at := strings.Index(text, c[what])
		t.Errorf("%s: %s is in there: …%.200s…", where, what, text[max(0, at-100):])
	}
}

// folder looks into every file of a folder.
func (c canaries) folder(t *testing.T, dir string) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		c.none(t, "the file "+path, string(text))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

func TestACanaryIsFound(t *testing.T) {
	c := canaries{}
	secret := c.plant("a password")
	for _, text := range []string{
		"x " + secret + " y", `{"a":"` + secret + `"}`,
		base64.StdEncoding.EncodeToString([]byte("u:" + secret)),
		base64.StdEncoding.EncodeToString([]byte("user:" + secret + "!")),
		base64.RawURLEncoding.EncodeToString([]byte(`{"jti":"` + secret + `"}`)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)),
	} {
		if len(c.in(text)) != 1 {
			t.Errorf("it is not found in %s", text)
		}
	}
	if found := c.in("canary-of-another"); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// keyServer publishes the keys of tokens.
type keyServer struct {
	key *rsa.PrivateKey
	url string
}

func newKeyServer(t *testing.T) *keyServer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"keys":[{"kty":"RSA","kid":"k","alg":"RS256","use":"sig","n":%q,"e":%q}]}`,
			encode(key.N.Bytes()), encode(big.NewInt(int64(key.E)).Bytes()))
	}))
	t.Cleanup(server.Close)
	return &keyServer{key: key, url: server.URL}
}

// token signs claims.
func (k *keyServer) token(t *testing.T, claims jwt.MapClaims) string {
	t.Helper()
	all := jwt.MapClaims{
		"iss": "noctria.auth", "aud": []string{"renga", "pdca", "pdca.gui"}, "sub": "desk-1",
		"exp": time.Now().Add(time.Hour).Unix(),
	}
	for name, value := range claims {
		all[name] = value
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, all)
	token.Header["kid"] = "k"
	raw, err := token.SignedString(k.key)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
