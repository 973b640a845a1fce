package metadata

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

func TestWhatOthersNeedIsNotDeleted(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.furnish()
		r.must(
			`put workflow-rule #53 {"name":"Tier","object":"Lead","on":["create"],"when":"before",`+
				`"actions":[{"key":"a","type":"setField","field":"Tier__c","value":"B"}]}`,
			`put scheduled-job #54 {"name":"Stage","object":"Opportunity","cron":"0 3 * * *",`+
				`"actions":[{"key":"a","type":"updateField","field":"StageName","value":"Closed Lost"}]}`,
			`put approval-process #62 {"name":"Q","object":"Quote","steps":[{"name":"s",`+
				`"approvers":[{"type":"Group","id":"#31"}]}],"onRejected":{"Status":"Denied"}}`,
		)
		before := r.model(r.models, tenantA)
		for line, want := range map[string]string{
			"delete role #1": "the role is used by role Sales (" + id(2) +
				"); change",
			"delete role #2": "the role is used by role West (" + id(3) +
				"), user Anna (" + id(21) + "); change",
			"delete role #3": "the role is used by group Desk (" + id(31) +
				"); change",
			"delete permission-set #11": "the permission set is used by user Anna (" +
				id(21) + ")",
			"delete user #21": "the user is used by user Ben (" + id(22) +
				"), group Desk (" + id(31) + ")",
			"delete user #22": "the user is used by approval process P (" +
				id(61) + ")",
			"delete group #32": "the group is used by sharing rule Big (" +
				id(41) + ")",
			"delete field Lead.Score__c": "the field is used by permission set Sales (" +
				id(11) + ")",
			"delete field Lead.Tier__c": "the field is used by sharing rule Big (" +
				id(41) + ")",
			"delete field Lead.Age__c": "the field is used by validation rule V (" +
				id(51) + ")",
			"delete field Lead.Span__c": "the field is used by validation rule V (" + id(51) + ")",
			"delete field Lead.Mark__c": "the field is used by workflow rule W (" + id(52) + ")",
			"delete field Lead.Lock__c": "the field is used by approval process P (" + id(61) + ")",
			"delete field Lead.Fate__c": "the field is used by approval process P (" + id(61) + ")",
			"delete field Lead.Company": "Lead.Company is a standard field",
			"delete user " + model.SystemUser(
				tenantA): "the system user belongs to the server",
			"put user " + model.SystemUser(tenantA) +
				` {"name":"x"}`: "the system user belongs to the server",
			`put field Lead.Tier__c {"label":"Tier","type":"picklist","values":["A",` +
				`"C"]}`: "what is left out of the values of Lead.Tier__c is used by workflow rule " +
				"Tier (" + id(53) + ")",
			`put field Quote.Status {"values":["Draft"]}`: "what is left out of the values of Quote.Status " +
				"is used by approval process Q (" + id(62) + ")",
			`put stages Opportunity {"stages":[{"name":"Prospecting",` +
				`"forecastCategory":"Pipeline"}]}`: "what is left out of the values of Opportunity.StageName is " +
				"used by scheduled job Stage (" + id(54) + ")",
			`put field Lead.Score__c {"label":"s","type":"number",` +
				`"required":true}`: "Lead.Score__c cannot be required: the permission set " +
				"Sales (" + id(11) + ")",
		} {
			_, _, err := r.do(line)
			failure, _ := fault.As(err)
			if failure == nil || failure.Kind != fault.Conflict || !strings.HasPrefix(failure.Message, want) {
				t.Errorf("%s: got %v, want %s", line, err, want)
			}
		}
		for _, line := range []string{
			"delete role #77", "delete user #77", "delete field Lead.Nope__c", "delete field Ship.Name",
			`put object Ship {"label":"x","pluralLabel":"y"}`, `put owd Ship {"access":"Private"}`,
			`put team-roles Lead {"roles":[{"name":"x","access":"Read"}]}`,
			`put field Ship.A__c {"label":"x","type":"text"}`, `put stages Lead {"stages":[]}`,
		} {
			if _, _, err := r.do(line); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s: got %v, want that it does not exist", line, err)
			}
		}
		r.nothingHappened(before)
		r.must("delete approval-process #61", "delete user #22", "delete sharing-rule #41", "delete group #32",
			"delete workflow-rule #53", "delete field Lead.Tier__c")
	})
}

