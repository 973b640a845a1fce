package metadata

import (
	"context"
	"strings"
	"testing"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// house defines a few things that others can name.
var house = []string{
	`put role #1 {"name":"CEO"}`, `put role #2 {"name":"Sales","parentRoleId":"#1"}`,
	`put role #3 {"name":"West","parentRoleId":"#2"}`,
	`put permission-set #11 {"name":"Sales","fields":{"Opportunity.Amount":{"read":true},"Lead.Score__c":{}}}`,
	`put user #21 {"name":"Anna","subject":"anna","roleId":"#2","permissionSetIds":["#11"]}`,
	`put user #22 {"name":"Ben","managerId":"#21"}`,
	`put group #31 {"name":"Desk","type":"queue","members":[{"type":"User","id":"#21"},{"type":"Role","id":"#3"}]}`,
	`put group #32 {"name":"Panel","type":"public"}`,
	`put sharing-rule #41 {"name":"Big","object":"Lead","kind":"criteria","criteria":"record.Tier__c == \"A\"",` +
		`"target":{"type":"Group","id":"#32"},"access":"Read"}`,
	`put validation-rule #51 {"name":"V","object":"Lead","condition":"record.Age__c < 0","message":"m",` +
		`"field":"Span__c"}`,
	`put workflow-rule #52 {"name":"W","object":"Lead","on":["create"],"when":"before","actions":[{"key":"a",` +
		`"type":"setField","field":"Mark__c","value":"x"}]}`,
	`put approval-process #61 {"name":"P","object":"Lead","lockedFields":["Lock__c"],"steps":[{"name":"s",` +
		`"approvers":[{"type":"User","id":"#22"}]}],"onRejected":{"Fate__c":1}}`,
}

func (r *rig) furnish() {
	r.Helper()
	for _, f := range []string{"Score", "Age", "Span", "Lock", "Fate"} {
		r.must(`put field Lead.` + f + `__c {"label":"` + f + `","type":"number"}`)
	}
	r.must(`put field Lead.Tier__c {"label":"Tier","type":"picklist","values":["A","B"]}`,
		`put field Lead.Mark__c {"label":"Mark","type":"text","maxLength":5}`)
	r.must(house...)
}

func TestWhatBreaksARuleIsRefusedWithTheMemberThatDoes(t *testing.T) {
	rule := func(more string) string {
		return `put sharing-rule #49 {"name":"R","object":"Account","target":{"type":"Role","id":"#1"},` +
			`"access":"Read",` + more + `}`
	}
	flow := func(when, on, action string) string {
		return `put workflow-rule #59 {"name":"W","object":"Lead","on":["` + on + `"],"when":"` + when +
			`","actions":[` + action + `]}`
	}
	job := func(more string) string {
		return `put scheduled-job #58 {"name":"J","actions":[{"key":"a","type":"startGraph","graphId":"g"}],` + more +
			`}`
	}
	outcome := func(more string) string {
		return `put approval-process #69 {"name":"P","object":"Quote","steps":[{"name":"s",` +
			`"approvers":[{"type":"Role","id":"#1"}]}],` + more + `}`
	}
	many := strings.Repeat(`{"type":"User","id":"#21"},`, MaxMembers) + `{"type":"User","id":"#21"}`
	tests := []struct{ line, want string }{ // what the message begins with
		{`put role 7 {"name":"x"}`, "the id must be a UUID"},
		{`put role #9 {}`, "name is missing"},
		{`put role #9 []`, "the body must be an object"},
		{`put role #9 {"name":7}`, "name must be a string"},
		{`put role #9 {"name":null}`, "name must be a string"},
		{`put role #9 {"name":"x","name":"y"}`, `the body holds the member "name" twice`},
		{`put role #9 {"name":"x","boss":true}`, "boss is not a known field"},
		{`put role #9 {"name":" x"}`, "name must be 1 to 200 characters"},
		{`put role #9 {"name":"x\ny"}`, "name must be 1 to 200 characters"},
		{`put role #9 {"name":"` + strings.Repeat("é", MaxName+1) + `"}`, "name must be 1 to 200 characters"},
		{`put role #9 {"id":"#8","name":"x"}`, "id is not the one in the path"},
		{`put role #9 {"name":"x","parentRoleId":""}`, "parentRoleId must not be empty"},
		{`put role #9 {"name":"x","parentRoleId":"#77"}`, "parentRoleId: there is no role"},
		{`put role #9 {"name":"x","parentRoleId":"#9"}`, "parentRoleId would put the role above itself: x → x"},
		{
			`put role #1 {"name":"CEO","parentRoleId":"#3"}`,
			"parentRoleId would put the role above itself: CEO → West → Sales → CEO",
		},
		{`put user #29 {"name":"x","email":"nobody"}`, "email must be an address"},
		{`put user #29 {"name":"x","roleId":"#77"}`, "roleId: there is no role"},
		{`put user #29 {"name":"x","permissionSetIds":["#77"]}`, "permissionSetIds: there is no permission set"},
		{`put user #29 {"name":"x","subject":"anna"}`, "subject is that of the user " + id(21)},
		{`put user #29 {"name":"x","subject":"#21"}`, "subject is that of the user " + id(21)},
		{`put user #29 {"name":"x","subject":"#77"}`, "subject must not look like the id of another user"},
		{`put user #29 {"name":"x","isActive":"yes"}`, "isActive must be true or false"},
		{`put group #39 {"name":"x"}`, "type must be public or queue"},
		{`put group #31 {"name":"Desk","type":"public"}`, "type is queue and cannot be changed"},
		{
			`put group #39 {"name":"x","type":"queue","members":[{"type":"Group","id":"#32"}]}`,
			"members[0].type must be User or Role",
		},
		{
			`put group #39 {"name":"x","type":"queue","members":[{"type":"User","id":"#77"}]}`,
			"members[0].id: there is no User",
		},
		{`put group #39 {"name":"x","type":"queue","members":[` + many + `]}`, "members has 1001; at most 1000"},
		{`put permission-set #19 {"name":"x","objects":{"Ship":{"read":true}}}`, `objects: "Ship" is not an object`},
		{
			`put permission-set #19 {"name":"x","objects":{"Lead":{"update":true}}}`,
			"objects.Lead: who may create, update or delete",
		},
		{
			`put permission-set #19 {"name":"x","fields":{"Lead.Nope":{"read":true}}}`,
			`fields: "Lead.Nope" is not a field`,
		},
		{
			`put permission-set #19 {"name":"x","fields":{"Lead.Company":{"read":true}}}`,
			"fields.Lead.Company is required",
		},
		{
			`put permission-set #19 {"name":"x","fields":{"Lead.Title":{"edit":true}}}`,
			"fields.Lead.Title: who may edit",
		},
		{
			`put permission-set #19 {"name":"x","fields":{"Opportunity.IsWon":{"read":true,"edit":true}}}`,
			"fields.Opportunity.IsWon is read-only",
		},
		{`put object Lead {"label":"x"}`, "pluralLabel is missing"},
		{`put object Lead {"label":"x","pluralLabel":"y","name":"Account"}`, "name is not the one in the path"},
		{`put field Lead.Size {"label":"x","type":"text"}`, `Lead has no field "Size"`},
		{`put field Lead.Size__c {"label":"x"}`, "type is missing"},
		{`put field Lead.TIER__c {"label":"x","type":"text"}`, "Lead has a field Tier__c already"},
		{`put field Lead.Size__c {"label":"x","type":"huge"}`, "type must be one of text"},
		{`put field Lead.Size__c {"type":"text"}`, "label is missing"},
		{`put field Lead.Size__c {"label":"x","type":"text","maxLength":256}`, "maxLength must be 1 to 255"},
		{`put field Lead.Size__c {"label":"x","type":"text","maxLength":0}`, "maxLength must be 1 to 255"},
		{`put field Lead.Size__c {"label":"x","type":"date","maxLength":10}`, "maxLength is only for"},
		{`put field Lead.Size__c {"label":"x","type":"picklist"}`, "values must have at least 1"},
		{`put field Lead.Size__c {"label":"x","type":"picklist","values":["a","a"]}`, `values has "a" twice`},
		{`put field Lead.Size__c {"label":"x","type":"text","values":["a"]}`, "values are only for picklists"},
		{`put field Lead.Size__c {"label":"x","type":"reference"}`, "referenceTo is missing"},
		{
			`put field Lead.Size__c {"label":"x","type":"reference","referenceTo":["Ship"]}`,
			`referenceTo: "Ship" is not an object`,
		},
		{
			`put field Lead.Size__c {"label":"x","type":"text","referenceTo":["Lead"]}`,
			"referenceTo is only for references",
		},
		{
			`put field Lead.Size__c {"label":"x","type":"text","required":true,"readOnly":true}`,
			"a field that callers cannot write",
		},
		{`put field Lead.Size__c {"label":"x","type":"text","custom":false}`, "object, name and custom must be"},
		{`put field Lead.Size__c {"label":"x","type":"text","id":"mine"}`, "id is made by the server"},
		{`put field Lead.Tier__c {"label":"Tier","type":"text"}`, "type is picklist and cannot be changed"},
		{`put field Lead.Company {"label":"x","type":"number"}`, "type is text and cannot be changed"},
		{
			`put field Lead.Company {"label":"x","required":false}`,
			"Lead.Company is a standard field that is always required",
		},
		{
			`put field Lead.Company {"label":"x","maxLength":10}`,
			"Lead.Company is a standard field: readOnly, maxLength",
		},
		{`put field Opportunity.StageName {"values":["a"]}`, "the values of Opportunity.StageName are the stages"},
		{
			`put field Opportunity.ForecastCategoryName {"values":["a"]}`,
			"Opportunity.ForecastCategoryName is set by the server",
		},
		{`put field Opportunity.CloseDate {"sensitive":true}`, "Opportunity.CloseDate cannot be sensitive"},
		{`put field Lead.IsConverted {"sensitive":true}`, "Lead.IsConverted cannot be sensitive"},
		{`put field Lead.ConvertedDate {"sensitive":true}`, "Lead.ConvertedDate cannot be sensitive"},
		{`put field Lead.ConvertedAccountId {"sensitive":true}`, "Lead.ConvertedAccountId cannot be sensitive"},
		{`put field Lead.ConvertedContactId {"sensitive":true}`, "Lead.ConvertedContactId cannot be sensitive"},
		{
			`put field Lead.ConvertedOpportunityId {"sensitive":true}`,
			"Lead.ConvertedOpportunityId cannot be sensitive",
		},
		{`put field Contact.AccountId {"sensitive":true}`, "Contact.AccountId cannot be sensitive"},
		{`put field Opportunity.ContactId {"sensitive":true}`, "Opportunity.ContactId cannot be sensitive"},
		{`put stages Opportunity {"stages":[]}`, "stages must have at least 1"},
		{
			`put stages Opportunity {"stages":[{"name":"x","forecastCategory":"Closed","isClosed":true}]}`,
			"at least one stage must be open",
		},
		{
			`put stages Opportunity {"stages":[{"name":"x","forecastCategory":"Sure"}]}`,
			"stages[0].forecastCategory must be Omitted or",
		},
		{
			`put stages Opportunity {"stages":[{"name":"x","forecastCategory":"Closed","isWon":true}]}`,
			"stages[0].isWon: only a stage that is closed",
		},
		{
			`put stages Opportunity {"stages":[{"name":"x","forecastCategory":"Closed","probability":101}]}`,
			"stages[0].probability must be 0 to 100",
		},
		{
			`put stages Opportunity {"stages":[{"name":"x","forecastCategory":"Closed"},{"name":"x",` +
				`"forecastCategory":"Closed"}]}`,
			`stages has "x" twice`,
		},
		{`put owd Lead {"access":"Public"}`, "access must be Private or ReadOnly or ReadWrite"},
		{`put owd Lead {"access":"Private","object":"Quote"}`, "object is not the one in the path"},
		{`put team-roles Account {"roles":[{"name":"x","access":"All"}]}`, "roles[0].access must be Read or Edit"},
		{rule(`"kind":"owner"`), "source is missing"},
		{rule(`"kind":"other"`), "kind must be owner or criteria"},
		{rule(`"kind":"criteria"`), "criteria is missing"},
		{rule(`"kind":"criteria","criteria":"record.Name =="`), "criteria: line 1, column"},
		{rule(`"kind":"criteria","criteria":"record.Amount > 1"`), "criteria: Account has no field Amount"},
		{rule(`"kind":"criteria","criteria":"old.Name == 'x'"`), "criteria: the expression names old"},
		{
			rule(`"kind":"criteria","criteria":"record.Name == 'x'","source":{"type":"Role","id":"#1"}`),
			"source is only for rules",
		},
		{
			rule(`"kind":"owner","source":{"type":"User","id":"#21"}`),
			"source.type must be Role or RoleAndSubordinates or Group",
		},
		{rule(`"kind":"owner","source":{"type":"Group","id":"#77"}`), "source.id: there is no Group"},
		{
			`put sharing-rule #41 {"name":"Big","object":"Quote","kind":"criteria","criteria":"true",` +
				`"target":{"type":"Group","id":"#32"},"access":"Read"}`,
			"object is Lead and cannot be changed",
		},
		{
			`put validation-rule #59 {"name":"V","object":"Ship","condition":"true","message":"m"}`,
			`"Ship" is not an object`,
		},
		{`put validation-rule #59 {"name":"V","object":"Lead","message":"m"}`, "condition is missing"},
		{
			`put validation-rule #59 {"name":"V","object":"Lead","condition":"record.Title","message":"m",` +
				`"field":"Nope"}`,
			`Lead has no field "Nope"`,
		},
		{
			`put validation-rule #59 {"name":"V","object":"Lead","condition":"record.Title","message":"m"}`,
			"condition: record.Title is never true or false",
		},
		{
			`put validation-rule #59 {"name":"V","object":"Lead",` +
				`"condition":"!old.IsConverted && record[\"Age__c\"]","message":"m"}`,
			"condition: record.Age__c is never true or false",
		},
		{
			`put workflow-rule #59 {"name":"W","object":"Lead","on":["create"],"when":"after",` +
				`"condition":"record.Age__c + 1","actions":[]}`,
			"condition: a result of arithmetic is never true or false",
		},
		{
			job(`"object":"Lead","cron":"0 3 * * *","condition":"record.IsConverted ? true : record.OwnerId"`),
			"condition: record.OwnerId is never true or false",
		},
		{outcome(`"condition":"record"`), "condition: record is never true or false"},
		{rule(`"kind":"criteria","criteria":"record.Name || true"`), "criteria: record.Name is never true or false"},
		{
			flow("before", "delete", `{"key":"a","type":"setField","field":"Title","value":"x"}`),
			"on: nothing is saved",
		},
		{flow("before", "create", `{"key":"a","type":"notify","message":"m"}`), "actions[0].type must be setField"},
		{
			flow(
				"after",
				"delete",
				`{"key":"a","type":"notify","message":"m"},{"key":"b","type":"updateField","field":"Title",`+
					`"value":"x"}`,
			),
			"actions[1].type: a rule that acts on delete alone",
		},
		{flow("after", "create", `{"key":"a b","type":"notify","message":"m"}`), "actions[0].key must be 1 to 128"},
		{flow("after", "create", `{"key":"a","type":"notify"}`), "actions[0].message is missing"},
		{
			flow("after", "create", `{"key":"a","type":"notify","message":"m","graphId":"g"}`),
			"actions[0].graphId is only for startGraph",
		},
		{
			flow("after", "create", `{"key":"a","type":"notify","message":"m","field":"Title"}`),
			"actions[0]: field and value are only for",
		},
		{
			flow("after", "create", `{"key":"a","type":"notify","message":"m","to":{"type":"User","id":"#77"}}`),
			"actions[0].to.id: there is no User",
		},
		{
			flow("after", "create", `{"key":"a","type":"startGraph","graphId":"missing"}`),
			`actions[0].graphId: there is no graph "missing"`,
		},
		{
			flow("after", "create", `{"key":"a","type":"updateField","field":"Nope","value":1}`),
			`actions[0].field: Lead has no field "Nope"`,
		},
		{flow("after", "create", `{"key":"a","type":"updateField","field":"Title"}`), "actions[0].value is missing"},
		{
			flow("after", "create", `{"key":"a","type":"updateField","field":"Tier__c","value":"C"}`),
			"actions[0].value must be one of A, B",
		},
		{
			flow("after", "create", `{"key":"a","type":"updateField","field":"Mark__c","value":"123456"}`),
			"actions[0].value may have at most 5 characters",
		},
		{
			flow("after", "create", `{"key":"a","type":"updateField","field":"IsConverted","value":true}`),
			"actions[0].field: Lead.IsConverted is set by the server",
		},
		{
			flow(
				"after",
				"create",
				`{"key":"a","type":"notify","message":"m"},{"key":"a","type":"notify","message":"m"}`,
			),
			`actions has "a" twice`,
		},
		{job(`"cron":"0 3 * *"`), "cron must have five parts"},
		{job(`"cron":"0 24 * * *"`), "cron cannot be read: the hour"},
		{job(`"cron":"0 0 31 2 *"`), "cron never comes"},
		{job(`"cron":"0 3 * * *","timeZone":"Tokyo"`), "timeZone must be a name"},
		{job(`"cron":"0 3 * * *","condition":"true"`), "condition chooses records of an object"},
		{
			`put scheduled-job #58 {"name":"J","cron":"0 3 * * *","actions":[{"key":"a","type":"updateField",` +
				`"field":"City","value":"x"}]}`,
			"actions[0].type must be startGraph",
		},
		{`put approval-process #69 {"name":"P","object":"Quote","steps":[]}`, "steps must have at least 1"},
		{
			`put approval-process #69 {"name":"P","object":"Quote","lockedFields":["Nope"],"steps":[]}`,
			`lockedFields[0]: Quote has no field "Nope"`,
		},
		{
			`put approval-process #69 {"name":"P","object":"Quote","steps":[{"name":"s","approvers":[]}]}`,
			"steps[0].approvers must have at least 1",
		},
		{
			`put approval-process #69 {"name":"P","object":"Quote","steps":[{"name":"s",` +
				`"approvers":[{"type":"Role","id":"#77"}]}]}`,
			"steps[0].approvers[0].id: there is no Role",
		},
		{
			`put approval-process #69 {"name":"P","object":"Quote","steps":[{"name":"s",` +
				`"approvers":[{"type":"Role","id":"#1"}],"decide":"some"}]}`,
			"steps[0].decide must be any or all",
		},
		{
			`put approval-process #69 {"name":"P","object":"Quote","steps":[{"name":"s",` +
				`"approvers":[{"type":"Manager","id":"#21"}]}]}`,
			"steps[0].approvers[0].id must be submitter or owner",
		},
		{
			`put approval-process #69 {"name":"P","object":"Quote","steps":[{"name":"s",` +
				`"approvers":[{"type":"RoleAndSubordinates","id":"#1"}]}]}`,
			"steps[0].approvers[0].type must be User or Role or Group or Manager",
		},
		{outcome(`"onApproved":{"Nope":1}`), `onApproved.Nope: Quote has no field "Nope"`},
		{
			outcome(`"onRejected":{"GrandTotal":1}`),
			"onRejected.GrandTotal: Quote.GrandTotal is set by the server alone",
		},
		{outcome(`"onApproved":{"Status":"Fine"}`), "onApproved.Status must be one of Draft, Needs Review"},
		{outcome(`"onRecalled":{"DiscountPercent":"5"}`), "onRecalled.DiscountPercent must be a number"},
		{outcome(`"onRecalled":{"Name":null}`), "onRecalled.Name must not be null"},
		{outcome(`"onApproved":["Status"]`), "onApproved must be an object"},
		{`put user #29 {"name":"x","managerId":"#77"}`, "managerId: there is no user"},
		{
			`put user #29 {"name":"x","managerId":"` + model.SystemUser(tenantA) + `"}`,
			"managerId: the system user is nobody's manager",
		},
		{`put user #29 {"name":"x","managerId":"#29"}`, "managerId would make the user its own manager: x → x"},
		{
			`put user #21 {"name":"Anna","managerId":"#22"}`,
			"managerId would make the user its own manager: Anna → Ben → Anna",
		},
	}
	onEvery(t, func(t *testing.T, r *rig) {
		r.furnish()
		before := r.model(r.models, tenantA)
		for _, tt := range tests {
			_, _, err := r.do(tt.line)
			failure, _ := fault.As(err)
			if failure == nil || failure.Kind != fault.Invalid || !strings.HasPrefix(failure.Message, tt.want) {
				t.Errorf("%.200s: got %v, want %s", tt.line, err, tt.want)
			}
		}
		r.nothingHappened(before)
	})
}

// nothingHappened asks that the model of tenant A is still the same, and its outbox and
// audit log as long.
func (r *rig) nothingHappened(before *model.Model) {
	r.Helper()
	if after := r.model(NewModels(), tenantA); after.Revision != before.Revision {
		r.Errorf("got revision %d, want %d", after.Revision, before.Revision)
	}
	var rows, entries int64
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return first(
			tx.Row(ctx, "SELECT count(*) FROM metadata_definition WHERE tenant_id = $1", tenantA).Scan(&rows),
			tx.Row(ctx, "SELECT count(*) FROM audit_log WHERE tenant_id = $1", tenantA).Scan(&entries))
	})
	if err != nil || entries != before.Revision {
		r.Errorf("the audit log has %d entries after %d changes (%v)", entries, before.Revision, err)
	}
}
