package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// home says where the servers are. One that was killed has no address, and when
// there is none at all clients wait for the next.
type home struct {
	mu   sync.Mutex
	urls []string      // "": gone
	up   chan struct{} // closed when a server comes
}

func newHome(servers int) *home { return &home{urls: make([]string, servers), up: make(chan struct{})} }

func (h *home) open(server int, url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.urls[server] = url
	close(h.up)
	h.up = make(chan struct{})
}

func (h *home) close(server int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.urls[server] = ""
}

// find gives the address of a server, or of the next one that is there.
func (h *home) find(ctx context.Context, server int) (string, error) {
	for {
		h.mu.Lock()
		up := h.up
		for i := range h.urls {
			if url := h.urls[(server+i)%len(h.urls)]; url != "" {
				h.mu.Unlock()
				return url, nil
			}
		}
		h.mu.Unlock()
		select {
		case <-up:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// request is one command. It keeps its key until it is answered, and then its answer.
type request struct {
	command   string // its name, or claim
	execution string
	node      string
	members   string // of its body, without the brackets
	key       string
	corr      string
	tries     int // so often it was sent
	sent      time.Time
	by        string // the server of the last try
	status    int    // of the first answer
	answer    string
}

const claim = "claim"

// actions are the last segments of the commands' paths.
var actions = map[string]string{
	"StartExecution": "start", "CancelExecution": "cancel", "ArchiveExecution": "archive", "StartNode": "start",
	"ReportNodeProgress": "progress", "PutNodeWaiting": "wait", "ResumeNode": "resume", "SucceedNode": "success",
	"FailNode": "fail", "CancelNode": "cancel",
}

func (r *request) path() string {
	switch {
	case r.command == claim:
		return "/tasks/claim"
	case r.command == "CreateExecution":
		return "/executions"
	case r.node != "":
		return "/executions/" + r.execution + "/nodes/" + r.node + "/" + actions[r.command]
	}
	return "/executions/" + r.execution + "/" + actions[r.command]
}

// inBatch is the command as a member of POST /commands.
func (r *request) inBatch() string {
	out := `{"command":"` + r.command + `","idempotencyKey":"` + r.key + `"`
	if r.execution != "" {
		out += `,"executionId":"` + r.execution + `"`
	}
	if r.node != "" {
		out += `,"nodeId":"` + r.node + `"`
	}
	if r.members != "" {
		out += "," + r.members
	}
	return out + "}"
}

func (r *request) accepted() bool {
	return r.status == http.StatusAccepted || r.status == http.StatusOK
}

// reply is what the tests look at in an answer.
type reply struct {
	ExecutionID string `json:"executionId"`
	CancelSeq   uint64 `json:"cancelSeq"`
	Task        *task  `json:"task"`
	Tasks       []task `json:"tasks"`
	Error       struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Details struct {
			Guard string `json:"guard"`
			Cause struct {
				EventID string `json:"eventId"`
				Type    string `json:"type"`
				Seq     uint64 `json:"seq"`
			} `json:"cause"`
			Fence uint64 `json:"cancelSeq"`
			Late  bool   `json:"lateResultKept"`
		} `json:"details"`
	} `json:"error"`
}

type task struct {
	ExecutionID string `json:"executionId"`
	NodeID      string `json:"nodeId"`
	Attempt     int    `json:"attempt"`
}

func (r *request) reply() reply {
	var out reply
	if err := json.Unmarshal([]byte(r.answer), &out); err != nil {
		out.Error.Message = err.Error()
	}
	return out
}

// client sends requests and keeps the ledger of those that were answered. What one
// server does not answer it sends to the next.
type client struct {
	t      testing.TB
	name   string
	home   *home
	at     int        // the server that it talks to
	roams  *rand.Rand // it talks to any of them; nil: it stays
	http   *http.Client
	keys   int
	ledger []*request
	stress *stress
}

// stress counts what the clients of a test went through together.
type stress struct {
	answered   atomic.Int64 // requests
	unanswered atomic.Int64 // tries that reached a server and got no answer
	remembered atomic.Int64 // repeated requests that were answered from memory
	again      atomic.Int64 // answered requests that were sent again on purpose
	reads      atomic.Int64
	refused    atomic.Int64 // answers that it cannot be served now
	broken     atomic.Int64 // tries that ended without any answer
	target     atomic.Int64
	reached    chan struct{} // gets a token when answered reaches target
}

// answer counts requests that were answered.
func (s *stress) answer(n int) {
	now := s.answered.Add(int64(n))
	if target := s.target.Load(); now >= target && now-int64(n) < target {
		s.reached <- struct{}{}
	}
}

func newStress() *stress { return &stress{reached: make(chan struct{}, 1)} }

// newClient is a client of one server.
func newClient(t testing.TB, c *child, name string) *client {
	h := newHome(1)
	h.open(0, c.url)
	return newClientAt(t, h, name, newStress())
}

// newClientAt is a client of whichever server is at a home. It has connections of
// its own, as a process of its own would.
func newClientAt(t testing.TB, h *home, name string, s *stress) *client {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t: t, name: name, home: h, stress: s, http: &http.Client{Transport: transport, Timeout: time.Minute}}
}

// request makes a request with a key of its own.
func (c *client) request(command, execution, node, members string) *request {
	c.keys++
	key := c.name + "-" + strconv.Itoa(c.keys)
	return &request{command: command, execution: execution, node: node, members: members, key: key, corr: key}
}

// errUnanswered is a try of which the client cannot know what it led to, errNobody
// one that reached no server.
var (
	errUnanswered = errors.New("no answer")
	errNobody     = fmt.Errorf("%w: nobody listens", errUnanswered)
)

// answer is what a server said.
type answer struct {
	by     string // the address of the server
	status int
	body   string
	header http.Header
}

// later reports whether it says, in the right form, that the request cannot be served now.
func (a answer) later() bool {
	after, err := strconv.Atoi(a.header.Get("Retry-After"))
	return a.status == http.StatusServiceUnavailable && err == nil && after > 0
}

// call sends one request and gives its answer. The transport must not repeat it on
// its own: repeating is what the tests are about.
func (c *client) call(ctx context.Context, method, path, key, corr, body string) (answer, error) {
	url, err := c.home.find(ctx, c.at)
	if err != nil {
		return answer{}, err
	}
	got := answer{by: url}
	req, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
	if err != nil {
		return got, err
	}
	req.GetBody = nil
	if method != http.MethodGet {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("X-Idempotency-Key", key)
	}
	if corr != "" {
		req.Header.Set("X-Correlation-Id", corr)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return got, c.unanswered(ctx, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return got, c.unanswered(ctx, err)
	}
	got.status, got.body, got.header = resp.StatusCode, string(raw), resp.Header
	if got.status >= http.StatusInternalServerError && !got.later() {
		c.t.Errorf("%s %s: %d %s, Retry-After %q", method, path, got.status, got.body, got.header.Get("Retry-After"))
	}
	if got.later() {
		c.stress.refused.Add(1)
	}
	return got, nil
}

func (c *client) unanswered(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, syscall.ECONNREFUSED):
		return errNobody
	}
	c.stress.broken.Add(1)
	return fmt.Errorf("%w: %w", errUnanswered, err)
}

