package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// EXE-7: the read model, the list, the log and earlier states.

func TestAnExecutionShowsItsNodesInEveryStatus(t *testing.T) {
	e := newServer(t).started(`{"nodes":[
		{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},{"nodeId":"ready","type":"Task"},
		{"nodeId":"running","type":"Task"},
		{"nodeId":"waiting","type":"Wait","waitKey":"k","timeout":"1h"},{"nodeId":"failed","type":"Task"},
		{"nodeId":"canceled","type":"Task"},
		{"nodeId":"join","type":"Join","policy":"ALL_DONE"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"fork"},{"from":"fork","to":"ready"},{"from":"fork","to":"running"},
		{"from":"fork","to":"waiting"},
		{"from":"fork","to":"failed"},{"from":"fork","to":"canceled"},{"from":"ready","to":"join"},
		{"from":"running","to":"join"},
		{"from":"waiting","to":"join"},{"from":"failed","to":"join"},{"from":"canceled","to":"join"},
		{"from":"join","to":"done"}]}`)
	e.send("running/start", `{"attempt":1,"workerId":"w"}`).is(202)
	e.send("running/progress", `{"progress":12.5,"message":"m","metrics":{"rows":3}}`).is(202)
	e.send("failed/start", `{"attempt":1}`).is(202)
	e.send("failed/fail", `{"error":{"code":"E","message":"why","detail":{"d":1}}}`).is(202)
	e.send("canceled/cancel", `{"reason":"r"}`).is(202)
	e.view().
		has("status", "ACTIVE").
		has("cancelRequestedAt", "null").
		has("graphId", "g").
		has("graphVersion", "1").
		has(
			"input", `{"n":1}`)
	e.node("start").has("status", "SUCCEEDED").has("type", "Start")
	e.node("fork").has("status", "SUCCEEDED").has("branchIds", `["ready","running","waiting","failed","canceled"]`)
	e.node("ready").has("status", "READY").has("nextAttempt", "1")
	e.node("running").has("status", "RUNNING").has("attempt", "1").has("workerId", "w").has("progress", "12.5").has(
		"message", "m").has("metrics", `{"rows":3}`)
	e.node("waiting").has("status", "WAITING").has("waitKey", "k").has("canceledByExecution", "false")
	e.node("failed").has("status", "FAILED").has("error", `{"code":"E","detail":{"d":1},"message":"why"}`).
		has("reasonClass", "infra").has("retryAdvice", "retry_with_backoff")
	e.node("canceled").has("status", "CANCELED").has("reason", "r").has("canceledByExecution", "false")
	e.node("join").has("status", "CREATED").has("gate.failedBranches", `["failed"]`).has("gate.canceledBranches",
		`["canceled"]`).
		has("gate.completedBranches", "[]").has("gate.isPassable", "false")
	e.node("done").has("status", "CREATED")
	if until := e.node("waiting").text("waitUntil"); until == "<none>" {
		t.Error("a Wait with a timeout does not show until when")
	}
}

func TestAReadSeesWhatWasAnswered(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	for range 20 {
		e := execution{s, s.post("/executions", `{"graphId":"g"}`).is(202).text("executionId")}
		e.view().has("startedAt", "<none>")
		e.send("start", "").is(202)
		e.node("a").has("status", "READY")
	}
	s.get("/executions").has("total", "20")
}

func TestALargeOutputIsShownByReference(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/success", fmt.Sprintf(`{"output":{"big":%q}}`, strings.Repeat("x", 8000))).is(202)
	e.node("a").has("output", "<none>").has("outputRef.size", "8010")
	e.view().has("result", "<none>")
	for _, ev := range e.events() {
		if fmt.Sprint(ev.Seq) == e.node("a").text("outputRef.seq") {
			if output := ev.Payload["output"].(map[string]any); len(output["big"].(string)) != 8000 {
				t.Errorf("event %d has an output of %d", ev.Seq, len(output["big"].(string)))
			}
			return
		}
	}
	t.Error("the event that is referred to is not in the log")
}

