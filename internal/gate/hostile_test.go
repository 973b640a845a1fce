package gate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
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
}

// hostileTokens are tokens that a careless door lets in. The door has the key "a" of a
// JWKS; it is noon.
func hostileTokens(t *testing.T, key *rsa.PrivateKey, noon time.Time, elsewhere string) []hostile {
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
	sound := fmt.Sprintf(`"iss":"noctria.auth","aud":"renga","sub":"ada","exp":%d,"jti":"%s","scope":"things:read"`, at(time.Hour), canary)
	raw := func(payload string) string { return forge(t, key, `{"alg":"RS256","kid":"a"}`, payload) }
	header := func(text string) string { return forge(t, key, text, "{"+sound+"}") }
	swapped := encode([]byte(strings.Replace("{"+sound+"}", "ada", "root", 1)))
	flipped := []byte(parts[2])
	flipped[10] ^= 1

	return []hostile{
		// What is no token.
		{"nothing", "", 401},
		{"rubbish", canary, 401},
		{"two dots", "..", 401},
		{"two parts", parts[0] + "." + parts[1], 401},
		{"four parts", good + "." + canary, 401},
		{"five parts, as of an encrypted token", good + "." + canary + "." + canary, 401},
		{"padding inside the encoding", parts[0] + "=." + parts[1] + "." + parts[2], 401},
		{"the encoding of other bases", strings.NewReplacer("-", "+", "_", "/").Replace(parts[0]) + "+/." + parts[1] + "." + parts[2], 401},
		{"a header that is no JSON", encode([]byte(canary)) + "." + parts[1] + "." + parts[2], 401},
		{"a header that is a list", header(`["RS256"]`), 401},
		{"claims that are no JSON", raw(canary), 401},
		{"claims that are null", raw("null"), 401},
		{"claims that are a list", raw(`["` + canary + `"]`), 401},
		{"claims with something after them", raw("{" + sound + "} {}"), 401},
		{"claims that are not UTF-8", raw("{" + sound + ",\"x\":\"\xff\"}"), 401},
		{"longer than 8 KiB", claim("x", strings.Repeat("x", maxToken)), 401},

		// What is not signed by whom it says.
		{"no signature", parts[0] + "." + parts[1] + ".", 401},
		{"a signature with one bit changed", parts[0] + "." + parts[1] + "." + string(flipped), 401},
		{"the signature of another token", strings.Join(append(parts[:2:2], strings.Split(claim("x", 1), ".")[2]), "."), 401},
		{"other claims under a good signature", parts[0] + "." + swapped + "." + parts[2], 401},
		{"alg none", by(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType), 401},
		{"alg None with a good signature", header(`{"alg":"None","kid":"a"}`), 401},
		{"alg rs256 in small letters", header(`{"alg":"rs256","kid":"a"}`), 401},
		{"alg RS256 with a space", header(`{"alg":"RS256 ","kid":"a"}`), 401},
		{"no alg", header(`{"kid":"a"}`), 401},
		{"an alg that is a number", header(`{"alg":256,"kid":"a"}`), 401},
		{"an alg that is a list", header(`{"alg":["RS256"],"kid":"a"}`), 401},
		{"an unknown alg", header(`{"alg":"` + canary + `","kid":"a"}`), 401},
		{"HS256 with the public key", by(jwt.SigningMethodHS256, publicPEM(t, &key.PublicKey)), 401},
		{"HS256 with the modulus", by(jwt.SigningMethodHS256, key.N.Bytes()), 401},
		{"HS256 with an empty key", by(jwt.SigningMethodHS256, []byte{}), 401},
		{"RS384", by(jwt.SigningMethodRS384, key), 401},
		{"RS512", by(jwt.SigningMethodRS512, key), 401},
		{"PS256", by(jwt.SigningMethodPS256, key), 401},
		{"ES256", by(jwt.SigningMethodES256, curve), 401},
		{"another key under a known name", head(other, map[string]any{"kid": "a"}), 401},
		{"another key without a name", head(other, nil), 401},
		{"the key under an unknown name", head(key, map[string]any{"kid": canary}), 401},
		{"an empty key name", head(key, map[string]any{"kid": ""}), 401},
		{"a key name that is a path", head(key, map[string]any{"kid": "../../" + canary}), 401},
		{"a key name that is SQL", head(key, map[string]any{"kid": "a' OR '1'='1"}), 401},
		{"a key name that is a number", head(key, map[string]any{"kid": 1}), 401},
		{"a key name that is a list", head(key, map[string]any{"kid": []string{"a"}}), 401},
		{"a key of its own in jwk", head(other, map[string]any{"jwk": map[string]any{"kty": "RSA", "n": encode(other.N.Bytes()), "e": "AQAB"}}), 401},
		{"keys of its own at jku", head(other, map[string]any{"kid": "mine", "jku": elsewhere}), 401},
		{"keys of its own at x5u", head(other, map[string]any{"x5u": elsewhere}), 401},
		{"a certificate of its own in x5c", head(other, map[string]any{"x5c": []string{canary}}), 401},
		{"a critical extension", head(key, map[string]any{"kid": "a", "crit": []string{"exp"}}), 401},
		{"an empty list of critical extensions", head(key, map[string]any{"kid": "a", "crit": []string{}}), 401},
		{"two algs, the good one last", header(`{"alg":"none","alg":"RS256","kid":"a"}`), 401},
		{"two algs, the good one first", header(`{"alg":"RS256","alg":"none","kid":"a"}`), 401},
		{"two key names", header(`{"alg":"RS256","kid":"b","kid":"a"}`), 401},

		// What is claimed twice, or in other letters.
		{"two subjects", raw("{" + sound + `,"sub":"root"}`), 401},
		{"two subjects, one escaped", raw("{" + sound + `,"s\u0075b":"root"}`), 401},
		{"two expiries", raw("{" + sound + `,"exp":99999999999}`), 401},
		{"two scopes", raw("{" + sound + `,"scope":"things:admin"}`), 401},
		{"two audiences", raw("{" + sound + `,"aud":"other"}`), 401},
		{"claims in capitals", raw(strings.NewReplacer("iss", "ISS", "aud", "AUD", "sub", "SUB", "exp", "EXP", "scope", "SCOPE").Replace("{" + sound + "}")), 401},

		// Time. The leeway is 30 s to both sides.
		{"no expiry", claim("exp", nil), 401},
		{"an expiry that is null", raw(strings.Replace("{"+sound+"}", fmt.Sprint(at(time.Hour)), "null", 1)), 401},
		{"an expiry that is a text", claim("exp", "tomorrow"), 401},
		{"an expiry that is a number in a text", claim("exp", fmt.Sprint(at(time.Hour))), 401},
		{"an expiry that is true", claim("exp", true), 401},
		{"an expiry beyond all years", raw(strings.Replace("{"+sound+"}", fmt.Sprint(at(time.Hour)), "1e300", 1)), 401},
		{"an expiry in milliseconds", claim("exp", noon.Add(time.Hour).UnixMilli()), 401},
		{"an expiry before all years", claim("exp", -1), 401},
		{"an expiry at zero", claim("exp", 0), 401},
		{"expired long ago", claim("exp", at(-time.Hour)), 401},
		{"expired by the leeway", claim("exp", at(-clockLeeway)), 401},
		{"not valid before the leeway is over", claim("nbf", at(clockLeeway+time.Second)), 401},
		{"a start that is a text", claim("nbf", "0"), 401},
		{"issued after the leeway", claim("iat", at(clockLeeway+time.Second)), 401},
		{"issued at a text", claim("iat", canary), 401},

		// Who, by whom, for whom.
		{"no issuer", claim("iss", nil), 401},
		{"another issuer", claim("iss", canary), 401},
		{"an issuer with a slash", claim("iss", "noctria.auth/"), 401},
		{"a list of issuers", claim("iss", []string{"noctria.auth"}), 401},
		{"no subject", claim("sub", nil), 401},
		{"an empty subject", claim("sub", ""), 401},
		{"a subject that is a number", claim("sub", 7), 401},
		{"a subject that is too long", claim("sub", strings.Repeat("s", maxSubject+1)), 401},
		{"a subject with a line break", claim("sub", "ada\n"+canary), 401},
		{"a subject with a NUL", claim("sub", "ada\x00"+canary), 401},
		{"no audience", claim("aud", nil), 401},
		{"another audience", claim("aud", "pdca"), 401},
		{"an audience with more after it", claim("aud", "renga2"), 401},
		{"two audiences in one text", claim("aud", "renga pdca"), 401},
		{"a list without the audience", claim("aud", []string{"Renga", "renga.gui", canary}), 401},
		{"an empty list of audiences", claim("aud", []string{}), 401},
		{"a list of audiences that are no texts", claim("aud", []any{"renga", 7}), 401},
		{"an audience that is an object", claim("aud", map[string]string{"renga": "renga"}), 401},
		{"a tenant that is no UUID", claim("tenant", canary), 401},
		{"an empty tenant", claim("tenant", ""), 401},
		{"a tenant that is null", raw("{" + sound + `,"tenant":null}`), 401},
		{"a tenant in braces", claim("tenant", "{00000000-0000-0000-0000-000000000001}"), 401},
		{"a list of tenants", claim("tenant", []string{defaultTenant}), 401},

		// What the bearer may do. No scope claim is 401, one that does not suffice 403.
		{"no scope", claim("scope", nil), 401},
		{"a scope that is null", raw(strings.Replace("{"+sound+"}", `"things:read"`, "null", 1)), 401},
		{"a scope that is a number", claim("scope", 7), 401},
		{"a scope that is an object", claim("scope", map[string]bool{"things:read": true}), 401},
		{"a list of scopes that are no texts", claim("scope", []any{"things:read", 7}), 401},
		{"scopes in scp", with(jwt.MapClaims{"scope": "", "scp": "things:read"}), 403},
		{"an empty scope", claim("scope", ""), 403},
		{"an empty list of scopes", claim("scope", []string{}), 403},
		{"another scope", claim("scope", "things:write"), 403},
		{"a star for a scope", claim("scope", "*"), 403},
		{"the first half of a scope", claim("scope", "things"), 403},
		{"a longer scope", claim("scope", "things:read2 things:readall"), 403},
		{"a scope in capitals", claim("scope", "Things:Read"), 403},
		{"scopes with commas between them", claim("scope", "things:read,things:write"), 403},
		{"a list of scopes in one text", claim("scope", []string{"things:read things:write"}), 403},

		// The good side of the edges.
		{"as it should be", good, 200},
		{"expired within the leeway", claim("exp", at(-clockLeeway+time.Second)), 200},
		{"valid from the end of the leeway", claim("nbf", at(clockLeeway)), 200},
		{"issued at the end of the leeway", claim("iat", at(clockLeeway)), 200},
		{"a list of audiences", claim("aud", []string{"x", "renga"}), 200},
		{"a list of scopes", claim("scope", []string{"x", "things:read"}), 200},
		{"an expiry with a fraction", claim("exp", float64(at(time.Hour))+.5), 200},
		{"a jku beside a known key, which nobody follows", head(key, map[string]any{"kid": "a", "jku": elsewhere}), 200},
	}
}

