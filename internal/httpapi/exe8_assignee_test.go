package httpapi_test

import (
	"fmt"
	"testing"
)

// EXE-8: a Wait with assignees is for them: by the names of their tokens, and by what the metadata say of them.
func TestOnlyAssigneesResumeAWait(t *testing.T) {
	s := newServer(t)
	const (
		role, group = "0199c1a4-0000-7000-8000-0000000000a1", "0199c1a4-0000-7000-8000-0000000000a2"
		mika, rei   = "0199c1a4-0000-7000-8000-0000000000a3", "0199c1a4-0000-7000-8000-0000000000a4"
	)
	s.do("PUT", "/metadata/roles/"+role, `{"name":"Controller"}`).is(201)
	s.do("PUT", "/metadata/users/"+mika, `{"name":"Mika","subject":"mika","roleId":"`+role+`","isActive":true}`).is(201)
	s.do("PUT", "/metadata/users/"+rei, `{"name":"Rei","subject":"rei","isActive":true}`).is(201)
	s.do("PUT", "/metadata/groups/"+group,
		`{"name":"Finance","type":"public","members":[{"type":"User","id":"`+rei+`"}]}`).is(201)
	for i, tt := range []struct {
		assignees, user string
		status          int
	}{
		{`{"roles":["Clerk"],"users":["ann"]}`, "ann", 202},
		{`{"roles":["Clerk"],"users":["ann"]}`, "mika", 403},
		{`{"roles":["Clerk"],"users":["ann"]}`, "", 403},
		{`{"users":["` + mika + `"]}`, "mika", 202},
		{`{"roles":["Controller"]}`, "mika", 202},
		{`{"roles":["` + role + `"]}`, mika, 202},
		{`{"roles":["Controller"]}`, "rei", 403},
		{`{"groups":["Finance"]}`, "rei", 202},
		{`{"groups":["Finance"]}`, "Finance", 403},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},
				{"nodeId":"w","type":"Wait","assignees":` + tt.assignees + `},{"nodeId":"ok","type":"Success"}],
				"edges":[{"from":"start","to":"w"},{"from":"w","to":"ok"}]}`)
			e.node("w").has("assignees", tt.assignees)
			header := []string{}
			if tt.user != "" {
				header = []string{"X-User-Id", tt.user}
			}
			r := e.send("w/resume", "", header...).is(tt.status)
			if tt.status == 202 {
				e.view().has("status", "COMPLETED")
				return
			}
			r.has("error.code", "COMMAND_REJECTED").has("error.details.guard", "assignee").
				has("error.details.assignees", tt.assignees).has("error.details.reasonClass", "auth")
			e.view().has("status", "ACTIVE")
			many := fmt.Sprintf(`{"commands":[{"command":"ResumeNode","executionId":%q,"nodeId":"w",
				"idempotencyKey":"b"}]}`, e.id)
			s.post("/commands", many, header...).is(200).has("results.0.status", "403").
				has("results.0.error.details.guard", "assignee")
		})
	}
}
