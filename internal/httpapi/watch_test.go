package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/test/stalltest"
)

// EXE-9: a worker learns which of its tasks to stop.

// held is the body of a watch over one attempt of node a.
func (e execution) held(attempt, wait int) string {
	return fmt.Sprintf(
		`{"tasks":[{"executionId":%q,"nodeId":"a","attempt":%d}],"waitSeconds":%d}`,
		e.id,
		attempt,
		wait,
	)
}

// watching sends a watch that waits, and returns when the server has it.
func (e execution) watching(attempt int) <-chan reply {
	e.t.Helper()
	answer := make(chan reply, 1)
	go func() { answer <- e.post("/tasks/watch", e.held(attempt, 30)) }()
	return answer
}

func (e execution) answered(answer <-chan reply) reply {
	e.t.Helper()
	select {
	case r := <-answer:
		return r.is(200)
	case <-time.After(patience):
		e.t.Fatal("the watch was not answered")
		return reply{}
	}
}

func TestAWatchSaysAtOnceWhichTasksAreNotHeld(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a", "b"))
	s.post("/tasks/watch", e.held(1, 30)).is(200).has("interrupted.0.status", "READY") // not claimed yet
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200)
	s.post("/tasks/watch", e.held(1, 0)).is(200).has("interrupted", "[]")
	s.post("/tasks/watch", e.held(2, 30)).is(200).has("interrupted.0.status", "RUNNING").has("interrupted.0.attempt",
		"2")
	e.send("a/wait", "").is(202)
	s.post("/tasks/watch", e.held(1, 0)).is(200).has("interrupted", "[]")
	e.send("a/resume", "").is(202)
	e.send("a/success", "").is(202)
	s.post("/tasks/watch", e.held(1, 30)).is(200).
		has("interrupted", fmt.Sprintf(`[{"attempt":1,"executionId":%q,"nodeId":"a","status":"SUCCEEDED"}]`, e.id))
}

func TestAWatchOfWhatDoesNotExistSaysSo(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200)
	s.post("/tasks/watch", strings.ReplaceAll(e.held(1, 30), `"a"`, `"nowhere"`)).is(200).
		has("interrupted.0.nodeId", "nowhere").has("interrupted.0.status", "<none>")
	nobody := execution{s, "0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01"}
	s.post("/tasks/watch", nobody.held(1, 30)).is(200).has("interrupted.0.executionId", nobody.id).has(
		"interrupted.0.status", "<none>")
	// Of another tenant's execution nobody learns more than of one that does not exist.
	s.post("/tasks/watch", e.held(1, 30), "X-Tenant-Id", "11111111-1111-4111-8111-111111111111").is(200).
		has("interrupted.0.executionId", e.id).has("interrupted.0.status", "<none>")
}

func TestAWatchEndsWhenTheExecutionIsCanceled(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.post("/tasks/claim", `{"workerId":"w"}`).is(200)
	answer := e.watching(1)
	e.send("a/progress", `{"progress":1}`).is(202) // wakes it for nothing
	stalls, canceled := stalltest.New(t), time.Now()
	e.send("cancel", "").is(202)
	e.answered(answer).has("interrupted.0.executionId", e.id).has("interrupted.0.status", "CANCELED")
	if took := stalls.Since(canceled); took > time.Second {
		t.Errorf("the watch was answered %v after the cancel", took)
	}
}

func TestAWatchEndsWhenTheNodeAloneIsCanceled(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.post("/tasks/claim", `{"workerId":"w"}`).is(200)
	answer := e.watching(1)
	e.send("a/cancel", "").is(202)
	e.answered(answer).has("interrupted.0.status", "CANCELED")
}

func TestAWatchEndsWhenTheLeaseIsLost(t *testing.T) {
	s := newServer(t)
	e := s.started(retrying)
	s.post("/tasks/claim", `{"workerId":"w","leaseSeconds":5}`).is(200)
	answer := e.watching(1)
	s.advance(6 * time.Second)
	e.answered(answer).has("interrupted.0.status", "CREATED").has("interrupted.0.attempt", "1")
}

