package httpapi_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestNoPathIsAFailure asks every route for things whose names no database takes.
func TestNoPathIsAFailure(t *testing.T) {
	s := newServer(t)
	parameter := regexp.MustCompile(`\{[^}]+\}`)
	asked := 0
	for _, route := range tokenRoutes() {
		method, pattern, _ := strings.Cut(route.Pattern, " ")
		if !strings.Contains(pattern, "{") || route.Stream {
			continue
		}
		asked++
		for _, name := range []string{"a%00", "%FF", "%ED%A0%80"} {
			path := parameter.ReplaceAllString(pattern, name)
			body := ""
			if method == "POST" || method == "PUT" || method == "PATCH" {
				body = "{}"
			}
			if r := s.do(method, path, body, "X-Idempotency-Key", "paths"); r.status >= 500 {
				t.Errorf("%s %s: got %d %s", method, path, r.status, r.body)
			}
		}
	}
	if asked < 50 {
		t.Errorf("asked %d routes: the test looks at too few", asked)
	}
}
