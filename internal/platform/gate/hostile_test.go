package gate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// canary is in every hostile token, and must be nowhere else.
const canary = "canary-7f3a91"

// forge signs any header and payload with RS256.
func forge(t *testing.T, key *rsa.PrivateKey, header, payload string) string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(header)) + "." + encode([]byte(payload))
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(signature)
}

// hostile is a row of the table: a token and what it deserves at GET /things, which
// asks for the scope things:read.
type hostile struct {
	name   string
	token  string
	status int
	named  bool // good where keys have no names, as in a PEM file
}

// at is what the token deserves at a door that has its keys from here.
func (h *hostile) at(from keyForm) int {
	if h.named && !from.names {
		return http.StatusOK
	}
	return h.status
}

// keyForm is a form in which a door gets the key "a".
type keyForm struct {
	name  string
	data  []byte
	names bool // a token's key name counts
}

// keyForms are all of them. What a door knows of an algorithm differs: a JWKS may name it, a
// PEM file never does.
func keyForms(t *testing.T, key *rsa.PrivateKey) []keyForm {
	set := jwks(map[string]*rsa.PrivateKey{"a": key})
	text := publicPEM(t, &key.PublicKey)
	second := publicPEM(t, &newKey(t, 2048).PublicKey)
	old := pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&key.PublicKey)})
	return []keyForm{
		{"JWKS", set, true},
		{"JWKS without algorithms", bytes.ReplaceAll(set, []byte(`"alg":"RS256",`), nil), true},
		{"PEM", text, false},
		{"PEM of PKCS 1", old, false},
		{"PEM of two keys", append(second, text...), false},
	}
}

// secretsOf are public texts that a careless door takes for the secret of an HMAC.
func secretsOf(t *testing.T, key *rsa.PrivateKey, forms []keyForm) map[string][]byte {
	secrets := map[string][]byte{
		"an empty text": {}, "the modulus": key.N.Bytes(), "the PKCS 1 form": x509.MarshalPKCS1PublicKey(
			&key.PublicKey),
	}
	for _, form := range forms {
		secrets["the file, "+form.name] = form.data
		secrets["the file without its last line break, "+form.name] = bytes.TrimSpace(form.data)
	}
	block, _ := pem.Decode(publicPEM(t, &key.PublicKey))
	secrets["the SPKI form"] = block.Bytes
	return secrets
}

