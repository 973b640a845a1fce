package httpapi_test

import (
	"context"
	"encoding/json"
	"testing"
)

// EXE-7: the stream of what changes in a tenant.

// changeOf is a frame of that stream.
type changeOf struct {
	ExecutionID, GraphID, Status string
	Waiting                      bool
	Seq                          int
}

func TestAStreamOfChangesTellsTheLastStateOfEach(t *testing.T) {
	s := newServer(t)
	ctx, leave := context.WithTimeout(t.Context(), patience)
	defer leave()
	frames := s.stream(ctx, "/executions/stream")
	s.register("g", `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"ask","type":"Wait"},
		{"nodeId":"ok","type":"Success"}],"edges":[{"from":"start","to":"ask"},{"from":"ask","to":"ok"}]}`)
	s.do("PUT", "/graphs/g", linear("q", "a"), "X-Tenant-Id", other).is(201)
	s.post("/executions", `{"graphId":"g"}`, "X-Tenant-Id", other).is(202)
	e := execution{s, s.post("/executions", `{"graphId":"g","start":true}`).is(202).text("executionId")}
	var got []changeOf
	seq := 0
	for f := range frames {
		if f.name == "begin" && len(got) == 0 {
			continue
		}
		var c changeOf
		if err := json.Unmarshal([]byte(f.data), &c); err != nil || f.name != "execution" || f.id != "" {
			t.Fatalf("the frame %+v: %v", f, err)
		}
		if got = append(got, c); c.ExecutionID != e.id || c.GraphID != "g" || c.Seq <= seq {
			t.Fatalf("got %+v of %s after %d", c, e.id, seq)
		}
		seq = c.Seq
		if c.Waiting && c.Status == "ACTIVE" {
			e.send("ask/resume", "").is(202)
			e.send("archive", "").is(202)
		}
		if view := e.view(); c.Status == "COMPLETED" && len(e.events()) == seq {
			view.has("status", "COMPLETED")
			break
		}
	}
	if last := got[len(got)-1]; last.Status != "COMPLETED" || last.Waiting || len(got) > 5 {
		t.Errorf("got %+v", got)
	}
}

func TestAStreamOfChangesIsFiltered(t *testing.T) {
	s := newServer(t)
	s.register("one", oneTask)
	s.register("two", oneTask)
	ctx, leave := context.WithTimeout(t.Context(), patience)
	defer leave()
	frames := s.stream(ctx, "/executions/stream?graphId=two&status=CANCELED,FAILED")
	var two execution
	for _, graph := range []string{"one", "two"} {
		two = execution{s, s.post("/executions", `{"graphId":"`+graph+`"}`).is(202).text("executionId")}
		two.send("cancel", "").is(202)
	}
	for f := range frames {
		if f.name == "begin" {
			continue
		}
		var c changeOf
		if err := json.Unmarshal([]byte(f.data), &c); err != nil || c.ExecutionID != two.id || c.Status != "CANCELED" {
			t.Errorf("got %s: %v", f.data, err)
		}
		break
	}
	s.get("/executions/stream?status=GONE").is(422).has("error.details.field", "status")
	s.get("/executions/stream?graphId=a/b").is(422).has("error.details.field", "graphId")
}
