package httpapi_test

// furnish gives a tenant records, somebody who decides about them and an approval, so that
// requests have something to speak of.
func (s *server) furnish(tenant string) {
	s.t.Helper()
	as := []string{"X-Tenant-Id", tenant}
	s.define("permission-sets/"+uid(0xf1), `{"name":"Reader","viewAll":true}`, as...)
	s.define("users/"+uid(0xf2), `{"name":"Anna","permissionSetIds":["`+uid(0xf1)+`"]}`, as...)
	s.define("users/"+uid(0xf3), `{"name":"Ben","permissionSetIds":["`+uid(0xf1)+`"]}`, as...)
	s.define("approval-processes/"+uid(0xf4),
		`{"name":"Deals","object":"Opportunity","steps":[{"name":"Anna","approvers":[{"type":"User","id":"`+uid(0xf2)+
			`"}]}]}`, as...)
	for i := range 3 {
		deal := s.do("POST", "/records/Opportunity",
			`{"fields":{"Name":"Deal","StageName":"Prospecting","CloseDate":"2026-02-28"}}`, as...).is(201).text("id")
		if i > 0 {
			s.do("POST", "/approvals", `{"object":"Opportunity","recordId":"`+deal+`"}`, as...).is(201)
		}
	}
}
