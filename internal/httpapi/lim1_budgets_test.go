package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// LIM-1: what takes too long is refused with a name.

// costly is a condition that is false after some thousands of steps, whatever the data is.
func costly(n int) string {
	const list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
	return fmt.Sprintf("%s.exists(a, %s.exists(b, %s.exists(c, a + b + c == %d)))", list, list, list, 1_000+n)
}

func TestConditionsThatTakeTooLongTogetherFailTheirNode(t *testing.T) {
	s := newServer(t)
	var edges strings.Builder
	for i := range 20 {
		fmt.Fprintf(&edges, `{"from":"work","to":"done","when":%q},`, costly(i))
	}
	ex := s.started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"work","type":"Task"},{"nodeId":"done",
			"type":"Success"}],
		"edges":[{"from":"start","to":"work"},` + edges.String() + `{"from":"work","to":"done"}]}`,
	)
	ex.send("work/start", `{"attempt":1}`).is(202)
	ex.send("work/success", "").is(202)
	ex.view().has("status", "FAILED").has("error.code", "ERR_EXPRESSION")
	if got := ex.view().text("error.message"); !strings.Contains(got, "from work to done") ||
		!strings.Contains(got, "50000 steps") {
		t.Errorf("the message %q does not name the edge", got)
	}
}

func TestGraphsThatAreTooMuchAreRefused(t *testing.T) {
	s := newServer(t)
	long := strings.Repeat("x", 100_000)
	yaml := []string{"Content-Type", "application/yaml"}
	s.do("PUT", "/graphs/y", "a: &a \""+long+"\"\nb: ["+strings.Repeat("*a, ", 9_000)+"*a]\n", yaml...).is(422).has(
		"error.code", "INVALID_GRAPH")
	s.do("PUT", "/graphs/y", "["+strings.Repeat("1,", 300_000)+"1]", yaml...).
		is(422).
		has("error.code", "INVALID_GRAPH")
	s.do("PUT", "/graphs/y", "# "+strings.Repeat(long, 11)+"\nnodes: []\n", yaml...).is(413).has("error.code",
		"PAYLOAD_TOO_LARGE")
	never := strings.ReplaceAll(costly(0), "10]",
		"10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30]")
	s.do(
		"PUT",
		"/graphs/y",
		fmt.Sprintf(
			`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"work","type":"Task"},{"nodeId":"done",
				"type":"Success"}],
		"edges":[{"from":"start","to":"work"},{"from":"work","to":"done","when":%q},{"from":"work","to":"done"}]}`,
			never,
		),
	).
		is(422).has("error.code", "INVALID_GRAPH").has("error.details.nodeId", "work")
}

func TestRulesThatTakeTooLongTogetherRefuseARecord(t *testing.T) {
	s := newServer(t)
	for i := range 20 {
		s.do(
			"PUT",
			fmt.Sprintf("/metadata/validation-rules/0199c1a4-0000-7000-8000-00000000%04d", i),
			fmt.Sprintf(
				`{"name":"V%02d","object":"Account","condition":%q,"message":"Never."}`,
				i,
				costly(i),
			),
		).is(201)
	}
	refused := s.do("POST", "/records/Account", `{"fields":{"Name":"A"}}`).
		is(422).
		has("error.code", "RULES_TOO_COSTLY")
	if rule := refused.text("error.details.rule"); !strings.HasPrefix(rule, "V") ||
		!strings.Contains(refused.text("error.message"), rule) {
		t.Errorf("no rule is named: %s", refused.body)
	}
	bulk := s.do("POST", "/records/Account/bulk",
		`{"operations":[{"op":"create","fields":{"Name":"A"}},{"op":"create","fields":{"Name":"B"}}]}`).is(200)
	if n := strings.Count(string(bulk.body), "RULES_TOO_COSTLY"); n != 2 {
		t.Errorf("a bulk: %s", bulk.body)
	}
	s.get("/records/Account").is(200).has("total", "0")
}