// get reads a path into v and gives the status, 0 when there is no answer.
func (c *client) get(path string, v any) int {
	c.move()
	got, err := c.call(context.Background(), http.MethodGet, path, "", "", "")
	if err != nil {
		return 0
	}
	c.stress.reads.Add(1)
	if v != nil && got.status == http.StatusOK {
		if err := json.Unmarshal([]byte(got.body), v); err != nil {
			c.t.Errorf("GET %s: %v in %s", path, err, got.body)
		}
	}
	return got.status
}

// put registers a graph.
func (c *client) put(id, graph string) {
	c.t.Helper()
	got, err := c.call(context.Background(), http.MethodPut, "/graphs/"+id, "", "", graph)
	if err != nil || got.status != http.StatusCreated {
		c.t.Fatalf("PUT /graphs/%s: %d %s %v", id, got.status, got.body, err)
	}
}

// try sends a request once. What cannot be served now is no answer.
func (c *client) try(ctx context.Context, r *request) (answer, error) {
	r.tries++
	r.sent = time.Now()
	got, err := c.call(ctx, http.MethodPost, r.path(), r.key, r.corr, "{"+r.members+"}")
	r.by = got.by
	switch {
	case errors.Is(err, errNobody):
		c.turn()
	case errors.Is(err, errUnanswered), got.status == http.StatusServiceUnavailable:
		c.stress.unanswered.Add(1)
		c.turn()
	case err == nil:
		c.settle(r, got.status, got.body)
		c.stress.answer(1)
	}
	return got, err
}

// turn goes to the next server, a moment after this one did not answer.
func (c *client) turn() {
	c.at++
	pause(2 * time.Millisecond)
}

// move goes to any server, if the client is one that does.
func (c *client) move() {
	if c.roams != nil {
		c.at = c.roams.IntN(len(c.home.urls))
	}
}

// do sends a request until it is answered. Its error is that ctx has ended, or that
// there is no end to it.
func (c *client) do(ctx context.Context, r *request) error {
	c.move()
	for began := time.Now(); r.status == 0; {
		if time.Since(began) > maxWait {
			return fmt.Errorf("%s (key %s) was not answered in %v and %d tries", r.path(), r.key, maxWait, r.tries)
		}
		if _, err := c.try(ctx, r); err != nil && !errors.Is(err, errUnanswered) {
			return err
		}
	}
	return nil
}

