package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// EXE-7: numbers of executions and queues, and what is read of a log.

func TestExecutionsAreCountedByStatusAndGraph(t *testing.T) {
	s := newServer(t)
	for i := range 3 {
		e := s.create(linear("default", "a"))
		if i == 0 {
			e.send("cancel", "").is(202)
		}
	}
	s.register("other", linear("default", "a"))
	s.post("/executions", `{"graphId":"other"}`).is(202)
	s.get("/executions/counts").is(200).has("total", "4").has("items.0.count", "4").has("items.1", "<none>").
		has("more", "false")
	s.get("/executions/counts?groupBy=status").is(200).has("items.0.status", "ACTIVE").has("items.0.count", "3").
		has("items.1.status", "CANCELED").has("items.1.count", "1").has("items.1.graphId", "<none>")
	s.get("/executions/counts?groupBy=graphId,status&graphId=g").is(200).has("total", "3").
		has("items.0.graphId", "g").has("items.0.count", "2").has("items.1.count", "1")
	s.get("/executions/counts", "X-Tenant-Id", "11111111-1111-1111-1111-111111111111").is(200).has("total", "0").
		has("items", "[]")
	s.get("/executions/counts?groupBy=outcome").invalid("groupBy")
}

func TestAHistogramCountsWhatWasCreatedInEachBucket(t *testing.T) {
	s := newServer(t)
	begin := s.create(linear("default", "a")).view().text("createdAt")
	s.advance(90 * time.Second)
	s.create(linear("default", "a")).send("cancel", "").is(202)
	s.create(linear("default", "a"))
	at, err := time.Parse(time.RFC3339, begin)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(to time.Duration, bucket string) reply {
		return s.get(fmt.Sprintf("/executions/histogram?from=%s&to=%s&bucket=%s", begin,
			at.Add(to).Format(time.RFC3339Nano), bucket))
	}
	ask(3*time.Minute, "1m").is(200).has("items.0.counts.ACTIVE", "1").has("items.1.counts.ACTIVE", "1").
		has("items.1.counts.CANCELED", "1").has("items.2.counts", "{}").has("items.3", "<none>").
		has("completeFrom", begin)
	ask(61*time.Second, "1m").is(200).has("items.1.counts", "{}").has("items.2", "<none>")
	ask(time.Hour, "1s").invalid("bucket")
	ask(0, "1m").invalid("to")
	ask(time.Hour, "soon").invalid("bucket")
	s.get("/executions/histogram?bucket=1m").invalid("from")
}

func TestQueuesSayHowMuchIsReadyAndSinceWhen(t *testing.T) {
	s := newServer(t)
	first := s.started(linear("slow", "a"))
	s.advance(time.Minute)
	s.started(linear("slow", "a"))
	s.started(linear("fast", "a"))
	since := first.await("NODE_READY a", 0).OccurredAt
	s.get("/tasks/queues").is(200).has("total", "2").has("items.0.queue", "fast").has("items.0.ready", "1").
		has("items.1.queue", "slow").has("items.1.ready", "2").has("items.1.more", "false").
		has("items.1.oldestReadyAt", since)
	first.send("a/start", `{"attempt":1}`).is(202)
	s.get("/tasks/queues").is(200).has("items.1.ready", "1")
	s.get("/tasks/queues", "X-Tenant-Id", "11111111-1111-1111-1111-111111111111").is(200).has("total", "0")
}

func TestTheAttemptsOfNodesAreReadFromTheLog(t *testing.T) {
	s := newServer(t)
	e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},
		{"nodeId":"a","type":"Task","retry":{"maxAttempts":2,"initialInterval":"1s"}},
		{"nodeId":"w","type":"Wait","waitKey":"k"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"w"},{"from":"w","to":"done"}]}`)
	read := func() reply { return s.get("/executions/"+e.id+"/attempts").is(200).has("complete", "true") }
	e.send("a/start", `{"attempt":1,"workerId":"w1"}`).is(202)
	e.send("a/fail", `{"workerId":"w1","error":{"code":"SOFT"}}`).is(202)
	failed := e.await("NODE_FAIL_REPORTED a", 0)
	s.advance(2 * time.Second)
	e.await("NODE_READY a", failed.Seq)
	e.send("a/start", `{"attempt":2,"workerId":"w2"}`).is(202)
	e.send("a/wait", `{"workerId":"w2","waitKey":"x"}`).is(202)
	read().has("nodes.0.attempts.1.waits.0.waitKey", "x").has("nodes.0.attempts.1.waits.0.until", "<none>")
	e.send("a/resume", `{"resumeKey":"x"}`).is(202)
	e.send("a/success", `{"workerId":"w2"}`).is(202)
	read().has("nodes.0.nodeId", "a").has("nodes.0.attempts.0.outcome", "FAILED").
		has("nodes.0.attempts.0.error.code", "SOFT").has("nodes.0.attempts.0.workerId", "w1").
		has("nodes.0.attempts.1.attempt", "2").has("nodes.0.attempts.1.outcome", "SUCCEEDED").
		has("nodes.0.attempts.2", "<none>").
		has("nodes.1.nodeId", "w").has("nodes.1.attempts.0.outcome", "<none>")
	e.send("cancel", "").is(202)
	read().has("nodes.1.attempts.0.outcome", "CANCELED").has("nodes.2", "<none>")
	s.get("/executions/00000000-0000-7000-8000-000000000000/attempts").is(404)
}

func TestALogIsReadByPlaceTypeAndNode(t *testing.T) {
	s := newServer(t)
	var nodes, edges strings.Builder
	for i := range 30 {
		fmt.Fprintf(&nodes, `{"nodeId":"t%d","type":"Task"},`, i)
		fmt.Fprintf(&edges, `{"from":"f","to":"t%d"},{"from":"t%d","to":"j"},`, i, i)
	}
	e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"f","type":"Fork"},` + nodes.String() +
		`{"nodeId":"j","type":"Join"},{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"f"},` +
		edges.String() + `{"from":"j","to":"done"}]}`)
	path := "/executions/" + e.id + "/events"
	all := s.get(path+"?page_size=1000").is(200).has("nextAfter", "<none>").has("items.0.seq", "1")
	total := all.text("total")
	s.get(path+"?page_size=10&after=5").is(200).has("items.0.seq", "6").has("items.9.seq", "15").
		has("nextAfter", "15").has("total", total)
	s.get(path+"?type=FORK_OPENED").is(200).has("items.0.payload.nodeId", "f").
		has("items.0.payload.branchIds.29", "t29").has("items.1", "<none>").has("nextAfter", "<none>")
	fork := s.get(path+"?type=FORK_OPENED&payload=brief").is(200).has("items.0.counts.branchIds", "30").
		has("items.0.payload.branchIds.19", "t19").has("items.0.payload.branchIds.20", "<none>")
	s.get(path+"/"+fork.text("items.0.seq")).is(200).has("type", "FORK_OPENED").has("payload.branchIds.29", "t29")
	s.get(path+"?nodeId=t3&type=NODE_READY,NODE_CREATED").is(200).has("items.0.type", "NODE_CREATED").
		has("items.1.type", "NODE_READY").has("items.2", "<none>")
	s.get(path + "?type=NODE_LOST").invalid("type")
	s.get(path + "?page=2&after=1").invalid("page")
	s.get(path + "?page_size=1001").invalid("page_size")
	s.get(path + "?payload=brief,full").invalid("payload")
	s.get(path + "/0").is(404)
	s.get(path + "/9999").is(404)
	s.get(path + "/x").is(404)
}