func TestTheLogComesInOrderAndInPages(t *testing.T) {
	e := newServer(t).started(linear("default", "a", "b", "c", "d", "e", "f", "g"))
	e.send("a/start", `{"attempt":1}`).is(202)
	for i := range 25 {
		e.send("a/progress", fmt.Sprintf(`{"progress":%d}`, i)).is(202)
	}
	all := e.events()
	var paged []event
	for page := 1; ; page++ {
		r := e.get(fmt.Sprintf("/executions/%s/events?page=%d&page_size=10", e.id, page)).is(200).
			has("page", fmt.Sprint(page)).has("page_size", "10").has("total", fmt.Sprint(len(all)))
		var got struct{ Items []event }
		if err := json.Unmarshal(r.body, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Items) == 0 {
			break
		}
		if want := min(10, len(all)-len(paged)); len(got.Items) != want {
			t.Errorf("page %d has %d events, want %d", page, len(got.Items), want)
		}
		paged = append(paged, got.Items...)
	}
	if diff := cmp.Diff(all, paged); diff != "" {
		t.Errorf("pages and log differ:\n%s", diff)
	}
	e.get("/executions/"+e.id+"/events").is(200).has("page", "1").has("page_size", "50")
}

func TestAnEarlierStateIsWhatWasReadThen(t *testing.T) {
	e := newServer(t).started(branching)
	seen := map[string]string{}
	look := func() {
		r := e.view()
		seen[r.text("seq")] = string(r.body)
	}
	look()
	for _, c := range []struct{ action, body string }{
		{"a/start", `{"attempt":1,"workerId":"w"}`},
		{"a/progress", `{"progress":10,"message":"m"}`},
		{"w/resume", `{"output":{"ok":true}}`},
		{"late/start", `{"attempt":1}`},
		{"late/wait", `{"waitKey":"k"}`},
		{"a/success", `{"output":{"a":1}}`},
		{"cancel", `{"reason":"r"}`},
		{"archive", ""},
	} {
		e.send(c.action, c.body).is(202)
		look()
	}
	if len(seen) != 9 {
		t.Fatalf("saw %d states, want 9", len(seen))
	}
	for seq, want := range seen {
		got := e.get("/executions/" + e.id + "?at=" + seq).is(200)
		if diff := cmp.Diff(want, string(got.body)); diff != "" {
			t.Errorf("the state after event %s differs (-then +now):\n%s", seq, diff)
		}
	}
}

func TestEveryEarlierStateCanBeRead(t *testing.T) {
	e := newServer(t).started(branching)
	e.send("cancel", "").is(202)
	total := len(e.events())
	for n := 1; n <= total; n++ {
		e.get(fmt.Sprintf("/executions/%s?at=%d", e.id, n)).is(200).has("seq", fmt.Sprint(n))
	}
	e.get(fmt.Sprintf("/executions/%s?at=%d", e.id, total+1)).is(404).has("error.code", "EVENT_NOT_FOUND")
	e.get("/executions/" + e.id + "?at=9223372036854775807").is(404)
	for _, at := range []string{"0", "-1", "x", "1.5", "", "+1", "9223372036854775808"} {
		e.get("/executions/" + e.id + "?at=" + url.QueryEscape(at)).invalid("at")
	}
}