// hostileTokens are tokens that a careless door lets in. The door has the key "a"; it is noon.
func hostileTokens(t *testing.T, key *rsa.PrivateKey, forms []keyForm, noon time.Time, elsewhere string) []hostile {
	other, rs := newKey(t, 2048), jwt.SigningMethodRS256
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) int64 { return noon.Add(d).Unix() }
	with := func(change jwt.MapClaims) string {
		all := jwt.MapClaims{"exp": at(time.Hour), "jti": canary}
		for name, value := range change {
			all[name] = value
		}
		return sign(t, rs, key, map[string]any{"kid": "a"}, all)
	}
	claim := func(name string, value any) string { return with(jwt.MapClaims{name: value}) }
	head := func(signer *rsa.PrivateKey, change map[string]any) string {
		return sign(t, rs, signer, change, jwt.MapClaims{"exp": at(time.Hour), "jti": canary})
	}
	by := func(method jwt.SigningMethod, signer any) string {
		return sign(t, method, signer, map[string]any{"kid": "a"}, jwt.MapClaims{"exp": at(time.Hour), "jti": canary})
	}
	good := claim("jti", canary)
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	sound := fmt.Sprintf(`"iss":"noctria.auth","aud":"renga","sub":"ada","exp":%d,"jti":"%s","scope":"things:read"`,
		at(time.Hour), canary)
	raw := func(payload string) string { return forge(t, key, `{"alg":"RS256","kid":"a"}`, payload) }
	header := func(text string) string { return forge(t, key, text, "{"+sound+"}") }
	swapped := encode([]byte(strings.Replace("{"+sound+"}", "ada", "root", 1)))
	flipped := []byte(parts[2])
	flipped[10] ^= 1

	var symmetric []hostile
	for name, secret := range secretsOf(t, key, forms) {
		for _, method := range []jwt.SigningMethod{
			jwt.SigningMethodHS256, jwt.SigningMethodHS384,
			jwt.SigningMethodHS512,
		} {
			symmetric = append(symmetric, hostile{method.Alg() + " with " + name, by(method, secret), 401, false})
		}
	}
	return append(symmetric, []hostile{
		// What is no token.
		{"nothing", "", 401, false},
		{"rubbish", canary, 401, false},
		{"two dots", "..", 401, false},
		{"two parts", parts[0] + "." + parts[1], 401, false},
		{"four parts", good + "." + canary, 401, false},
		{"five parts, as of an encrypted token", good + "." + canary + "." + canary, 401, false},
		{"padding inside the encoding", parts[0] + "=." + parts[1] + "." + parts[2], 401, false},
		{"the encoding of other bases", strings.NewReplacer("-", "+", "_", "/").Replace(parts[0]) + "+/." + parts[1] +
			"." + parts[2], 401, false},
		{"a header that is no JSON", encode([]byte(canary)) + "." + parts[1] + "." + parts[2], 401, false},
		{"a header that is a list", header(`["RS256"]`), 401, false},
		{"claims that are no JSON", raw(canary), 401, false},
		{"claims that are null", raw("null"), 401, false},
		{"claims that are a list", raw(`["` + canary + `"]`), 401, false},
		{"claims with something after them", raw("{" + sound + "} {}"), 401, false},
		{"claims that are not UTF-8", raw("{" + sound + ",\"x\":\"\xff\"}"), 401, false},
		{"longer than 8 KiB", claim("x", strings.Repeat("x", maxToken)), 401, false},

		// What is not signed by whom it says.
		{"no signature", parts[0] + "." + parts[1] + ".", 401, false},
		{"a signature with one bit changed", parts[0] + "." + parts[1] + "." + string(flipped), 401, false},
		{
			"the signature of another token",
			strings.Join(append(parts[:2:2], strings.Split(claim("x", 1), ".")[2]), "."),
			401, false,
		},
		{"other claims under a good signature", parts[0] + "." + swapped + "." + parts[2], 401, false},
		{"alg none", by(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType), 401, false},
		{"alg None with a good signature", header(`{"alg":"None","kid":"a"}`), 401, false},
		{"alg rs256 in small letters", header(`{"alg":"rs256","kid":"a"}`), 401, false},
		{"alg RS256 with a space", header(`{"alg":"RS256 ","kid":"a"}`), 401, false},
		{"no alg", header(`{"kid":"a"}`), 401, false},
		{"an alg that is a number", header(`{"alg":256,"kid":"a"}`), 401, false},
		{"an alg that is a list", header(`{"alg":["RS256"],"kid":"a"}`), 401, false},
		{"an unknown alg", header(`{"alg":"` + canary + `","kid":"a"}`), 401, false},
		{"PS384", by(jwt.SigningMethodPS384, key), 401, false},
		{"PS512", by(jwt.SigningMethodPS512, key), 401, false},
		{"RS384", by(jwt.SigningMethodRS384, key), 401, false},
		{"RS512", by(jwt.SigningMethodRS512, key), 401, false},
		{"PS256", by(jwt.SigningMethodPS256, key), 401, false},
		{"ES256", by(jwt.SigningMethodES256, curve), 401, false},
		{"another key under a known name", head(other, map[string]any{"kid": "a"}), 401, false},
		{"another key without a name", head(other, nil), 401, false},
		{"the key under an unknown name", head(key, map[string]any{"kid": canary}), 401, true},
		{"an empty key name", head(key, map[string]any{"kid": ""}), 401, true},
		{"a key name that is a path", head(key, map[string]any{"kid": "../../" + canary}), 401, true},
		{"a key name that is SQL", head(key, map[string]any{"kid": "a' OR '1'='1"}), 401, true},
		{"a key name that is a number", head(key, map[string]any{"kid": 1}), 401, true},
		{"a key name that is a list", head(key, map[string]any{"kid": []string{"a"}}), 401, true},
		{
			"a key of its own in jwk",
			head(
				other,
				map[string]any{"jwk": map[string]any{"kty": "RSA", "n": encode(other.N.Bytes()), "e": "AQAB"}},
			),
			401, false,
		},
		{"keys of its own at jku", head(other, map[string]any{"kid": "mine", "jku": elsewhere}), 401, false},
		{"keys of its own at x5u", head(other, map[string]any{"x5u": elsewhere}), 401, false},
		{"a certificate of its own in x5c", head(other, map[string]any{"x5c": []string{canary}}), 401, false},
		{"a critical extension", head(key, map[string]any{"kid": "a", "crit": []string{"exp"}}), 401, false},
		{
			"an empty list of critical extensions",
			head(key, map[string]any{"kid": "a", "crit": []string{}}),
			401,
			false,
		},
		{"two algs, the good one last", header(`{"alg":"none","alg":"RS256","kid":"a"}`), 401, false},
		{"two algs, the good one first", header(`{"alg":"RS256","alg":"none","kid":"a"}`), 401, false},
		{"two key names", header(`{"alg":"RS256","kid":"b","kid":"a"}`), 401, false},

		// What is claimed twice, or in other letters.
		{"two subjects", raw("{" + sound + `,"sub":"root"}`), 401, false},
		{"two subjects, one escaped", raw("{" + sound + `,"s\u0075b":"root"}`), 401, false},
		{"two expiries", raw("{" + sound + `,"exp":99999999999}`), 401, false},
		{"two scopes", raw("{" + sound + `,"scope":"things:admin"}`), 401, false},
		{"two audiences", raw("{" + sound + `,"aud":"other"}`), 401, false},
		{
			"claims in capitals",
			raw(strings.NewReplacer("iss", "ISS", "aud", "AUD", "sub", "SUB", "exp", "EXP", "scope",
				"SCOPE").Replace("{" + sound + "}")),
			401,
			false,
		},

		// Time. The leeway is 30 s to both sides.
		{"no expiry", claim("exp", nil), 401, false},
		{
			"an expiry that is null", raw(strings.Replace("{"+sound+"}", fmt.Sprint(at(time.Hour)), "null", 1)), 401,
			false,
		},
		{"an expiry that is a text", claim("exp", "tomorrow"), 401, false},
		{"an expiry that is a number in a text", claim("exp", fmt.Sprint(at(time.Hour))), 401, false},
		{"an expiry that is true", claim("exp", true), 401, false},
		{
			"an expiry beyond all years",
			raw(strings.Replace("{"+sound+"}", fmt.Sprint(at(time.Hour)), "1e300", 1)), 401,
			false,
		},
		{"an expiry in milliseconds", claim("exp", noon.Add(time.Hour).UnixMilli()), 401, false},
		{"an expiry before all years", claim("exp", -1), 401, false},
		{"an expiry at zero", claim("exp", 0), 401, false},
		{"expired long ago", claim("exp", at(-time.Hour)), 401, false},
		{"expired by the leeway", claim("exp", at(-clockLeeway)), 401, false},
		{"not valid before the leeway is over", claim("nbf", at(clockLeeway+time.Second)), 401, false},
		{"a start that is a text", claim("nbf", "0"), 401, false},
		{"issued after the leeway", claim("iat", at(clockLeeway+time.Second)), 401, false},
		{"issued at a text", claim("iat", canary), 401, false},

		// Who, by whom, for whom.
		{"no issuer", claim("iss", nil), 401, false},
		{"another issuer", claim("iss", canary), 401, false},
		{"an issuer with a slash", claim("iss", "noctria.auth/"), 401, false},
		{"a list of issuers", claim("iss", []string{"noctria.auth"}), 401, false},
		{"no subject", claim("sub", nil), 401, false},
		{"an empty subject", claim("sub", ""), 401, false},
		{"a subject that is a number", claim("sub", 7), 401, false},
		{"a subject that is too long", claim("sub", strings.Repeat("s", maxSubject+1)), 401, false},
		{"a subject with a line break", claim("sub", "ada\n"+canary), 401, false},
		{"a subject with a NUL", claim("sub", "ada\x00"+canary), 401, false},
		{"no audience", claim("aud", nil), 401, false},
		{"another audience", claim("aud", "pdca"), 401, false},
		{"an audience with more after it", claim("aud", "renga2"), 401, false},
		{"two audiences in one text", claim("aud", "renga pdca"), 401, false},
		{"a list without the audience", claim("aud", []string{"Renga", "renga.gui", canary}), 401, false},
		{"an empty list of audiences", claim("aud", []string{}), 401, false},
		{"a list of audiences that are no texts", claim("aud", []any{"renga", 7}), 401, false},
		{"an audience that is an object", claim("aud", map[string]string{"renga": "renga"}), 401, false},
		{"a tenant that is no UUID", claim("tenant", canary), 401, false},
		{"an empty tenant", claim("tenant", ""), 401, false},
		{"a tenant that is null", raw("{" + sound + `,"tenant":null}`), 401, false},
		{"a tenant in braces", claim("tenant", "{00000000-0000-0000-0000-000000000001}"), 401, false},
		{"a list of tenants", claim("tenant", []string{defaultTenant}), 401, false},

		// What the bearer may do. No scope claim is 401, one that does not suffice 403.
		{"no scope", claim("scope", nil), 401, false},
		{"a scope that is null", raw(strings.Replace("{"+sound+"}", `"things:read"`, "null", 1)), 401, false},
		{"a scope that is a number", claim("scope", 7), 401, false},
		{"a scope that is an object", claim("scope", map[string]bool{"things:read": true}), 401, false},
		{"a list of scopes that are no texts", claim("scope", []any{"things:read", 7}), 401, false},
		{"scopes in scp", with(jwt.MapClaims{"scope": "", "scp": "things:read"}), 403, false},
		{"an empty scope", claim("scope", ""), 403, false},
		{"an empty list of scopes", claim("scope", []string{}), 403, false},
		{"another scope", claim("scope", "things:write"), 403, false},
		{"a star for a scope", claim("scope", "*"), 403, false},
		{"the first half of a scope", claim("scope", "things"), 403, false},
		{"a longer scope", claim("scope", "things:read2 things:readall"), 403, false},
		{"a scope in capitals", claim("scope", "Things:Read"), 403, false},
		{"scopes with commas between them", claim("scope", "things:read,things:write"), 403, false},
		{"a list of scopes in one text", claim("scope", []string{"things:read things:write"}), 403, false},

		// The good side of the edges.
		{"as it should be", good, 200, false},
		{"expired within the leeway", claim("exp", at(-clockLeeway+time.Second)), 200, false},
		{"valid from the end of the leeway", claim("nbf", at(clockLeeway)), 200, false},
		{"issued at the end of the leeway", claim("iat", at(clockLeeway)), 200, false},
		{"a list of audiences", claim("aud", []string{"x", "renga"}), 200, false},
		{"a list of scopes", claim("scope", []string{"x", "things:read"}), 200, false},
		{"an expiry with a fraction", claim("exp", float64(at(time.Hour))+.5), 200, false},
		{
			"a jku beside a known key, which nobody follows",
			head(key, map[string]any{"kid": "a", "jku": elsewhere}), 200,
			false,
		},
	}...)
}

