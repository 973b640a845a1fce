package gate

import (
	"strings"
	"testing"
)

// TestOtherWebOriginsAreRefused sends what a page of another site can make a browser send, to
// every surface and in both modes: also where nobody asks for a token.
func TestOtherWebOriginsAreRefused(t *testing.T) {
	open := eventToken(t, "", "")
	const navigates = "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: "
	routes := []Route{
		{Pattern: "POST /things", Public: true, Do: ok},
		{Pattern: "GET /things", Pass: open, Do: ok},
		{Pattern: "GET /file", Public: true, Do: ok},
		{Pattern: "GET /page", Public: true, Own: true, Do: ok},
		{Pattern: "POST /records/x", Surface: CRM, Public: true, Do: ok},
		{Pattern: "POST /pdca/x", Surface: Recheck, Public: true, Do: ok},
		{Pattern: "POST /api/workflow-events", Surface: Workflow, Pass: open, Do: ok},
	}
	for mode, d := range map[string]*door{
		"none": openDoor(t, Config{}, routes...), "jwt": openDoor(t, Config{Auth: jwtAuth(t)}, routes...),
	} {
		for name, tc := range map[string]struct {
			headers string
			refused bool
			link    bool // it can be a link that somebody follows
		}{
			"no browser":             {"X-Nothing: 1", false, false},
			"the console":            {"Sec-Fetch-Site: same-origin", false, false},
			"typed":                  {"Sec-Fetch-Site: none\nSec-Fetch-Mode: navigate", false, false},
			"the console's host":     {"Origin: http://localhost:8080", false, false},
			"the console, by a page": {"Sec-Fetch-Site: same-origin\nOrigin: http://localhost:8080", false, false},
			"another site":           {"Sec-Fetch-Site: cross-site", true, false},
			"a page of another site": {
				"Sec-Fetch-Site: cross-site\nOrigin: https://evil.example\nSec-Fetch-Mode: cors",
				true, false,
			},
			"a form of another site": {
				"Sec-Fetch-Site: cross-site\nOrigin: https://evil.example\nSec-Fetch-Mode: navigate", true, true,
			},
			"a link elsewhere":    {navigates + "document", true, true},
			"a frame elsewhere":   {navigates + "iframe", true, false},
			"an object elsewhere": {navigates + "object", true, false},
			"a sister":            {"Sec-Fetch-Site: same-site\nOrigin: http://other.localhost:8080", true, false},
			"another port":        {"Origin: http://localhost:3000", true, false},
			"an old browser":      {"Origin: http://evil.example", true, false},
			"a sandbox":           {"Origin: null", true, false},
		} {
			headers := strings.Split(tc.headers, "\n")
			for path, body := range map[string]string{
				"/things": `"code":"CROSS_ORIGIN"`, "/records/x": `"code":"CROSS_ORIGIN"`,
				"/pdca/x":              `{"error":"FORBIDDEN","message":"`,
				"/api/workflow-events": `{"detail":"`, "/nothing": `"code":"CROSS_ORIGIN"`,
			} {
				for _, sent := range []string{"", "{}"} {
					w := d.ask("POST", path, sent, headers...)
					if refused := w.Code == 403 && strings.Contains(w.Body.String(), body); refused != tc.refused {
						t.Errorf("mode %s, %s, POST %s with %q: got %d %s", mode, name, path, sent, w.Code, w.Body)
					}
				}
			}
			// What only reads is refused to pages; people follow links, and files are for everybody.
			for _, path := range []string{"/things", "/page"} {
				if w := d.ask("GET", path, "", headers...); (w.Code == 403) != (tc.refused && !tc.link) {
					t.Errorf("mode %s, %s, GET %s: got %d %s", mode, name, path, w.Code, w.Body)
				}
			}
			if w := d.ask("GET", "/file", "", headers...); w.Code != 200 {
				t.Errorf("mode %s, %s, GET of a public file: got %d %s", mode, name, w.Code, w.Body)
			}
		}
	}
}

// TestThePublicURLIsAnOriginOfOurs lets a console in that is reached through a proxy which
// changes the host.
func TestThePublicURLIsAnOriginOfOurs(t *testing.T) {
	auth, err := OpenAuth(AuthConfig{PublicURL: "https://renga.example.com/behind/"})
	if err != nil {
		t.Fatal(err)
	}
	d := openDoor(t, Config{Auth: auth}, Route{Pattern: "POST /things", Do: ok}, Route{Pattern: "GET /things", Do: ok})
	for origin, want := range map[string]int{
		"https://renga.example.com": 200, "http://renga.example.com": 403,
		"https://renga.example.com:8443": 403,
	} {
		for _, method := range []string{"GET", "POST"} {
			if w := d.ask(method, "/things", "", "Origin: "+origin); w.Code != want {
				t.Errorf("%s of %s: got %d, want %d: %s", method, origin, w.Code, want, w.Body)
			}
		}
	}
	if _, err := OpenAuth(AuthConfig{PublicURL: "renga.example.com"}); err == nil {
		t.Error("a public URL without a scheme is accepted")
	}
}