func TestTheListFiltersByStatusGraphAndTime(t *testing.T) {
	s := newServer(t)
	active := s.create(linear("default", "a"))
	s.advance(time.Hour)
	canceled := s.create(linear("default", "a"))
	canceled.send("cancel", "").is(202)
	s.advance(time.Hour)
	completed := s.started(linear("default", "a"))
	completed.send("a/start", `{"attempt":1}`).is(202)
	completed.send("a/success", "").is(202)
	s.advance(time.Hour)
	s.register("other", linear("default", "a"))
	other := execution{s, s.post("/executions", `{"graphId":"other"}`).is(202).text("executionId")}
	created := func(e execution) string { return url.QueryEscape(e.view().text("createdAt")) }
	inTokyo := func(e execution) string {
		at, err := time.Parse(time.RFC3339, e.view().text("createdAt"))
		if err != nil {
			t.Fatal(err)
		}
		return at.In(time.FixedZone("JST", 9*3600)).Format(time.RFC3339Nano) // its plus sign is not escaped
	}
	for _, c := range []struct {
		query string
		want  []execution
	}{
		{"", []execution{other, completed, canceled, active}},
		{"?sort=createdAt.desc", []execution{other, completed, canceled, active}},
		{"?status=ACTIVE", []execution{other, active}},
		{"?status=COMPLETED,CANCELED", []execution{completed, canceled}},
		{"?status=CANCELED,CANCELED", []execution{canceled}},
		{"?status=FAILED", nil},
		{"?graphId=other", []execution{other}},
		{"?graphId=g&status=ACTIVE", []execution{active}},
		{"?graphId=nobody", nil},
		{"?createdFrom=" + created(completed), []execution{other, completed}},
		{"?createdTo=" + created(completed), []execution{canceled, active}},
		{"?createdFrom=" + created(canceled) + "&createdTo=" + created(other), []execution{completed, canceled}},
		{"?createdFrom=" + inTokyo(completed), []execution{other, completed}},
		{"?createdTo=1970-01-01T00:00:00Z", nil},
		{"?createdFrom=1970-01-01T00:00:00Z", []execution{other, completed, canceled, active}},
	} {
		r := s.get("/executions"+c.query).is(200).has("total", fmt.Sprint(len(c.want)))
		for i, e := range c.want {
			r.has(fmt.Sprintf("items.%d.executionId", i), e.id)
		}
		r.has(fmt.Sprintf("items.%d", len(c.want)), "<none>")
	}
	s.get("/executions?status=CANCELED").has("items.0.status", "CANCELED").has("items.0.archivedAt", "null").
		has("items.0.endedAt", canceled.view().text("endedAt")).has("items.0.createdAt",
		canceled.view().text("createdAt"))
}

func TestListsComeInPagesOf10To100(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	var want []string
	for range 23 {
		want = append(want, s.post("/executions", `{"graphId":"g"}`).is(202).text("executionId"))
	}
	slices.Reverse(want)
	var got []string
	for page := 1; page <= 4; page++ {
		r := s.get(fmt.Sprintf("/executions?page=%d&page_size=10", page)).is(200).
			has("page", fmt.Sprint(page)).has("page_size", "10").has("total", "23")
		for i := range 10 {
			if id := r.text(fmt.Sprintf("items.%d.executionId", i)); id != "<none>" {
				got = append(got, id)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the pages do not hold the list, newest first (-want +got):\n%s", diff)
	}
	s.get("/executions").has("page", "1").has("page_size", "50")
	e := execution{s, got[0]}
	for _, path := range []string{"/executions", "/graphs", "/executions/" + e.id + "/events", "/executions/" + e.id +
		"/commands"} {
		for _, q := range []string{
			"page=0", "page=-1", "page=x", "page=1.5", "page=", "page=1000000001", "page_size=9", "page_size=1001",
			"page_size=x", "page=1&page=2",
			"pagesize=10", "unknown=1",
		} {
			s.get(path + "?" + q).invalid(strings.Split(q, "=")[0])
		}
		if !strings.HasSuffix(path, "/events") { // pages of a log are larger
			s.get(path + "?page_size=101").invalid("page_size")
		}
		s.get(path+"?page=1000000000&page_size=100").is(200).has("items", "[]")
		s.get(path + "?page=%zz").is(422)
	}
}

func TestTheListRefusesFiltersThatItDoesNotKnow(t *testing.T) {
	s := newServer(t)
	for _, q := range []string{
		"status=active", "status=", "status=ACTIVE,", "status=DONE", "graphId=", "graphId=a%20b",
		"createdFrom=yesterday", "createdFrom=",
		"correlationId=", "correlationId=%C3%A4", "businessKey=", "businessKey=%0A", "label=", "label=a", "label=a:",
		"label=:1", "label=a=1", "label=a:%0A", "label=a:1&label=b",
		"label=" + strings.Repeat("a:1&label=", 16) + "b:2",
		"outcome=", "outcome=a%20b", "errorCode=", "errorCode=%0A",
		"endedFrom=yesterday", "endedTo=", "cursor=", "cursor=x",
		"createdTo=2026-01-05", "sort=createdAt.asc", "sort=status.desc", "sort=", "q=x",
	} {
		s.get("/executions?" + q).invalid(strings.Split(q, "=")[0])
	}
	e := s.create(linear("default", "a"))
	s.get("/executions/" + e.id + "?page=1").invalid("page")
	s.get("/graphs/g?at=1").invalid("at")
}