func TestHostileTokensAreRefusedAndLeaveNoTrace(t *testing.T) {
	var asked []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
	}))
	defer elsewhere.Close()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	key := rsaKey(t, 2048)
	forms := keyForms(t, key)
	rows := hostileTokens(t, key, forms, noon, elsewhere.URL)
	if n := slices.IndexFunc(rows, func(h hostile) bool { return h.status == http.StatusOK }); n < 100 {
		t.Errorf("the table has %d hostile tokens", n)
	}
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			playHostile(t, form, rows, noon)
			if len(asked) > 0 {
				t.Errorf("a token made the server ask elsewhere: %v", asked)
			}
		})
	}
}

// playHostile sends tokens to a door and looks at its answers, logs and spans.
func playHostile(t *testing.T, form keyForm, rows []hostile, noon time.Time) {
	spans := tracetest.NewInMemoryExporter()
	tel := telemetry(t)
	tel.Tracer, tel.Tracing = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test"), true
	path := t.TempDir() + "/keys"
	writeKeys(t, path, form.data)
	auth, err := OpenAuth(AuthConfig{Mode: ModeJWT, Keys: path, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	d := openDoor(t, Config{Auth: auth, Telemetry: tel}, Route{Pattern: "GET /things", Scope: "things:read", Do: ok})
	for _, row := range rows {
		want, logged := row.at(form), len(d.log.String())
		var said strings.Builder
		d.refused = newLimiter(refusedRate) // so that all of them are logged
		for range 2 {                       // the second time from memory, if it were remembered
			w := d.ask("GET", "/things", "", "Authorization: Bearer "+row.token)
			if w.Code != want {
				t.Errorf("%s: got %d %s, want %d", row.name, w.Code, w.Body, want)
			}
			challenged := strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer ")
			if challenged != (want != http.StatusOK) {
				t.Errorf("%s: got headers %v", row.name, w.Header())
			}
			fmt.Fprint(&said, w.Body, w.Header())
		}
		if n := len(spans.GetSpans()); n != 2 {
			t.Errorf("%s: %d spans for 2 requests", row.name, n)
		}
		fmt.Fprintf(&said, "%s%+v", d.log.String()[logged:], spans.GetSpans())
		spans.Reset()
		for _, part := range append(strings.Split(row.token, "."), canary) {
			if len(part) > 8 && strings.Contains(said.String(), part) {
				t.Errorf("%s: a part of the token got out: %s", row.name, part)
			}
		}
	}
}

func TestTokensInOtherPlacesAreNotLookedAt(t *testing.T) {
	key := rsaKey(t, 2048)
	d := jwtDoor(t, publicPEM(t, &key.PublicKey), AuthConfig{})
	good := sign(t, jwt.SigningMethodRS256, key, nil, nil)
	for name, headers := range map[string][]string{
		"no header":        nil,
		"basic":            {"Authorization: Basic YTpi"},
		"a bare token":     {"Authorization: " + good},
		"two headers":      {"Authorization: Bearer " + good, "Authorization: Bearer " + good},
		"another header":   {"X-Authorization: Bearer " + good},
		"a cookie":         {"Cookie: access_token=" + good},
		"a second word":    {"Authorization: Bearer " + good + " x"},
		"two in one":       {"Authorization: Bearer " + good + ", Bearer " + good},
		"an empty bearer":  {"Authorization: Bearer "},
		"a tab in between": {"Authorization: Bearer\t" + good},
	} {
		if w := d.ask("GET", "/things?access_token="+good, "", headers...); w.Code != 401 {
			t.Errorf("%s: got %d", name, w.Code)
		}
	}
	for _, part := range strings.Split(good, ".") {
		if strings.Contains(d.log.String(), part) {
			t.Error("a part of a token is in the log")
		}
	}
}
