package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// linear is a graph of Tasks in a row, all of one queue, with a Success behind them.
func linear(queue string, tasks ...string) string {
	nodes, edges, last := `{"nodeId":"start","type":"Start"}`, "", "start"
	for _, task := range tasks {
		nodes += fmt.Sprintf(`,{"nodeId":%q,"type":"Task","queue":%q}`, task, queue)
		edges += fmt.Sprintf(`{"from":%q,"to":%q},`, last, task)
		last = task
	}
	return fmt.Sprintf(`{"nodes":[%s,{"nodeId":"done","type":"Success"}],"edges":[%s{"from":%q,"to":"done"}]}`, nodes,
		edges, last)
}

// register puts a graph.
func (s *server) register(id, graph string) {
	s.t.Helper()
	if r := s.do("PUT", "/graphs/"+id, graph); r.status != 200 && r.status != 201 {
		s.t.Fatalf("PUT /graphs/%s: %d %s", id, r.status, r.body)
	}
}

// execution is one execution on a server.
type execution struct {
	*server
	id string
}

// create makes an execution of a graph that it registers under the test's name.
func (s *server) create(graph string) execution {
	s.t.Helper()
	s.register("g", graph)
	return execution{s, s.post("/executions", `{"graphId":"g","input":{"n":1}}`).is(202).text("executionId")}
}

// started makes an execution and starts it.
func (s *server) started(graph string) execution {
	s.t.Helper()
	e := s.create(graph)
	e.send("start", "").is(202)
	return e
}

// send sends a command to the execution, or with node/action to a node.
func (e execution) send(action, body string, header ...string) reply {
	e.t.Helper()
	return e.sendOnce(e.key(), action, body, header...)
}

// sendOnce is send under a key.
func (e execution) sendOnce(key, action, body string, header ...string) reply {
	e.t.Helper()
	if node, act, ok := strings.Cut(action, "/"); ok {
		action = "nodes/" + node + "/" + act
	}
	return e.postOnce(key, "/executions/"+e.id+"/"+action, body, header...)
}

// view reads the execution.
func (e execution) view() reply {
	e.t.Helper()
	return e.get("/executions/" + e.id).is(200)
}

// node reads one node of the execution.
func (e execution) node(id string) reply {
	e.t.Helper()
	r := e.view()
	var doc struct {
		Nodes []json.RawMessage `json:"nodes"`
	}
	if err := json.Unmarshal(r.body, &doc); err != nil {
		e.t.Fatal(err)
	}
	for _, raw := range doc.Nodes {
		n := reply{e.t, "node " + id, r.status, r.header, raw}
		if n.text("nodeId") == id {
			return n
		}
	}
	e.t.Fatalf("there is no node %s: %s", id, r.body)
	return reply{}
}

// event is an event as the server tells it.
type event struct {
	EventID       string `json:"eventId"`
	ExecutionID   string `json:"executionId"`
	Seq           int    `json:"seq"`
	Type          string `json:"type"`
	OccurredAt    string `json:"occurredAt"`
	CorrelationID string `json:"correlationId"`
	CausationID   string `json:"causationId"`
	Actor         struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
	} `json:"actor"`
	Payload map[string]any `json:"payload"`
}

// String is the type and the node that the event is about.
func (ev event) String() string {
	if node, ok := ev.Payload["nodeId"].(string); ok {
		return ev.Type + " " + node
	}
	return ev.Type
}

// events reads the whole log.
func (e execution) events() []event {
	e.t.Helper()
	var all []event
	for page := 1; ; page++ {
		var got struct {
			Items []event `json:"items"`
			Total int     `json:"total"`
		}
		r := e.get(fmt.Sprintf("/executions/%s/events?page=%d&page_size=100", e.id, page)).is(200)
		if err := json.Unmarshal(r.body, &got); err != nil {
			e.t.Fatal(err)
		}
		all = append(all, got.Items...)
		if len(got.Items) == 0 || len(all) >= got.Total {
			break
		}
	}
	for i, ev := range all {
		if ev.Seq != i+1 || ev.ExecutionID != e.id {
			e.t.Fatalf("event %d of %s is number %d of %s", i+1, e.id, ev.Seq, ev.ExecutionID)
		}
	}
	return all
}

// log is the log in short, without the creation.
func (e execution) log() []string {
	e.t.Helper()
	var lines []string
	for _, ev := range e.events() {
		if ev.Type != "EXECUTION_CREATED" && ev.Type != "NODE_CREATED" {
			lines = append(lines, ev.String())
		}
	}
	return lines
}

// logIs demands the log in short.
func (e execution) logIs(want ...string) {
	e.t.Helper()
	if diff := cmp.Diff(want, e.log()); diff != "" {
		e.t.Errorf("the log differs (-want +got):\n%s", diff)
	}
}

// grew demands what the log got since it had so many lines.
func (e execution) grew(since []string, want ...string) {
	e.t.Helper()
	got := e.log()
	if len(got) < len(since) || !slices.Equal(got[:len(since)], since) {
		e.t.Fatalf("the log was rewritten: %q", got)
	}
	if diff := cmp.Diff(want, got[len(since):]); diff != "" && len(want)+len(got)-len(since) > 0 {
		e.t.Errorf("the new events differ (-want +got):\n%s", diff)
	}
}

// await follows the stream until an event comes, from a place in the log on.
func (e execution) await(want string, after int) event {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var seen []string
	for frame := range e.follow(ctx, after) {
		seen = append(seen, frame.event.String())
		if frame.event.String() == want {
			return frame.event
		}
	}
	e.t.Fatalf("%s did not come; got %q", want, seen)
	return event{}
}

// frame is one server-sent event.
type frame struct {
	id, name, data string
	event          event // of frames that carry one
}

// follow reads the stream of the execution from a place on, until it ends.
func (e execution) follow(ctx context.Context, after int) func(func(frame) bool) {
	e.t.Helper()
	return e.stream(ctx, fmt.Sprintf("/executions/%s/stream", e.id), "Last-Event-ID", fmt.Sprint(after))
}

func (s *server) stream(ctx context.Context, path string, header ...string) func(func(frame) bool) {
	s.t.Helper()
	resp, err := s.client.Do(s.request(ctx, "GET", path, "", header...))
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: status %d", path, resp.StatusCode)
	}
	return func(yield func(frame) bool) {
		defer resp.Body.Close()
		lines, f := bufio.NewScanner(resp.Body), frame{}
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "id":
				f.id = value
			case "event":
				f.name = value
			case "data":
				f.data = value
			case "": // the end of a frame, or a comment
				if f.name != "" {
					if err := json.Unmarshal([]byte(f.data), &f.event); err != nil {
						s.t.Errorf("frame %s: %v", f.id, err)
					}
					if !yield(f) {
						return
					}
				}
				f = frame{}
			}
		}
	}
}

func TestAnExecutionRunsFromStartToSuccess(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	e.send("a/start", `{"attempt":1,"workerId":"w"}`).is(202)
	e.send("a/success", `{"output":{"x":1}}`).is(202)
	e.logIs("EXECUTION_STARTED", "NODE_SUCCEEDED start", "NODE_READY a", "NODE_STARTED a", "NODE_SUCCEEDED a",
		"NODE_SUCCEEDED done", "EXECUTION_COMPLETED")
	e.view().has("status", "COMPLETED").has("result", `{"x":1}`)
}