func TestAWatchNamesAllThatWereInterrupted(t *testing.T) {
	s := newServer(t)
	s.register(
		"g",
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},{"nodeId":"a",
			"type":"Task"},{"nodeId":"b","type":"Task"},
		{"nodeId":"join","type":"Join"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"fork"},{"from":"fork","to":"a"},{"from":"fork","to":"b"},{"from":"a",
		"to":"join"},{"from":"b","to":"join"},{"from":"join","to":"done"}]}`,
	)
	var tasks []string
	var all []execution
	for range 20 {
		e := execution{s, s.post("/executions", `{"graphId":"g"}`).is(202).text("executionId")}
		e.send("start", "").is(202)
		for _, node := range []string{"a", "b"} {
			tasks = append(tasks, fmt.Sprintf(`{"executionId":%q,"nodeId":%q,"attempt":1}`, e.id, node))
		}
		all = append(all, e)
	}
	if n := len(s.claims(len(tasks))); n != len(tasks) {
		t.Fatalf("%d tasks are claimed, want %d", n, len(tasks))
	}
	watch := func(wait int) reply {
		return s.post("/tasks/watch", fmt.Sprintf(`{"tasks":[%s],"waitSeconds":%d}`, strings.Join(tasks, ","),
			wait)).is(200)
	}
	watch(0).has("interrupted", "[]")
	all[7].send("cancel", "").is(202)
	all[3].send("b/success", "").is(202)
	watch(30).has("interrupted.0.executionId", all[3].id).has("interrupted.0.nodeId", "b").has("interrupted.0.status",
		"SUCCEEDED").
		has("interrupted.1.executionId", all[7].id).has("interrupted.1.nodeId", "a").has("interrupted.2.nodeId",
		"b").has("interrupted.3", "<none>")
}

func TestAWatchThatFindsNothingEndsAfterItsTime(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.post("/tasks/claim", `{"workerId":"w"}`).is(200)
	began := time.Now()
	e.post("/tasks/watch", e.held(1, 1)).is(200).has("interrupted", "[]")
	if took := time.Since(began); took < 900*time.Millisecond || took > patience {
		t.Errorf("it took %v", took)
	}
}

func TestAWatchEndsWhenTheServerDrains(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200)
	answer := e.watching(1)
	s.get("/healthz").is(200)
	s.gate.Drain()
	select {
	case r := <-answer:
		r.is(503).has("error.code", "SHUTTING_DOWN")
	case <-time.After(patience):
		t.Fatal("the watch was not answered")
	}
}

func TestAWatchIsNotRemembered(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	s.postOnce("k", "/tasks/watch", e.held(1, 0)).is(200).has("interrupted.0.status", "READY")
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200)
	s.postOnce("k", "/tasks/watch", e.held(1, 0)).is(200).has("interrupted", "[]")
	s.postOnce("k", "/tasks/watch", e.held(2, 0)).is(200).has("interrupted.0.status", "RUNNING")
	s.do("POST", "/tasks/watch", e.held(1, 0)).invalid("X-Idempotency-Key")
}

func TestWhatAWatchMayAskFor(t *testing.T) {
	s := newServer(t)
	const id = "0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01"
	const task = `{"executionId":"` + id + `","nodeId":"a","attempt":1}`
	for body, words := range map[string]string{
		``:                            "tasks",
		`{}`:                          "tasks",
		`{"tasks":[]}`:                "tasks must have 1 to 1000",
		`{"tasks":{}}`:                "tasks must be an array",
		`{"tasks":[1]}`:               "tasks[0] must be an object",
		`{"tasks":[` + task + `,{}]}`: "tasks[1].executionId",
		`{"tasks":[{"executionId":"x","nodeId":"a","attempt":1}]}`:                   "executionId must be a UUID",
		`{"tasks":[{"executionId":"` + id + `","attempt":1}]}`:                       "tasks[0].nodeId",
		`{"tasks":[{"executionId":"` + id + `","nodeId":"a b","attempt":1}]}`:        "tasks[0].nodeId",
		`{"tasks":[{"executionId":"` + id + `","nodeId":"a"}]}`:                      "tasks[0].attempt",
		`{"tasks":[{"executionId":"` + id + `","nodeId":"a","attempt":0}]}`:          "tasks[0].attempt",
		`{"tasks":[{"executionId":"` + id + `","nodeId":"a","attempt":2147483648}]}`: "tasks[0].attempt",
		`{"tasks":[{"executionId":"` + id +
			`","nodeId":"a","attempt":1,"worker":"w"}]}`: "tasks[0].worker is not a known field",
		`{"tasks":[` + task + `],"waitSeconds":-1}`:                 "waitSeconds",
		`{"tasks":[` + task + `],"waitSeconds":31}`:                 "waitSeconds",
		`{"tasks":[` + task + `],"wait":1}`:                         "wait is not a known field",
		`{"tasks":[` + strings.Repeat(task+",", 1000) + task + `]}`: "tasks must have 1 to 1000",
	} {
		s.post("/tasks/watch", body).invalid(words)
	}
	s.post("/tasks/watch", `{"tasks":[`+strings.Repeat(task+",", 999)+task+`]}`).is(200).has("interrupted.999.nodeId",
		"a")
	s.post("/tasks/watch?wait=1", `{"tasks":[`+task+`]}`).invalid("wait")
}

// BenchmarkWatch is a watch over tasks that are all held: what it costs to ask.
func BenchmarkWatch(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newServer(b)
			s.register("g", linear("default", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"))
			var tasks []string
			for range n {
				e := execution{s, s.post("/executions", `{"graphId":"g"}`).is(202).text("executionId")}
				e.send("start", "").is(202)
				tasks = append(tasks, fmt.Sprintf(`{"executionId":%q,"nodeId":"a","attempt":1}`, e.id))
			}
			s.post("/tasks/claim", `{"workerId":"w","max":100}`).is(200)
			body := `{"tasks":[` + strings.Join(tasks, ",") + `]}`
			for b.Loop() {
				resp, err := s.client.Do(s.request(context.Background(), "POST", "/tasks/watch", body,
					"X-Idempotency-Key", "k"))
				if err != nil {
					b.Fatal(err)
				}
				_ = resp.Body.Close()
			}
		})
	}
}

