package metadata

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// sensitive are the sensitive fields of a model, in their order.
func sensitive(m *model.Model) (names []string) {
	for _, o := range m.Objects() {
		for i := range o.Fields {
			if o.Fields[i].Sensitive {
				names = append(names, model.FieldKey(o.Name, o.Fields[i].Name))
			}
		}
	}
	return names
}

func TestPersonalFieldsOfANewTenantAreSensitive(t *testing.T) {
	want := strings.Fields(
		`Account.Phone Account.BillingStreet Account.BillingPostalCode Account.ShippingStreet Account.ShippingPostalCode
		Contact.Email Contact.Phone Contact.MobilePhone Contact.Birthdate Contact.MailingStreet
		Contact.MailingPostalCode
		Lead.Email Lead.Phone Lead.MobilePhone Lead.Street Lead.PostalCode`,
	)
	onEvery(t, func(t *testing.T, r *rig) {
		if diff := cmp.Diff(want, sensitive(r.model(r.models, tenantA))); diff != "" {
			t.Error("without a definition", diff)
		}
		r.must(`put field Lead.Email {"sensitive":false}`, `put field Lead.Phone {"label":"Call"}`)
		want := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return name == "Lead.Email" })
		for _, models := range []*Models{r.models, NewModels()} { // as it is in memory, and as it is read
			m := r.model(models, tenantA)
			if diff := cmp.Diff(want, sensitive(m)); diff != "" {
				t.Error("after the tenant has decided about one", diff)
			}
			if f := m.Field("Lead", "Phone"); !f.Searchable || f.Label != "Call" {
				t.Errorf("got %+v, want a field that is sensitive and found", f)
			}
		}
	})
}

func TestAFieldIsSearchableUnlessItSaysNo(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.must(
			`put field Lead.Note__c {"label":"Note","type":"text"}`,
			`put field Lead.Code__c {"label":"Code","type":"text","searchable":false}`,
			`put field Lead.Size__c {"label":"Size","type":"number"}`,
			`put field Lead.Kind__c {"label":"Kind","type":"picklist","values":["a"],"sensitive":true}`,
			`put field Lead.Title {"searchable":false}`,
		)
		for _, models := range []*Models{r.models, NewModels()} {
			m := r.model(models, tenantA)
			for name, want := range map[string]bool{
				"Note__c": true, "Code__c": false, "Size__c": false, "Kind__c": true, "Title": false, "Email": true,
				"AnnualRevenue": false,
			} {
				if got := m.Field("Lead", name).Searchable; got != want {
					t.Errorf("%s: got %t, want %t", name, got, want)
				}
			}
		}
		for _, line := range []string{
			`put field Lead.Size__c {"label":"Size","type":"number","searchable":true}`,
			`put field Lead.AnnualRevenue {"searchable":true}`,
		} {
			if _, _, err := r.do(line); fault.KindOf(err) != fault.Invalid ||
				!strings.Contains(err.Error(), "texts and picklists") {
				t.Errorf("%s: got %v", line, err)
			}
		}
	})
}

// TestFieldsFromBeforeTheFlagAreFoundAsTheyWere reads what an older program stored.
func TestFieldsFromBeforeTheFlagAreFoundAsTheyWere(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		err := r.write(func(ctx context.Context, tx *sqldb.Tx) error {
			for name, body := range map[string]string{
				"Open__c": `"type":"text","sensitive":false`, "Secret__c": `"type":"text","sensitive":true`,
				"Size__c": `"type":"number","sensitive":false`,
			} {
				body = `{"id":"` + id(1) + `","object":"Lead","name":"` + name +
					`","label":"L","required":false,"readOnly":false,"custom":true,` + body + `}`
				if _, err := tx.Exec(ctx, "INSERT INTO metadata_definition (tenant_id, kind, id, body, revision) "+
					"VALUES ($1, 'field', $2, $3, 1)",
					tenantA, "Lead."+name, body); err != nil {
					return err
				}
			}
			_, err := tx.Exec(ctx, "INSERT INTO metadata_tenant (tenant_id, revision, stamp, standard) VALUES ($1, "+
				"1, 'old', 0)", tenantA)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		m := r.model(r.models, tenantA)
		for name, want := range map[string]bool{"Open__c": true, "Secret__c": false, "Size__c": false, "Email": true} {
			if got := m.Field("Lead", name).Searchable; got != want {
				t.Errorf("%s: got %t, want %t", name, got, want)
			}
		}
		if got := sensitive(m); !slices.Equal(got, []string{"Lead.Secret__c"}) {
			t.Errorf("got %v, want what the tenant marked alone", got)
		}
		r.must(`put field Lead.Phone {"label":"Call"}`)
		if f := r.model(r.models, tenantA).Field("Lead", "Phone"); f.Sensitive {
			t.Error("a body that does not say sensitive made it so in a tenant from before")
		}
		r.keepsOut()
	})
}

// keepsOut defines fields from before the flag anew, without a word about it and with one.
func (r *rig) keepsOut() {
	r.Helper()
	r.must(`put field Lead.Open__c {"label":"New","type":"text","sensitive":true}`,
		`put field Lead.Secret__c {"label":"New","type":"text","sensitive":true}`)
	for _, models := range []*Models{r.models, NewModels()} {
		m := r.model(models, tenantA)
		if f := m.Field("Lead", "Secret__c"); f.Searchable || f.Label != "New" {
			r.Errorf("got %+v, want a field that is not found", f)
		}
		if f := m.Field("Lead", "Open__c"); !f.Searchable {
			r.Errorf("got %+v, want a field that is found as before", f)
		}
	}
	r.must(`put field Lead.Secret__c {"label":"New","type":"text","sensitive":true,"searchable":true}`)
	if f := r.model(r.models, tenantA).Field("Lead", "Secret__c"); !f.Searchable {
		r.Errorf("got %+v, want a field that is found", f)
	}
}
