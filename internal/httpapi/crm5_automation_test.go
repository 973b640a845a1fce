package httpapi_test

import (
	"strings"
	"testing"
)

// CRM-5: rules over HTTP.

// TestValidationRulesRefuseOverHTTP defines a rule and breaks it, alone and in bulks.
func TestValidationRulesRefuseOverHTTP(t *testing.T) {
	s := newServer(t)
	const rule = "/metadata/validation-rules/0199c1a4-0000-7000-8000-0000000000c1"
	s.do("PUT", rule, `{"name":"VR-ACC-01","object":"Account","condition":"record.AnnualRevenue < 0","message":"Revenue is not negative.","field":"AnnualRevenue"}`).is(201)
	refused := s.do("POST", "/records/Account", `{"fields":{"Name":"Acme","AnnualRevenue":-1}}`).is(422)
	for _, want := range []string{
		`"code":"VALIDATION_FAILED"`, `"message":"Revenue is not negative."`, `"field":"AnnualRevenue"`,
		`"rules":[{"id":"0199c1a4-0000-7000-8000-0000000000c1","name":"VR-ACC-01","message":"Revenue is not negative.","field":"AnnualRevenue"}]`,
	} {
		if !strings.Contains(string(refused.body), want) {
			t.Errorf("%s is not in %s", want, refused.body)
		}
	}
	some := s.do("POST", "/records/Account/bulk", `{"operations":[{"op":"create","fields":{"Name":"A"}},{"op":"create","fields":{"Name":"B","AnnualRevenue":-2}}]}`).is(200)
	if !strings.Contains(string(some.body), `"status":422`) || !strings.Contains(string(some.body), "VALIDATION_FAILED") || strings.Count(string(some.body), `"status":201`) != 1 {
		t.Errorf("a bulk: %s", some.body)
	}
	s.do("POST", "/records/Account/bulk", `{"allOrNone":true,"operations":[{"op":"create","fields":{"Name":"A"}},{"op":"create","fields":{"Name":"B","AnnualRevenue":-2}}]}`).is(422)
	if list := s.get("/records/Account").is(200); !strings.Contains(string(list.body), `"total":1`) {
		t.Errorf("what was refused is there: %s", list.body)
	}
	s.do("PUT", rule, `{"name":"VR-ACC-01","object":"Account","condition":"record.AnnualRevenue < 0","message":"Revenue is not negative.","isActive":false}`).is(200)
	s.do("POST", "/records/Account", `{"fields":{"Name":"Acme","AnnualRevenue":-1}}`).is(201)
}
