package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// EXE-2a, EXE-6: bad input is refused with a message that names the field, and
// nothing is written.

func TestABodyThatBreaksARuleIsRefusedAndNamesTheField(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	e.send("a/start", `{"attempt":1}`).is(202)
	before := e.log()
	long := func(n int) string { return strings.Repeat("é", n) }
	for _, c := range []struct{ action, body, words string }{
		{"start", `{"reason":"r"}`, "reason"},
		{"cancel", `{"reason":5}`, "reason must be a string"},
		{"cancel", `{"reason":null}`, "reason must be a string"},
		{"cancel", `{"reason":"` + long(1025) + `"}`, "reason must have at most 1024"},
		{"cancel", `{"because":"r"}`, "because is not a known field"},
		{"cancel", `{"Reason":"r"}`, "Reason is not a known field"},
		{"cancel", `{"":"r"}`, "is not a known field"},
		{"archive", `{"reason":{}}`, "reason"},
		{"a/cancel", `{"reason":[]}`, "reason"},
		{"a/start", ``, "attempt is required"},
		{"a/start", `{}`, "attempt is required"},
		{"a/start", `{"attempt":0}`, "attempt must be a whole number between 1 and"},
		{"a/start", `{"attempt":-1}`, "attempt"},
		{"a/start", `{"attempt":1.5}`, "attempt"},
		{"a/start", `{"attempt":"1"}`, "attempt"},
		{"a/start", `{"attempt":null}`, "attempt"},
		{"a/start", `{"attempt":2147483648}`, "attempt"},
		{"a/start", `{"attempt":1e400}`, "attempt"},
		{"a/start", `{"attempt":1,"workerId":""}`, "workerId must have 1 to 128"},
		{"a/start", `{"attempt":1,"workerId":"` + long(129) + `"}`, "workerId"},
		{"a/start", `{"attempt":1,"leaseSeconds":5}`, "leaseSeconds"},
		{"a/progress", `{"progress":101}`, "progress must be between 0 and 100"},
		{"a/progress", `{"progress":100.1}`, "progress must be between 0 and 100"},
		{"a/progress", `{"progress":-0.1}`, "progress must be between 0 and 100"},
		{"a/progress", `{"progress":1e999}`, "progress must be between 0 and 100"},
		{"a/progress", `{"progress":"50"}`, "progress must be a number"},
		{"a/progress", `{"progress":null}`, "progress must be a number"},
		{"a/progress", `{"message":5}`, "message"},
		{"a/progress", `{"message":"` + long(4097) + `"}`, "message"},
		{"a/progress", `{"metrics":[]}`, "metrics must be an object"},
		{"a/progress", `{"metrics":null}`, "metrics must be an object"},
		{"a/progress", `{"attempt":0}`, "attempt"},
		{"a/wait", `{"waitKey":""}`, "waitKey must have 1 to 255"},
		{"a/wait", `{"waitKey":"` + long(256) + `"}`, "waitKey"},
		{"a/wait", `{"waitKey":7}`, "waitKey"},
		{"a/wait", `{"prompt":"text"}`, "prompt must be an object"},
		{"a/wait", `{"resumeKey":"k"}`, "resumeKey"},
		{"a/resume", `{"resumeKey":""}`, "resumeKey"},
		{"a/resume", `{"resumeKey":7}`, "resumeKey"},
		{"a/resume", `{"output":7}`, "output must be an object"},
		{"a/success", `{"output":[1]}`, "output must be an object"},
		{"a/success", `{"output":"x"}`, "output must be an object"},
		{"a/success", `{"next":1}`, "next must be true or false"},
		{"a/success", `{"next":"true"}`, "next"},
		{"a/success", `{"error":{}}`, "error is not a known field"},
		{"a/fail", `{"error":"boom"}`, "error must be an object"},
		{"a/fail", `{"error":{"code":7}}`, "error.code must be a string"},
		{"a/fail", `{"error":{"code":"` + long(129) + `"}}`, "error.code must have at most 128"},
		{"a/fail", `{"error":{"message":{}}}`, "error.message must be a string"},
		{"a/fail", `{"error":{"message":"` + long(4097) + `"}}`, "error.message"},
		{"a/fail", `{"error":{"detail":"text"}}`, "error.detail must be an object"},
		{"a/fail", `{"error":{"details":{}}}`, "error.details is not a known field"},
		{"a/fail", `{"output":{}}`, "output is not a known field"},
	} {
		e.send(c.action, c.body).invalid(c.words).has("error.code", "INVALID_INPUT")
	}
	e.grew(before)
}

func TestATextOfTheGreatestLengthIsTaken(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	long := func(n int) string { return strings.Repeat("é", n) }
	e.send("a/start", `{"attempt":1,"workerId":"`+long(128)+`"}`).is(202)
	e.send("a/progress", `{"progress":100,"message":"`+long(4096)+`"}`).is(202)
	e.send("a/progress", `{"progress":0,"message":""}`).is(202)
	e.send("a/wait", `{"waitKey":"`+long(255)+`"}`).is(202)
	e.send("a/resume", `{"resumeKey":"`+long(255)+`"}`).is(202)
	e.send("a/fail", `{"error":{"code":"`+long(128)+`","message":"`+long(4096)+`","detail":{}}}`).is(202)
	e.send("archive", `{"reason":"`+long(1024)+`"}`).is(202)
}

