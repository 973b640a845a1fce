package console

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/web"
)

const script = "export const a = 1;\n"

// bundle is an archive with a document, a script and an icon.
func bundle(t *testing.T) *web.Console {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, member := range []struct{ name, text string }{
		{"SOURCE", "sha256:1\n"},
		{"assets/a-1.js.gz", packed(t, script)},
		{"icon.svg", "<svg/>"},
		{"index.html.gz", packed(t, `<!doctype html><base href="__RENGA_BASE__"><meta name="renga-nonce" `+
			`content="__RENGA_NONCE__"><script type="module" src="ui/assets/a-1.js"></script>`)},
	} {
		w, err := archive.Create(member.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, member.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := web.Read(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// site is a console at a gate that also has a route of the API.
type site struct {
	t    *testing.T
	gate *gate.Gate
}

func open(t *testing.T, c *web.Console, publicURL string) site {
	t.Helper()
	auth, err := gate.OpenAuth(gate.AuthConfig{PublicURL: publicURL})
	if err != nil {
		t.Fatal(err)
	}
	routes := append(New(c, publicURL).Routes(), gate.Route{
		Pattern: "GET /executions",
		Do:      func(context.Context, *gate.Call) (gate.Reply, error) { return gate.Reply{}, nil },
	})
	g, err := gate.New(gate.Config{Auth: auth}, routes)
	if err != nil {
		t.Fatal(err)
	}
	return site{t, g}
}

// get sends a GET with headers "Name: value".
func (s site) get(path string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, path, nil)
	r.Host = "localhost:8080"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.gate.ServeHTTP(w, r)
	return w
}

func TestEveryAddressOfTheConsoleAnswersTheDocument(t *testing.T) {
	s := open(t, bundle(t), "")
	for _, path := range []string{
		"/", "/ui", "/ui/", "/ui/executions", "/ui/executions/01a1?tab=log&at=17", "/ui/a/b/c/d", "/ui/index.html",
		"/ui/x%2fy", "/ui/assets",
	} {
		w := s.get(path)
		if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.Contains(w.Body.String(), `<base href="/">`) {
			t.Errorf("%s: got %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
	for _, path := range []string{"/nothing", "/executions/1", "/index.html", "/assets/a-1.js"} {
		w := s.get(path)
		if w.Code != 404 || !strings.Contains(w.Body.String(), `"code":"NOT_FOUND"`) {
			t.Errorf("%s: got %d %s, want the refusal of the API", path, w.Code, w.Body)
		}
	}
}

// TestTheDocumentSaysWhatABrowserMayDo holds the headers word by word: each is a promise.
func TestTheDocumentSaysWhatABrowserMayDo(t *testing.T) {
	s := open(t, bundle(t), "")
	w := s.get("/ui/executions")
	nonce := regexp.MustCompile(`content="([A-Z2-7]{26})"`).FindStringSubmatch(w.Body.String())
	if nonce == nil {
		t.Fatalf("there is no nonce in %s", w.Body)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce[1] +
			"'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'self'; " +
			"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-cache",
		"Access-Control-Allow-Origin": "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: got  %s\nwant %s", name, got, want)
		}
	}
	if again := s.get("/ui/executions"); again.Body.String() == w.Body.String() {
		t.Error("two answers have one nonce")
	}
}

func TestTheDocumentKnowsThePathThatItIsReachedBy(t *testing.T) {
	for public, want := range map[string]string{
		"": "/", "https://renga.example.com": "/", "https://renga.example.com/": "/",
		"https://example.com/flows/renga": "/flows/renga/", "https://example.com/flows/renga/": "/flows/renga/",
		`https://example.com/a"b&c`: "/a%22b&c/",
	} {
		w := open(t, bundle(t), public).get("/ui/queues")
		if !strings.Contains(w.Body.String(), `<base href="`+html.EscapeString(want)+`">`) {
			t.Errorf("%q: got %s, want the base %s", public, w.Body, want)
		}
	}
}

func TestFilesGoOutAsTheyAreKept(t *testing.T) {
	s := open(t, bundle(t), "")
	const year = "public, max-age=31536000, immutable"
	small := s.get("/ui/assets/a-1.js", "Accept-Encoding: br, gzip")
	if r, err := gzip.NewReader(small.Body); err != nil {
		t.Error(err)
	} else if text, err := io.ReadAll(r); err != nil || string(text) != script {
		t.Errorf("got %q, %v", text, err)
	}
	for name, want := range map[string]string{
		"Content-Encoding": "gzip", "Vary": "Accept-Encoding", "Cache-Control": year,
		"Content-Type": "text/javascript; charset=utf-8", "X-Content-Type-Options": "nosniff",
	} {
		if got := small.Header().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for _, header := range []string{"Accept-Encoding: identity", "Accept-Encoding: gzip;q=0", "X-None: 1"} {
		plain := s.get("/ui/assets/a-1.js", header)
		if plain.Body.String() != script || plain.Header().Get("Content-Encoding") != "" ||
			plain.Header().Get("Cache-Control") != year {
			t.Errorf("%s: got %q %v", header, plain.Body, plain.Header())
		}
	}
	icon := s.get("/ui/icon.svg", "Accept-Encoding: gzip")
	if icon.Body.String() != "<svg/>" || icon.Header().Get("Content-Type") != "image/svg+xml" ||
		icon.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("the icon: got %q %v", icon.Body, icon.Header())
	}
	gone := s.get("/ui/assets/a-0.js")
	if gone.Code != 404 || gone.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("an asset of another build: got %d %v", gone.Code, gone.Header())
	}
}

// TestForeignPagesMayOnlyLinkToTheConsole sends what the browser sends when a page of another site links to the
// console, shows it in a frame or reads its files.
func TestForeignPagesMayOnlyLinkToTheConsole(t *testing.T) {
	s := open(t, bundle(t), "")
	for _, tc := range []struct {
		what, site, mode, dest string
		page, file             int
	}{
		{"typed", "none", "navigate", "document", 200, 200},
		{"a link of our own", "same-origin", "navigate", "document", 200, 200},
		{"what our page loads", "same-origin", "cors", "script", 200, 200},
		{"a link of another site", "cross-site", "navigate", "document", 200, 200},
		{"a link of a sister", "same-site", "navigate", "document", 200, 200},
		{"a frame of another site", "cross-site", "navigate", "iframe", 403, 403},
		{"an object of another site", "cross-site", "navigate", "object", 403, 403},
		{"a script of another site", "cross-site", "no-cors", "script", 403, 403},
		{"a fetch of another site", "cross-site", "cors", "empty", 403, 403},
		{"a fetch of a sister", "same-site", "cors", "empty", 403, 403},
	} {
		headers := []string{"Sec-Fetch-Site: " + tc.site, "Sec-Fetch-Mode: " + tc.mode, "Sec-Fetch-Dest: " + tc.dest}
		for path, want := range map[string]int{
			"/": tc.page, "/ui/executions": tc.page, "/ui/assets/a-1.js": tc.file,
		} {
			w := s.get(path, headers...)
			if w.Code != want || want == 403 && !strings.Contains(w.Body.String(), `"code":"CROSS_ORIGIN"`) {
				t.Errorf("%s, %s: got %d %s, want %d", tc.what, path, w.Code, w.Body, want)
			}
		}
	}
	for _, path := range []string{"/", "/ui/executions", "/ui/assets/a-1.js"} {
		w := s.get(path, "Host: rebound.example", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: none")
		if w.Code != 403 || !strings.Contains(w.Body.String(), `"code":"HOST_NOT_ALLOWED"`) {
			t.Errorf("%s of another host: got %d %s", path, w.Code, w.Body)
		}
		if w := s.get(path, "Origin: https://evil.example"); w.Code != 403 {
			t.Errorf("%s for an old browser at another origin: got %d", path, w.Code)
		}
	}
}

// TestWithoutAnArchiveThereIsAPlainPage reads an archive that is none.
func TestWithoutAnArchiveThereIsAPlainPage(t *testing.T) {
	if _, err := web.Read([]byte("<<<<<<< HEAD")); err == nil {
		t.Error("an archive with a conflict in it can be read")
	}
	s := open(t, web.Plain("1.2<3"), "https://example.com/renga")
	for _, path := range []string{"/", "/ui/executions"} {
		w := s.get(path)
		page := w.Body.String()
		for _, want := range []string{
			"Renga 1.2&lt;3", "make web", `<base href="/renga/"`, `href="openapi.yaml"`, "docs/",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%s has no %q: %s", path, want, page)
			}
		}
		if w.Code != 200 || strings.Contains(page, "<script") || strings.Contains(page, "__RENGA") {
			t.Errorf("%s: got %d %s", path, w.Code, page)
		}
		nonce := regexp.MustCompile(`<style nonce="([A-Z2-7]{26})">`).FindStringSubmatch(page)
		if nonce == nil || !strings.Contains(w.Header().Get("Content-Security-Policy"), "'nonce-"+nonce[1]+"'") {
			t.Errorf("%s: its style is not let through by %s", path, w.Header().Get("Content-Security-Policy"))
		}
	}
	if w := s.get("/ui/assets/a-1.js"); w.Code != 404 {
		t.Errorf("a file without an archive: got %d", w.Code)
	}
}
