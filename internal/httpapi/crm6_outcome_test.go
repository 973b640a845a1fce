package httpapi_test

import (
	"net/http"
	"testing"
)

// TestAnApprovalWritesItsOutcome approves two quotes over HTTP. Core writes the outcome into
// one when it takes the event; the other is refused by a validation rule, which the approval
// says, and of which those who think otherwise are told.
func TestAnApprovalWritesItsOutcome(t *testing.T) {
	const set, anna, ben, rule, process = "0199c1a4-0000-7000-8000-000000000011",
		"0199c1a4-0000-7000-8000-000000000021", "0199c1a4-0000-7000-8000-000000000022",
		"0199c1a4-0000-7000-8000-000000000051", "0199c1a4-0000-7000-8000-000000000061"
	s := newServer(t)
	s.want(http.StatusCreated, "PUT", "/metadata/permission-sets/"+set, `{"name":"all","modifyAll":true}`)
	s.want(http.StatusCreated, "PUT", "/metadata/users/"+anna, `{"name":"Anna","permissionSetIds":["`+set+`"]}`)
	s.want(http.StatusCreated, "PUT", "/metadata/users/"+ben, `{"name":"Ben","permissionSetIds":["`+set+`"]}`)
	s.want(http.StatusCreated, "PUT", "/metadata/validation-rules/"+rule,
		`{"name":"Rated","object":"Account","condition":"record.Rating == \"Hot\" && record.Phone == null",
		"message":"A hot account has a phone number.","field":"Phone"}`)
	s.want(http.StatusCreated, "PUT", "/metadata/approval-processes/"+process,
		`{"name":"Accounts","object":"Account","lockedFields":["Name"],
		"steps":[{"name":"Ben","approvers":[{"type":"User","id":"`+ben+`"}]}],"onApproved":{"Rating":"Hot"}}`)
	approved := func(fields string) (account, approval string) {
		account = s.want(http.StatusCreated, "POST", "/records/Account", `{"fields":{`+fields+`}}`).text("id")
		approval = s.do("POST", "/approvals", `{"object":"Account","recordId":"`+account+`"}`, "X-User-Id", anna).is(
			201).text("id")
		for _, stage := range []string{"-1", "20"} {
			s.do("POST", "/approvals/"+approval+"/decide", `{"decision":"APPROVED","stageIndex":`+stage+`}`,
				"X-User-Id", ben).is(422).has("error.details.field", "stageIndex")
		}
		s.do("POST", "/approvals/"+approval+"/decide", `{"decision":"APPROVED"}`, "X-User-Id", ben).is(200).has(
			"outcome.status", "WAITING")
		return account, approval
	}
	account, approval := approved(`"Name":"Acme","Phone":"1"`)
	s.do("POST", "/approvals", `{"object":"Account","recordId":"`+account+`"}`, "X-User-Id", anna).is(503).has(
		"error.code", "APPROVAL_SETTLING")
	other, refused := approved(`"Name":"Other"`)
	s.deliver(s.records.Consumer(s.approval, s.automation))
	s.get("/approvals/"+approval).is(200).has("status", "APPROVED").has("outcome.status", "WRITTEN")
	s.get("/records/Account/"+account).is(200).has("fields.Rating", "Hot")
	s.get("/approvals/"+refused).is(200).has("status", "APPROVED").has("outcome.status", "REFUSED").has(
		"outcome.message", "A hot account has a phone number.")
	s.get("/records/Account/"+other).is(200).has("fields.Rating", "<none>")
	for _, user := range []string{anna, ben} {
		s.get("/automation/inbox", "X-User-Id", user).is(200).has("total", "1").has("items.0.recordId", other).
			has("items.0.message", "An approval was decided, and its outcome could not be written into the record: "+
				"the approval says why.")
	}
	s.do("PATCH", "/records/Account/"+other, `{"fields":{"Name":"Another"}}`, "If-Match", "*").is(200)
	s.deliver(s.records.Consumer(s.approval, s.automation))
	s.get("/automation/inbox", "X-User-Id", anna).is(200).has("total", "1")
}