func TestWhatIsNotStrictJSONIsRefused(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	before := e.log()
	for name, body := range map[string]string{
		"malformed":                 `{"reason":`,
		"cut off":                   `{"reason":"r"`,
		"single quotes":             `{'reason':'r'}`,
		"a comment":                 `{"reason":"r"} // why`,
		"trailing data":             `{"reason":"r"}{}`,
		"a trailing comma":          `{"reason":"r",}`,
		"no object":                 `[]`,
		"null":                      `null`,
		"a text":                    `"reason"`,
		"white space alone":         "  \n",
		"a duplicate member":        `{"reason":"a","reason":"b"}`,
		"a duplicate after escapes": `{"reason":"a","r\u0065ason":"b"}`,
		"bad UTF-8":                 "{\"reason\":\"\xff\"}",
		"half a surrogate pair":     `{"reason":"\ud800"}`,
		"a control character":       "{\"reason\":\"a\nb\"}",
		"a number that is none":     `{"reason":01}`,
		"deep nesting":              `{"reason":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
		"very deep nesting":         `{"reason":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
	} {
		if r := e.send("cancel", body); r.status != 422 {
			t.Errorf("%s: got %d %s", name, r.status, r.body)
		} else {
			r.has("error.code", "INVALID_INPUT")
		}
	}
	e.grew(before)
}

func TestDataIsStrictJSONAtEveryDepth(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	nested := func(n int) string { return strings.Repeat(`{"d":`, n) + `1` + strings.Repeat(`}`, n) }
	for _, input := range []string{
		`{"a":{"b":1,"b":2}}`, `{"é":1,"e` + "\u0301" + `":2}`, `{"a":"` + "\xc3" + `"}`, `{"a":"\udc00"}`, nested(64),
		nested(5000), `5`, `[]`, `"x"`, `null`,
	} {
		s.post("/executions", `{"graphId":"g","input":`+input+`}`).is(422)
	}
	s.post("/executions", `{"graphId":"g","input":`+nested(63)+`}`).is(202)
	s.get("/executions").has("total", "1")
}

func TestDataComesBackAsItWasSent(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	const input = `{"z":1,"a":[1.50,1e3,-0,9007199254740993,true,null],"text":"日本語 \" \\ \u0000 / <&>","e":{}}`
	e := execution{s, s.post("/executions", `{"graphId":"g","input":`+input+`}`).is(202).text("executionId")}
	for _, r := range []reply{e.view(), e.get("/executions/" + e.id + "?at=1")} {
		r.has("input.a", `[1.50,1e3,-0,9007199254740993,true,null]`).has("input.text", "日本語 \" \\ \x00 / <&>").has(
			"input.e", "{}")
	}
	e.send("start", "").is(202)
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks.0.input.a",
		`[1.50,1e3,-0,9007199254740993,true,null]`)
}

func TestABodyOverOneMebibyteIsRefused(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	e.send("a/start", `{"attempt":1}`).is(202)
	before := e.log()
	body := func(n int) string {
		return fmt.Sprintf(`{"output":{"x":%q}}`, strings.Repeat("x", n-len(`{"output":{"x":""}}`)))
	}
	e.send("a/success", body(1<<20+1)).is(413).has("error.code", "PAYLOAD_TOO_LARGE")
	e.grew(before)
	e.send("a/success", body(1<<20)).is(202)
	s.do("PUT", "/graphs/g", strings.Repeat(" ", 8<<20)+"{}").is(413)
}

func TestAnExecutionHoldsAtMost16MiBOfData(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	e.send("a/start", `{"attempt":1}`).is(202)
	metrics := fmt.Sprintf(`{"metrics":{"x":%q}}`, strings.Repeat("x", 1<<20-100))
	for range 16 {
		e.send("a/progress", metrics).is(202)
	}
	seq := e.view().text("seq")
	e.send("a/progress", metrics).is(413).has("error.code", "EXECUTION_TOO_LARGE")
	e.view().has("seq", seq)
	e.send("cancel", `{"reason":"a cancel always has room"}`).is(202)
}

func TestACommandHasNoQueryParameters(t *testing.T) {
	s := newServer(t)
	e := s.create(linear("default", "a"))
	e.send("start?force=true", "").invalid("force")
	s.post("/executions?dry_run=1", `{"graphId":"g"}`).invalid("dry_run")
	s.post("/tasks/claim?max=3", `{"workerId":"w"}`).invalid("max")
	s.do("POST", "/commands?x=1", `{"commands":[]}`).invalid("x")
	s.do("PUT", "/graphs/g?version=3", linear("default", "a")).invalid("version")
	e.logIs()
}

func TestBadTenantsAndUsersAreRefused(t *testing.T) {
	s := newServer(t)
	s.get("/executions", "X-Tenant-Id", "acme").invalid("X-Tenant-Id")
	s.get("/executions", "X-User-Id", "a\tb").invalid("X-User-Id")
	s.get("/executions", "X-Tenant-Id", "ABCDEF01-1111-4111-8111-111111111111").is(200)
}