func TestWhatSomebodyOutsideNeedsIsNotDeleted(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.must(`put user #21 {"name":"Anna"}`)
		r.cfg.InUse = func(_ context.Context, _ *sqldb.Tx, tenant string, kind model.Kind, of string) ([]model.Use,
			error,
		) {
			if tenant != tenantA || kind != model.KindUser || of != id(21) {
				t.Errorf("asked for %s %s of %s", kind, of, tenant)
			}
			return []model.Use{{Object: "Account", ID: id(91), Count: 3}, {Object: "Lead", ID: id(92), Count: 1}}, nil
		}
		_, _, err := r.do("delete user #21")
		failure, _ := fault.As(err)
		if failure == nil || failure.Code != CodeInUse || !strings.HasPrefix(failure.Message,
			"the user is used by 3 records of Account ("+id(91)+"), 1 record of Lead ("+id(92)+"); change") {
			t.Fatalf("got %v", err)
		}
		details, err := json.Marshal(failure.Details, json.Deterministic(true))
		want := long(
			`{"total":4,"usedBy":[{"kind":"record","name":"Accounts","object":"Account","id":"#91","count":3},
			{"kind":"record","name":"Leads","object":"Lead","id":"#92","count":1}]}`,
		)
		want = strings.NewReplacer("\n", "", "\t", "").Replace(want)
		if err != nil || string(details) != want {
			t.Errorf("got %s, %v", details, err)
		}
	})
}

func TestAnotherVersionThanTheCallerKnowsIsRefused(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.must(`put role #1 {"name":"CEO"}`, `put role #2 {"name":"Sales"}`)
		put := func(n int, match, body string) (model.Definition, error) {
			d, _, err := r.Put(t.Context(), Change{
				Tenant: tenantA, CorrelationID: "c-1", Kind: model.KindRole,
				ID: id(n), Match: match,
			}, []byte(body))
			return d, err
		}
		for _, tt := range []struct {
			n     int
			match string
		}{{2, "1"}, {2, "02"}, {2, "x"}, {9, "0"}, {9, "*"}} {
			_, err := put(tt.n, tt.match, `{"name":"x"}`)
			if failure, _ := fault.As(err); failure == nil || failure.Code != CodeVersion ||
				failure.Kind != fault.Conflict {
				t.Errorf("role %d if %s: got %v", tt.n, tt.match, err)
			}
		}
		d, err := put(2, "2", `{"name":"Sales Team"}`)
		if err != nil || Version(d) != "3" {
			t.Errorf("got version %s, %v", Version(d), err)
		}
		if d, err = put(2, "*", `{"name":"Sales Team"}`); err != nil || Version(d) != "3" {
			t.Errorf("what changes nothing has the version %s, %v", Version(d), err)
		}
		if err := r.Delete(t.Context(), Change{
			Tenant: tenantA, CorrelationID: "c-1", Kind: model.KindRole, ID: id(2),
			Match: "2",
		}); fault.KindOf(err) != fault.Conflict {
			t.Errorf("got %v", err)
		}
		if d, err := r.Get(t.Context(), tenantA, model.KindOWD, "Lead"); err != nil || Version(d) != "0" {
			t.Errorf("what nobody changed has the version %s, %v", Version(d), err)
		}
	})
}

func TestTenantsDefineForThemselves(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.furnish()
		for _, line := range []string{
			`put role #9 {"name":"x","parentRoleId":"#1"}`, `put user #29 {"name":"x","roleId":"#1"}`,
			`put group #39 {"name":"x","type":"queue","members":[{"type":"User","id":"#21"}]}`,
			`put user #29 {"name":"x","permissionSetIds":["#11"]}`,
			`put permission-set #19 {"name":"x","fields":{"Lead.Score__c":{"read":true}}}`,
		} {
			if _, _, err := r.doFor(tenantB, line); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: got %v, want that nothing of another tenant is there", line, err)
			}
		}
		for _, line := range []string{
			"delete role #3", "delete user #21", "delete group #31",
			"delete sharing-rule #41", "delete field Lead.Score__c", "delete approval-process #61",
		} {
			if _, _, err := r.doFor(tenantB, line); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s: got %v", line, err)
			}
		}
		for _, kind := range model.Kinds {
			mine, err := r.Get(t.Context(), tenantB, kind, id(21))
			if fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s: got %v, %v", kind, mine, err)
			}
		}
		if _, total, err := r.List(t.Context(), tenantB, model.KindUser, "", 0, 10); err != nil || total != 1 {
			t.Errorf("got %d users (%v), want the system user", total, err)
		}
		if _, _, err := r.doFor(tenantB, `put user #21 {"name":"Other","subject":"anna"}`); err != nil {
			t.Error(err)
		}
		if got := r.model(NewModels(), tenantA).User(id(21)).Name; got != "Anna" {
			t.Errorf("got %s", got)
		}
	})
}
