package airflowtest

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// serve answers a request, or goes wrong.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	s.mu.Lock()
	trouble := s.trouble
	if trouble.Only != "" && trouble.Only != r.Method {
		trouble = Trouble{}
	}
	what, handle := s.route(r)
	s.calls[what]++
	s.mu.Unlock()
	if trouble.Delay > 0 && !trouble.After {
		s.dawdle(r, trouble.Delay)
	}
	if trouble.Status != 0 && !trouble.After {
		write(w, trouble)
		return
	}
	s.mu.Lock()
	got := s.answer(r, body, what, handle)
	s.mu.Unlock()
	if trouble.Delay > 0 && trouble.After {
		s.dawdle(r, trouble.Delay)
	}
	if trouble.Status != 0 {
		write(w, trouble)
		return
	}
	w.Header().Set("Content-Type", map[bool]string{
		true:  "application/json",
		false: "application/problem+json",
	}[got.status < 400 || s.cfg.API == "v2"])
	w.WriteHeader(got.status)
	switch b := got.body.(type) {
	case raw:
		_, _ = w.Write(b)
	default:
		_ = json.MarshalWrite(w, b, jsontext.AllowInvalidUTF8(true))
	}
}

// dawdle takes its time, unless nobody waits.
func (s *Server) dawdle(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	case <-s.released:
	}
}

func write(w http.ResponseWriter, trouble Trouble) {
	media := trouble.Media
	if media == "" {
		media = "text/html; charset=utf-8"
	}
	w.Header().Set("Content-Type", media)
	if trouble.Status >= 300 && trouble.Status < 400 {
		w.Header().Set("Location", trouble.Body)
	}
	w.WriteHeader(trouble.Status)
	_, _ = io.WriteString(w, trouble.Body)
}

// handler answers a request with its path's parts, under s.mu.
type handler func(r *http.Request, body []byte, at []string) answer

var paths = []struct {
	what, method string
	pattern      *regexp.Regexp
	pick         func(s *Server) handler
}{
	{"version", "GET", regexp.MustCompile(`^/version$`), func(s *Server) handler { return s.version }},
	{"dag", "GET", regexp.MustCompile(`^/dags/([^/]+)$`), func(s *Server) handler { return s.dag }},
	{"trigger", "POST", regexp.MustCompile(`^/dags/([^/]+)/dagRuns$`), func(s *Server) handler { return s.trigger }},
	{"runs", "GET", regexp.MustCompile(`^/dags/([^/]+)/dagRuns$`), func(s *Server) handler { return s.list }},
	{"run", "GET", regexp.MustCompile(`^/dags/([^/]+)/dagRuns/([^/]+)$`), func(s *Server) handler { return s.run }},
	{"cancel", "PATCH", regexp.MustCompile(`^/dags/([^/]+)/dagRuns/([^/]+)$`), func(s *Server) handler {
		return s.patch
	}},
	{"result", "GET", regexp.MustCompile(
		`^/dags/([^/]+)/dagRuns/([^/]+)/taskInstances/([^/]+)/xcomEntries/return_value$`), func(s *Server) handler {
		return s.xcom
	}},
}

// route finds out what a request asks for.
func (s *Server) route(r *http.Request) (what string, h handler) {
	if s.cfg.API == "v2" && r.URL.Path == "/auth/token" && r.Method == http.MethodPost {
		return "token", s.token
	}
	rest, versioned := strings.CutPrefix(r.URL.Path, "/api/"+s.cfg.API)
	if !versioned {
		return "nothing", nil
	}
	for _, p := range paths {
		if p.method == r.Method && p.pattern.MatchString(rest) {
			return p.what, p.pick(s)
		}
	}
	return "nothing", nil
}

// answer checks what all requests have in common, then asks the handler.
func (s *Server) answer(r *http.Request, body []byte, what string, h handler) answer {
	if h == nil {
		if !strings.HasSuffix(r.URL.Path, "/version") { // which is how the version is found out
			return s.wrong(r, "there is no such path in %s", s.cfg.API)
		}
		return problem(http.StatusNotFound, "Not Found")
	}
	switch media := r.Header.Get("Content-Type"); {
	case r.Header.Get("Accept") != "application/json":
		return s.wrong(r, "Accept is %q", r.Header.Get("Accept"))
	case len(body) > 0 && media != "application/json":
		return s.wrong(r, "Content-Type is %q", media)
	case (r.Method == http.MethodGet) != (len(body) == 0):
		return s.wrong(r, "a body of %d bytes", len(body))
	}
	if what == "version" || what == "token" {
		if r.Header.Get("Authorization") != "" {
			return s.wrong(r, "credentials where none are needed")
		}
		return h(r, body, nil)
	}
	if !s.authorized(r) {
		return problem(http.StatusUnauthorized, "Unauthorized")
	}
	var at []string
	for _, p := range paths {
		if p.what == what {
			at = p.pattern.FindStringSubmatch(strings.TrimPrefix(r.URL.Path, "/api/"+s.cfg.API))[1:]
		}
	}
	return h(r, body, at)
}

func (s *Server) authorized(r *http.Request) bool {
	bearer, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case is && s.cfg.Token != "" && bearer == s.cfg.Token:
		return true
	case is:
		until, known := s.tokens[bearer]
		return known && time.Now().Before(until)
	case s.cfg.API == "v2":
		return false // it takes tokens only
	}
	user, password, is := r.BasicAuth()
	return is && user == s.cfg.User && password == s.cfg.Password
}

// strict reads a body that may have these members and must have the first ones.
func strict(body []byte, required int, names ...string) (map[string]jsontext.Value, string) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err.Error()
	}
	for _, name := range names[:required] {
		if _, there := members[name]; !there {
			return nil, name + " is required"
		}
	}
	for name := range members {
		if !slices.Contains(names, name) {
			return nil, name + " is not permitted"
		}
	}
	return members, ""
}

func (s *Server) token(r *http.Request, body []byte, _ []string) answer {
	members, why := strict(body, 2, "username", "password")
	if why != "" {
		return s.wrong(r, "%s", why)
	}
	var user, password string
	if json.Unmarshal(members["username"], &user) != nil || json.Unmarshal(members["password"], &password) != nil {
		return s.wrong(r, "username and password are texts")
	}
	if user != s.cfg.User || password != s.cfg.Password {
		return problem(http.StatusUnauthorized, "Invalid credentials")
	}
	s.minted++
	until := time.Now().Add(s.cfg.TokenFor)
	part := base64.RawURLEncoding.EncodeToString
	claims := fmt.Appendf(nil, `{"sub":"renga","exp":%d,"jti":"%d"}`, until.Unix(), s.minted)
	token := part([]byte(`{"alg":"HS512","typ":"JWT"}`)) + "." + part(claims) + ".c2VjcmV0LXRva2Vu"
	s.tokens[token] = until
	return answer{http.StatusCreated, map[string]string{"access_token": token}}
}