// LIM-3: streams, waiting claims and watched tasks have maxima, of a caller, a tenant and the process.

func TestStreamsClaimsAndWatchesHaveMaxima(t *testing.T) {
	s := newServerWith(t, options{
		open: map[string]gate.Open{
			gate.OpenStreams: {Caller: 1, Process: 3}, gate.OpenClaims: {Caller: 1, Process: 2},
			gate.OpenWatches: {Caller: 10, Process: 10},
		},
		watched: [2]int{1, 2},
	})
	e := s.started(linear("default", "a", "b"))
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200)
	for i, path := range []string{"/executions/" + e.id + "/stream", "/events/stream"} {
		user := fmt.Sprint("u", i)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-User-Id", user)
		resp, err := s.client.Do(req) // it is open once it is answered
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		s.get(path, "X-User-Id", user).is(429).has("error.code", "RATE_LIMITED")
	}
	s.get("/audit/export", "X-User-Id", "another").
		is(429).
		has("error.code", "RATE_LIMITED").
		has("error.details.limit",
			"2")
	other := []string{"X-Tenant-Id", "11111111-1111-4111-8111-111111111111"}
	s.get("/audit/export", other...).is(200)

	waits := make(chan reply, 2)
	until := func(what string, refused func() reply) {
		t.Helper()
		for late := time.Now().Add(patience); refused().status != 429; {
			if time.Now().After(late) {
				t.Fatal(what)
			}
		}
	}
	persist := func(path, body string) {
		r := s.post(path, body)
		for ; r.status == 429; r = s.post(path, body) { // it met a look whether it is there
		}
		waits <- r
	}
	go persist("/tasks/claim", `{"workerId":"w","queues":["none"],"waitSeconds":30}`)
	until("a second claim is let in", func() reply {
		return s.post("/tasks/claim",
			`{"workerId":"w","queues":["none"]}`)
	})
	go persist("/tasks/watch", e.held(1, 30))
	until("a second execution is watched", func() reply { return s.post("/tasks/watch", e.held(1, 0)) })
	s.post("/tasks/watch", e.held(1, 0), "X-User-Id", "another").is(429).has("error.details.limit", "1")
	s.post("/tasks/watch", e.held(1, 0), other...).is(200)
	s.gate.Drain()
	<-waits
	<-waits
}

// TestWhoWaitsForTasksKeepsNoPlace lets a claim and a watch with large bodies wait where one
// request with a large body runs at a time: another one does not wait for them.
func TestWhoWaitsForTasksKeepsNoPlace(t *testing.T) {
	one := gate.Open{Caller: 1, Process: 2}
	for _, path := range []string{"/tasks/claim", "/tasks/watch"} {
		t.Run(path, func(t *testing.T) {
			s := newServerWith(t, options{heavy: 1, open: map[string]gate.Open{
				gate.OpenClaims:  one,
				gate.OpenWatches: one,
			}})
			e := s.started(linear("default", "a"))
			s.post("/tasks/claim", `{"workerId":"w"}`).is(200)
			large := strings.Repeat(" ", 20<<10)
			body := `{"workerId":"w","queues":["none"],"waitSeconds":30}`
			if path == "/tasks/watch" {
				body = e.held(1, 30)
			}
			waits := make(chan reply, 1)
			go func() {
				r := s.post(path, large+body)
				for ; r.status == 429; r = s.post(path, large+body) { // it met a look whether it is there
				}
				waits <- r
			}()
			for late := time.Now().Add(patience); s.post(path, "{}").status != 429; {
				if time.Now().After(late) {
					t.Fatal("no request waits")
				}
			}
			s.post("/executions", large+`{"graphId":"g"}`).is(202)
			if len(waits) > 0 {
				t.Errorf("it did not wait: %d", (<-waits).status)
			}
			s.gate.Drain()
			<-waits
		})
	}
}
