package airflowtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Config is what an Airflow is like. Zero values: v2, with the user "renga" whose
// password is "airflow-pass".
type Config struct {
	API      string // "v1" or "v2"
	User     string
	Password string
	Token    string        // a token that is valid for ever; "": none
	DAG      string        // default "recheck"
	Old      bool          // with v1: older than 2.10
	TokenFor time.Duration // how long tokens are valid; default an hour
	// End says how a run ends that has been polled n times; "" not yet. Default: never.
	End func(r Run, polls int) (state string, value any)
}

// Run is a DAG run.
type Run struct {
	ID    string
	State string
	Conf  map[string]any
	Value any // what the result task returned; nil: nothing
	Polls int
}

// Trouble is how a server fails requests.
type Trouble struct {
	Status int           // answered in place of what is right; 0: none
	Body   string        // with Status, or in place of a right body
	Media  string        // of Body; default text/html
	Delay  time.Duration // before every answer
	After  bool          // the request takes effect before it goes wrong
	Only   string        // method that is troubled; "": all
}

// Server is an Airflow that listens on loopback.
type Server struct {
	t    testing.TB
	cfg  Config
	addr string

	mu       sync.Mutex
	http     *http.Server
	gone     chan struct{} // the server that is closed last has ended
	runs     map[string]*Run
	order    []string
	tokens   map[string]time.Time
	minted   int
	trouble  Trouble
	paused   bool
	noDAG    bool
	calls    map[string]int // by what they ask for
	released chan struct{}
}

// New starts an Airflow that ends with the test. A request that Airflow's contract does
// not allow fails the test.
func New(t testing.TB, cfg Config) *Server {
	t.Helper()
	def := func(s *string, d string) {
		if *s == "" {
			*s = d
		}
	}
	def(&cfg.API, "v2")
	def(&cfg.User, "renga")
	def(&cfg.Password, "airflow-pass")
	def(&cfg.DAG, "recheck")
	if cfg.TokenFor == 0 {
		cfg.TokenFor = time.Hour
	}
	s := &Server{
		t: t, cfg: cfg, addr: "127.0.0.1:0", runs: map[string]*Run{}, tokens: map[string]time.Time{},
		calls:    map[string]int{},
		released: make(chan struct{}),
	}
	s.Start()
	t.Cleanup(func() { close(s.released); s.Stop() })
	return s
}

// URL is where it listens, also while it is stopped.
func (s *Server) URL() string { return "http://" + s.addr }

// Start lets it listen again, with the runs that it had.
func (s *Server) Start() {
	s.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addr = l.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	gone := make(chan struct{})
	s.http, s.gone = server, gone
	go func() { defer close(gone); _ = server.Serve(l) }()
}

// Stop closes the port and all connections, as a kill would.
func (s *Server) Stop() {
	s.mu.Lock()
	server, gone := s.http, s.gone
	s.http = nil
	s.mu.Unlock()
	if server != nil {
		_ = server.Close()
		<-gone
	}
}

// Ail lets requests go wrong from now on; the zero Trouble ends that.
func (s *Server) Ail(trouble Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = trouble
}

// Expire makes all tokens so far invalid.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Password changes the user's password.
func (s *Server) Password(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Password = text
}

// Forget removes the DAG, or puts it back.
func (s *Server) Forget(gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noDAG = gone
}

// End ends a run in a state, with what its result task returned.
func (s *Server) End(id, state string, value any) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[id] == nil {
		s.t.Fatalf("there is no run %s", id)
	}
	s.runs[id].State, s.runs[id].Value = state, value
}

// Delete deletes a run.
func (s *Server) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, id)
	s.order = slices.DeleteFunc(s.order, func(other string) bool { return other == id })
}

// Put adds a run that is there already.
func (s *Server) Put(r Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[r.ID] = &r
	s.order = append(s.order, r.ID)
}

// Runs are the runs, in the order in which they were triggered.
func (s *Server) Runs() []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	var runs []Run
	for _, id := range s.order {
		if r := s.runs[id]; r != nil {
			runs = append(runs, *r)
		}
	}
	return runs
}

// Run is one of them.
func (s *Server) Run(id string) (Run, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[id]; r != nil {
		return *r, true
	}
	return Run{}, false
}

// Calls is how often something was asked for: trigger, run, runs, cancel, result, dag,
// token or version. Requests that were answered wrongly on purpose count too.
func (s *Server) Calls(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[what]
}

// wrong fails the test: the request is none that Airflow's contract allows.
func (s *Server) wrong(r *http.Request, format string, args ...any) answer {
	text := fmt.Sprintf(format, args...)
	s.t.Errorf("%s %s: %s", r.Method, r.URL.Path, text)
	return problem(http.StatusUnprocessableEntity, text)
}

// answer is a status and a body.
type answer struct {
	status int
	body   any
}

func problem(status int, detail string) answer {
	return answer{status, map[string]any{
		"detail": detail, "status": status, "title": http.StatusText(status),
		"type": "about:blank",
	}}
}

// raw is a body that is written as it is.
type raw jsontext.Value
