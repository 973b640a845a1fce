package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// EXE-7: the stream of an execution with the commands that led to no event.

// decided is a command as a list or a frame of a stream has it.
type decided struct {
	Command  string          `json:"command"`
	NodeID   string          `json:"nodeId"`
	Key      string          `json:"idempotencyKey"`
	Accepted bool            `json:"accepted"`
	Error    json.RawMessage `json:"error"`
	FirstSeq int             `json:"firstSeq"`
	LastSeq  int             `json:"lastSeq"`
}

// withCommands are the ids and the data of the frames that a stream of commands must have, out of the log and the list
// of commands.
func (e execution) withCommands() (ids []string, events []event, commands []decided) {
	e.t.Helper()
	events = e.events()
	var all struct{ Items []decided }
	r := e.get("/executions/" + e.id + "/commands?page_size=100").is(200)
	if err := json.Unmarshal(r.body, &all); err != nil {
		e.t.Fatal(err)
	}
	seq, then := 0, 0
	for _, one := range all.Items {
		if one.FirstSeq == 0 {
			then++
			ids = append(ids, fmt.Sprintf("%d.%d", seq, then))
			commands = append(commands, one)
		}
		for ; one.FirstSeq > 0 && seq < one.LastSeq; then = 0 {
			seq++
			ids = append(ids, fmt.Sprint(seq))
		}
	}
	return ids, events, commands
}

// reads reads a stream of commands until it has brought a frame.
func (e execution) reads(after, last string) (ids []string, events []event, commands []decided, frames []frame) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for f := range e.stream(ctx, "/executions/"+e.id+"/stream?commands=true", "Last-Event-ID", after) {
		ids, frames = append(ids, f.id), append(frames, f)
		if f.name == "command" {
			var one decided
			if err := json.Unmarshal([]byte(f.data), &one); err != nil {
				e.t.Fatal(err)
			}
			commands = append(commands, one)
		} else {
			events = append(events, f.event)
		}
		if f.id == last {
			return ids, events, commands, frames
		}
	}
	e.t.Fatalf("after %s the stream ended before %s", after, last)
	return nil, nil, nil, nil
}

// refusedOften is an execution with refusals before, between and after its events.
func refusedOften(t *testing.T) execution {
	t.Helper()
	s := newServer(t)
	e := s.started(linear("default", "a"))
	s.post("/tasks/claim", `{"workerId":"w1"}`).is(200)
	e.send("start", "").is(409)
	e.send("a/start", `{"attempt":7}`).is(409)
	e.send("a/progress", `{"progress":50}`).is(202)
	e.send("cancel", "").is(202)
	e.send("a/success", `{"attempt":1,"workerId":"w1","output":{"paid":true}}`).refusedBy("cancel_fence")
	e.send("cancel", "").is(202) // changes nothing
	e.send("a/fail", `{"attempt":1,"workerId":"w1","error":{"code":"LATE","message":"m"}}`).is(409)
	e.send("archive", "").is(202)
	for range 250 { // more than are read at once
		e.send("a/progress", `{"progress":60}`).is(409)
	}
	return e
}

func TestAStreamWithCommandsHasEverythingInTheOrderOfTheLog(t *testing.T) {
	e := refusedOften(t)
	ids, events, commands := e.withCommands()
	last := ids[len(ids)-1]
	gotIDs, gotEvents, gotCommands, frames := e.reads("0", last)
	if diff := cmp.Diff(ids, gotIDs); diff != "" {
		t.Errorf("ids differ (-log +stream):\n%s", diff)
	}
	if diff := cmp.Diff(events, gotEvents); diff != "" {
		t.Errorf("events differ (-log +stream):\n%s", diff)
	}
	if diff := cmp.Diff(commands, gotCommands); diff != "" {
		t.Errorf("commands differ (-list +stream):\n%s", diff)
	}
	var late []string
	for _, f := range frames {
		var data struct {
			Number     *int            `json:"number"`
			LateResult json.RawMessage `json:"lateResult"`
		}
		if err := json.Unmarshal([]byte(f.data), &data); err != nil || f.name == "command" && data.Number != nil {
			t.Errorf("frame %s: %v, %s", f.id, err, f.data)
		}
		if data.LateResult != nil {
			late = append(late, string(data.LateResult))
		}
	}
	view := e.view()
	for i, got := range late {
		view.has(fmt.Sprintf("lateResults.%d.receivedAt", i), reply{t: t, body: []byte(got)}.text("receivedAt"))
		view.has(fmt.Sprintf("lateResults.%d.command", i), reply{t: t, body: []byte(got)}.text("command"))
	}
	if len(late) != 2 {
		t.Errorf("the stream brought %d late results, want 2", len(late))
	}
}

func TestAStreamWithCommandsResumesAfterEveryFrame(t *testing.T) {
	e := refusedOften(t)
	ids, _, _ := e.withCommands()
	last := ids[len(ids)-1]
	for i, id := range ids[:len(ids)-1] {
		if i > 40 && i < len(ids)-5 {
			continue
		}
		got, _, _, _ := e.reads(id, last)
		if diff := cmp.Diff(ids[i+1:], got); diff != "" {
			t.Fatalf("after %s (-want +got):\n%s", id, diff)
		}
	}
	for _, id := range []string{"0.1", "999", last + "9", "x", "1.x", "1.-1", "-1", "1.2.3", "99999999999999999999"} {
		e.get("/executions/"+e.id+"/stream?commands=true", "Last-Event-ID", id).invalid("Last-Event-ID")
	}
	e.get("/executions/" + e.id + "/stream?commands=true&lastEventId=x").invalid("lastEventId")
	e.get("/executions/" + e.id + "/stream?commands=1").invalid("commands")
	e.get("/executions/" + e.id + "/stream?lastEventId=1.1").invalid("lastEventId")
	e.get("/executions/0199c1a2-9f30-7b1d-9a44-1f8c2f3d7b02/stream?commands=true").is(http.StatusNotFound)
}

func TestAStreamWithCommandsGoesOnAfterTheEndAndBringsRefusalsWhenTheyHappen(t *testing.T) {
	s := newServerWith(t, options{heartbeat: time.Hour}) // it looks when it is woken, and only then
	e := s.started(linear("default", "a"))
	s.post("/tasks/claim", `{"workerId":"w1"}`).is(200)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	steps := []func(){
		func() { e.send("start", "").is(409) },
		func() { e.send("cancel", "").is(202) },
		func() { e.send("a/success", `{"attempt":1,"workerId":"w1"}`).is(409) },
		func() { e.send("archive", "").is(202) },
		func() { e.send("a/progress", `{"progress":1}`).is(409) },
		cancel,
	}
	when := []string{"NODE_STARTED", "command", "EXECUTION_CANCELED", "command", "EXECUTION_ARCHIVED", "command"}
	var got []string
	for f := range e.stream(ctx, "/executions/"+e.id+"/stream?commands=true") {
		got = append(got, f.id)
		if len(when) > 0 && f.name == when[0] { // each step is taken when the one before has arrived
			steps[0]()
			steps, when = steps[1:], when[1:]
		}
	}
	if len(when) > 0 {
		t.Fatalf("%s did not come", when[0])
	}
	if ids, _, _ := e.withCommands(); !slices.Equal(got, ids) {
		t.Errorf("the stream had %q, the log has %q", got, ids)
	}
}