// batch sends requests as one POST /commands until it is answered.
func (c *client) batch(ctx context.Context, rs ...*request) error {
	parts := make([]string, len(rs))
	for i, r := range rs {
		r.corr = rs[0].key
		parts[i] = r.inBatch()
	}
	body := `{"commands":[` + strings.Join(parts, ",") + `]}`
	c.move()
	for began := time.Now(); ; {
		if time.Since(began) > maxWait {
			return fmt.Errorf("POST /commands (first key %s) was not answered in %v and %d tries", rs[0].key, maxWait,
				rs[0].tries)
		}
		for _, r := range rs {
			r.tries++
			r.sent = time.Now()
		}
		got, err := c.call(ctx, http.MethodPost, "/commands", "", rs[0].corr, body)
		for _, r := range rs {
			r.by = got.by
		}
		switch {
		case errors.Is(err, errNobody):
			c.turn()
		case errors.Is(err, errUnanswered), got.status == http.StatusServiceUnavailable, notServed(got.body):
			c.stress.unanswered.Add(1)
			c.turn()
		case err != nil:
			return err
		default:
			c.settleAll(rs, got)
			c.stress.answer(len(rs))
			return nil
		}
	}
}

// notServed reports whether a command of a POST /commands could not be served now.
func notServed(raw string) bool {
	return slices.ContainsFunc(resultsOf(raw), func(r result) bool { return r.status == http.StatusServiceUnavailable })
}

func (c *client) settleAll(rs []*request, got answer) {
	results := resultsOf(got.body)
	if got.status != http.StatusOK || len(results) != len(rs) {
		c.t.Errorf("POST /commands with %d commands: %d %s", len(rs), got.status, got.body)
		return
	}
	for i, r := range rs {
		c.settle(r, results[i].status, results[i].body)
	}
}

// settle takes an answer into the ledger and says what no answer may be.
func (c *client) settle(r *request, status int, raw string) {
	r.status, r.answer = status, raw
	c.ledger = append(c.ledger, r)
	switch {
	case status == http.StatusAccepted && r.command != claim:
	case status == http.StatusConflict && r.reply().Error.Code == "COMMAND_REJECTED":
	case status == http.StatusOK && r.command == claim:
	case status == http.StatusOK && r.tries > 1:
		c.stress.remembered.Add(1)
	default:
		c.t.Errorf("%s %s %s (try %d): answered %d %s", r.command, r.path(), r.members, r.tries, status, raw)
	}
}

// result is one result of POST /commands: its status, and the body that the
// command's own endpoint gives.
type result struct {
	status int
	body   string
}

func resultsOf(raw string) []result {
	var got struct {
		Results []jsontext.Value `json:"results"`
	}
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		return nil
	}
	out := make([]result, len(got.Results))
	for i, r := range got.Results {
		head, body, _ := bytes.Cut(r, []byte(","))
		out[i].status, _ = strconv.Atoi(strings.TrimPrefix(string(head), `{"status":`))
		out[i].body = "{" + string(body)
	}
	return out
}

// repeat sends answered requests again, with their keys, and expects what was
// answered before: the same body, and 200 for what was accepted.
func (c *client) repeat(ctx context.Context, rs ...*request) error {
	if len(rs) == 1 {
		r := rs[0]
		got, err := c.call(ctx, http.MethodPost, r.path(), r.key, "again", "{"+r.members+"}")
		if err != nil || got.status == http.StatusServiceUnavailable {
			return err
		}
		c.compare(r, got.status, got.body)
		return nil
	}
	parts := make([]string, len(rs))
	for i, r := range rs {
		parts[i] = r.inBatch()
	}
	body := `{"commands":[` + strings.Join(parts, ",") + `]}`
	got, err := c.call(ctx, http.MethodPost, "/commands", "", "again", body)
	for began := time.Now(); err == nil && got.later() && time.Since(began) < maxWait; {
		got, err = c.call(ctx, http.MethodPost, "/commands", "", "again", body)
	}
	if err != nil {
		return err
	}
	results := resultsOf(got.body)
	if got.status != http.StatusOK || len(results) != len(rs) {
		return fmt.Errorf("POST /commands with %d commands: %d %.300s", len(rs), got.status, got.body)
	}
	for i, r := range rs {
		c.compare(r, results[i].status, results[i].body)
	}
	return nil
}

func (c *client) compare(r *request, status int, raw string) {
	c.stress.again.Add(1)
	want := http.StatusOK
	if !r.accepted() {
		want = r.status
	}
	if status != want || raw != r.answer {
		c.t.Errorf("%s (key %s) was answered %d %s\nand, sent again, %d %s", r.path(), r.key, r.status, r.answer,
			status, raw)
	}
}
