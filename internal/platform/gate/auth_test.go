package gate

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// rsaKey makes a key; the first of each size is shared, since making one is slow.
var rsaKey = func() func(t *testing.T, bits int) *rsa.PrivateKey {
	var mu sync.Mutex
	made := map[int]*rsa.PrivateKey{}
	return func(t *testing.T, bits int) *rsa.PrivateKey {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if made[bits] == nil {
			made[bits] = newKey(t, bits)
		}
		return made[bits]
	}
}()

func newKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func publicPEM(t *testing.T, key crypto.PublicKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func jwks(keys map[string]*rsa.PrivateKey) []byte {
	var parts []string
	for kid, key := range keys {
		encode := base64.RawURLEncoding.EncodeToString
		parts = append(parts, fmt.Sprintf(`{"kty":"RSA","kid":%q,"alg":"RS256","use":"sig","n":%q,"e":%q}`,
			kid, encode(key.N.Bytes()), encode(big.NewInt(int64(key.E)).Bytes())))
	}
	return []byte(`{"keys":[` + strings.Join(parts, ",") + `]}`)
}

func writeKeys(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// sign makes a token that is good unless change says otherwise.
func sign(t *testing.T, method jwt.SigningMethod, key any, head map[string]any, change jwt.MapClaims) string {
	t.Helper()
	c := jwt.MapClaims{
		"iss": "noctria.auth", "aud": "renga", "sub": "ada", "exp": time.Now().Add(time.Hour).Unix(),
		"scope": "things:read things:write",
	}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	token := jwt.NewWithClaims(method, c)
	maps.Copy(token.Header, head)
	raw, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func jwtDoor(t *testing.T, keys []byte, cfg AuthConfig, routes ...Route) *door {
	t.Helper()
	cfg.Mode, cfg.Keys = ModeJWT, filepath.Join(t.TempDir(), "keys")
	writeKeys(t, cfg.Keys, keys)
	auth, err := OpenAuth(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if routes == nil {
		routes = []Route{
			{Pattern: "GET /things", Scope: "things:read", Do: ok},
			{Pattern: "GET /admin", Scope: "things:admin", Do: ok},
			{Pattern: "GET /any", Do: ok},
			{Pattern: "GET /open", Public: true, Do: ok},
			{Pattern: "GET /gui", Scope: "things:read", Surface: &Surface{KeyHeader: "X", Audiences: []string{
				"pdca",
				"pdca.gui",
			}, Invalid: 400, Render: Core.Render}, Do: ok},
		}
	}
	return openDoor(t, Config{Auth: auth}, routes...)
}

func TestTokensThatOpenTheDoor(t *testing.T) {
	key := rsaKey(t, 2048)
	var got Principal
	rs := jwt.SigningMethodRS256
	d := jwtDoor(t, publicPEM(t, &key.PublicKey), AuthConfig{Issuer: "issuer.example", Audience: "here"},
		Route{Pattern: "GET /things", Scope: "things:read", Do: noting(&got)})
	base := jwt.MapClaims{"iss": "issuer.example", "aud": "here"}
	for name, tc := range map[string]struct {
		change jwt.MapClaims
		tenant string
	}{
		"as it is":          {nil, defaultTenant},
		"several audiences": {jwt.MapClaims{"aud": []string{"x", "here"}}, defaultTenant},
		"scopes as a list":  {jwt.MapClaims{"scope": []string{"a", "things:read"}}, defaultTenant},
		"a tenant": {
			jwt.MapClaims{"tenant": "ABCDEF00-0000-0000-0000-000000000009"},
			"abcdef00-0000-0000-0000-000000000009",
		},
		"expired within the leeway": {jwt.MapClaims{"exp": time.Now().Add(-clockLeeway / 2).Unix()}, defaultTenant},
	} {
		change := maps.Clone(base)
		maps.Copy(change, tc.change)
		token := sign(t, rs, key, nil, change)
		for _, scheme := range []string{"Bearer", "bearer"} {
			w := d.ask("GET", "/things", "", "Authorization: "+scheme+" "+token, "Host: api.example.com",
				"X-Tenant-Id: 00000000-0000-0000-0000-0000000000ff")
			if w.Code != 200 || got.Tenant != tc.tenant || got.Subject != "ada" || got.All {
				t.Errorf("%s: got %d %s as %+v", name, w.Code, w.Body, got)
			}
		}
	}
}

func TestScopesDecideWhatATokenMay(t *testing.T) {
	key := rsaKey(t, 2048)
	d := jwtDoor(t, publicPEM(t, &key.PublicKey), AuthConfig{})
	bearer := "Authorization: Bearer " + sign(t, jwt.SigningMethodRS256, key, nil, nil)
	for target, want := range map[string]int{
		"/things": 200, "/any": 200, "/open": 200, "/admin": 403, "/gui": 401,
		"/nothing": 404,
	} {
		if w := d.ask("GET", target, "", bearer); w.Code != want {
			t.Errorf("%s: got %d %s, want %d", target, w.Code, w.Body, want)
		}
	}
	w := d.ask("GET", "/admin", "", bearer)
	if got := decodeError(t, w); got.Error.Code != "FORBIDDEN" || got.Error.Details["scope"] != "things:admin" ||
		!strings.Contains(got.Error.Message, "things:admin") || !strings.Contains(w.Header().Get("WWW-Authenticate"),
		`scope="things:admin"`) {
		t.Errorf("the scope that is needed is not named: %s %v", w.Body, w.Header())
	}
	none := "Authorization: Bearer " + sign(t, jwt.SigningMethodRS256, key, nil, jwt.MapClaims{"scope": ""})
	if w := d.ask("GET", "/things", "", none); w.Code != 403 {
		t.Errorf("an empty scope: got %d", w.Code)
	}
	// Scopes are separated by a space (RFC 6749, section 3.3), and by nothing that looks like one.
	for separator, want := range map[string]int{
		" ": 200, "  ": 200, "\t": 403, "\n": 403, "\u00a0": 403, "\u0085": 403,
		"\u2003": 403, "\u3000": 403, ",": 403,
	} {
		many := "Authorization: Bearer " + sign(t, jwt.SigningMethodRS256, key, nil, jwt.MapClaims{"scope": "other" +
			separator + "things:read"})
		if w := d.ask("GET", "/things", "", many); w.Code != want {
			t.Errorf("scopes separated by %q: got %d, want %d", separator, w.Code, want)
		}
	}
	gui := "Authorization: Bearer " + sign(t, jwt.SigningMethodRS256, key, nil,
		jwt.MapClaims{"aud": []string{"pdca.gui"}})
	if w := d.ask("GET", "/gui", "", gui); w.Code != 200 {
		t.Errorf("the surface's own audience: got %d %s", w.Code, w.Body)
	}
	if w := d.ask("GET", "/open", ""); w.Code != 200 {
		t.Errorf("a public route without a token: got %d", w.Code)
	}
}

func TestAudiencesAreThoseOfTheRouteThenOfTheSurface(t *testing.T) {
	key := rsaKey(t, 2048)
	surface := &Surface{Audiences: []string{"pdca", "pdca.gui"}, Invalid: 400, Render: Core.Render}
	d := jwtDoor(t, publicPEM(t, &key.PublicKey), AuthConfig{},
		Route{Pattern: "GET /read", Surface: surface, Do: ok},
		Route{Pattern: "GET /write", Surface: surface, Audiences: []string{"pdca"}, Do: ok},
		Route{Pattern: "GET /gui", Surface: surface, Audiences: []string{"pdca.gui"}, Do: ok},
		Route{Pattern: "GET /core", Do: ok})
	for _, tc := range []struct {
		audience               any
		read, write, gui, core int
	}{
		{"pdca", 200, 200, 401, 401},
		{"pdca.gui", 200, 401, 200, 401},
		{[]string{"pdca.gui", "pdca"}, 200, 200, 200, 401},
		{"renga", 401, 401, 401, 200},
		{[]string{"renga", "pdca"}, 200, 200, 401, 200},
	} {
		bearer := "Authorization: Bearer " + sign(t, jwt.SigningMethodRS256, key, nil,
			jwt.MapClaims{"aud": tc.audience})
		for target, want := range map[string]int{
			"/read": tc.read, "/write": tc.write, "/gui": tc.gui,
			"/core": tc.core,
		} {
			if got := d.ask("GET", target, "", bearer).Code; got != want {
				t.Errorf("%v at %s: got %d, want %d", tc.audience, target, got, want)
			}
		}
	}
}

func TestKeySetsChooseByKeyID(t *testing.T) {
	a, b, stranger := rsaKey(t, 2048), newKey(t, 2048), newKey(t, 2048)
	d := jwtDoor(t, jwks(map[string]*rsa.PrivateKey{"a": a, "b": b}), AuthConfig{})
	for _, tc := range []struct {
		name string
		key  *rsa.PrivateKey
		kid  any
		want int
	}{
		{"the first key", a, "a", 200},
		{"the second key", b, "b", 200},
		{"a key under another's name", b, "a", 401},
		{"an unknown name", a, "c", 401},
		{"an unknown key under a known name", stranger, "a", 401},
		{"a name that is a path", a, "../../etc/passwd", 401},
		{"a name that is a number", a, 1, 401},
	} {
		token := sign(t, jwt.SigningMethodRS256, tc.key, map[string]any{"kid": tc.kid}, nil)
		if w := d.ask("GET", "/things", "", "Authorization: Bearer "+token); w.Code != tc.want {
			t.Errorf("%s: got %d %s", tc.name, w.Code, w.Body)
		}
	}
	for key, want := range map[*rsa.PrivateKey]int{a: 200, b: 200, stranger: 401} {
		token := sign(t, jwt.SigningMethodRS256, key, nil, nil)
		if w := d.ask("GET", "/things", "", "Authorization: Bearer "+token); w.Code != want {
			t.Errorf("a token without key id, which all keys may verify: got %d, want %d", w.Code, want)
		}
	}
}

func TestRolesAndGroupsOfATokenAreReadWhereTheyAreNames(t *testing.T) {
	for raw, want := range map[string][]string{
		`{"roles":["a","b"]}`: {"a", "b"}, `{"roles":"a"}`: {"a"}, `{"roles":{"a":1}}`: nil, `{"roles":null}`: nil,
		`{"roles":[1]}`: nil, `{}`: nil,
	} {
		var c claims
		if err := c.UnmarshalJSON([]byte(raw)); err != nil || !slices.Equal(c.Roles, want) {
			t.Errorf("%s: got %q, %v; want %q", raw, c.Roles, err, want)
		}
	}
}