func TestHostileTokensAreRefusedAndLeaveNoTrace(t *testing.T) {
	var asked []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Path) }))
	defer elsewhere.Close()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	key := rsaKey(t, 2048)
	spans := tracetest.NewInMemoryExporter()
	tel := telemetry(t)
	tel.Tracer, tel.Tracing = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test"), true
	path := t.TempDir() + "/keys"
	writeKeys(t, path, jwks(map[string]*rsa.PrivateKey{"a": key}))
	auth, err := OpenAuth(AuthConfig{Mode: ModeJWT, Keys: path, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	d := openDoor(t, Config{Auth: auth, Telemetry: tel}, Route{Pattern: "GET /things", Scope: "things:read", Do: ok})
	refused := 0
	var said strings.Builder
	rows := hostileTokens(t, key, noon, elsewhere.URL)
	for _, row := range rows {
		if row.status != 200 {
			refused++
		}
		d.refused = newLimiter(refusedRate) // so that all of them are logged
		for range 2 {                       // the second time from memory, if it were remembered
			w := d.ask("GET", "/things", "", "Authorization: Bearer "+row.token)
			if w.Code != row.status {
				t.Errorf("%s: got %d %s, want %d", row.name, w.Code, w.Body, row.status)
			}
			if challenged := strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer "); challenged != (row.status != 200) {
				t.Errorf("%s: got headers %v", row.name, w.Header())
			}
			fmt.Fprint(&said, w.Body, w.Header())
		}
	}
	if refused < 60 {
		t.Errorf("the table has %d hostile tokens", refused)
	}
	if len(asked) > 0 {
		t.Errorf("a token made the server ask elsewhere: %v", asked)
	}
	if n := len(spans.GetSpans()); n != 2*len(rows) {
		t.Errorf("%d spans for %d requests", n, 2*len(rows))
	}
	said.WriteString(d.log.String())
	fmt.Fprintf(&said, "%+v", spans.GetSpans())
	for _, row := range rows {
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
