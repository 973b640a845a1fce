package records

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// key makes a request safe to repeat.
func (r *rig) key(name string) *canonical.IdempotencyKey {
	r.Helper()
	key, err := canonical.ParseIdempotencyKey(name, "PATCH /records", []byte("{}"))
	if err != nil {
		r.Fatal(err)
	}
	return &key
}

// TestARepeatShowsWhatTheCallerMaySeeNow repeats requests with their keys, while the records,
// and what the caller may see of them, change.
func TestARepeatShowsWhatTheCallerMaySeeNow(t *testing.T) {
	const secret = "plaNTed"
	onEvery(t, func(t *testing.T, r *rig) {
		field := func(object, name string, sensitive bool) model.Definition {
			return model.Definition{Kind: model.KindField, ID: object + "." + name, Value: &model.Field{
				ID: restricted, Object: object, Name: name, Type: model.Text, MaxLength: 40, Custom: true,
				Sensitive: sensitive,
			}}
		}
		r.Define(tenantA, user(ann, "Ann", sales), user(ben, "Ben", sales), set(sales, nil),
			field("Account", "Open__c", false), field("Account", "Secret__c", true), field("Lead", "Open__c", false),
			field("Lead", "Secret__c", true))
		anns := Caller{Tenant: tenantA, Subject: ann, CorrelationID: "test"}
		const fields = `"Open__c":"o","Secret__c":"` + secret + `"`
		lead := r.create(anns, "Lead", `{"LastName":"Li","Company":"C","Status":"Open - Not Contacted",`+fields+`}`)
		asks := map[string]func() string{
			"create": func() string {
				v, _, err := r.records.One(t.Context(), anns, "Account",
					Op{Kind: Create, Fields: r.fieldsOf(`{"Name":"A",` + fields + `}`)}, r.key("create"))
				return r.text(v, err)
			},
			"convert": func() string {
				out, _, err := r.records.Convert(
					t.Context(),
					anns,
					Conversion{LeadID: lead.ID, Idempotency: r.key("convert")},
					func(c Converted) ([]byte, error) { return json.Marshal(&c) },
				)
				if err != nil {
					t.Fatal(err)
				}
				return string(out)
			},
		}
		first := map[string]string{}
		for name, ask := range asks {
			first[name] = ask()
			if !strings.Contains(first[name], `"Open__c":"o"`) || !strings.Contains(first[name], secret) {
				t.Fatalf("%s: got %s", name, first[name])
			}
		}
		again := func(when string, gone ...string) {
			t.Helper()
			for name, ask := range asks {
				want := first[name]
				for _, text := range gone {
					want = strings.ReplaceAll(want, text, "")
				}
				if len(gone) == 0 && !strings.Contains(want, "Open__c") {
					t.Fatal(want)
				}
				if got := ask(); got != want {
					t.Errorf("%s, %s:\ngot  %s\nwant %s", name, when, got, want)
				}
			}
		}
		again("at once")
		r.See(func(ctx context.Context, tx *sqldb.Tx) error {
			var kept int
			err := tx.Row(ctx, "SELECT count(*) FROM idempotency_request WHERE answer LIKE '%"+secret+"%'").
				Scan(&kept)
			if kept > 0 || err != nil {
				t.Errorf("%d sensitive values are remembered: %v", kept, err)
			}
			return err
		})
		const value, hidden = `,"Secret__c":"` + secret + `"`, `,"Open__c":"o"`
		r.Define(tenantA, set(restricted, map[string]model.FieldPermission{
			"Account.Open__c": {Read: true},
			"Lead.Open__c":    {Read: true},
		}))
		again("without a field", hidden)
		r.Define(tenantA, set(restricted, nil))
		again("with it again")
		var made View
		if err := json.Unmarshal([]byte(first["create"]), &made); err != nil {
			t.Fatal(err)
		}
		r.Change(func(ctx context.Context, tx *sqldb.Tx) error { // as every change does
			_, err := tx.Exec(ctx, "UPDATE records_record SET version = version + 1 WHERE tenant_id = $1", tenantA)
			return err
		})
		again("of another version", value)
		r.Define(tenantA, set(restricted, map[string]model.FieldPermission{
			"Account.Open__c": {Read: true},
			"Lead.Open__c":    {Read: true},
		}))
		again("of another version, without a field", value, hidden)
		for _, v := range []View{made, lead} {
			r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, "UPDATE records_record SET owner_id = $2 WHERE tenant_id = $1 AND id = $3",
					tenantA, ben, v.ID)
				return err
			})
		}
		for name, ask := range asks {
			got := ask()
			head, _, _ := strings.Cut(first[name], `"fields":{`)
			_, tail, _ := strings.Cut(first[name], `"fields":{`)
			if want := head + `"fields":{}` + tail[strings.Index(tail, "}")+1:]; got != want {
				t.Errorf("%s, of a record that she does not see any more:\ngot  %s\nwant %s", name, got, want)
			}
		}
		gone := r.create(anns, "Account", `{"Name":"G"}`)
		for range 2 {
			v, _, err := r.records.One(t.Context(), anns, "Account", Op{Kind: Delete, ID: gone.ID}, r.key("delete"))
			if r.text(v, err); v.ID != gone.ID || v.RecordVersion <= gone.RecordVersion {
				t.Errorf("got %+v", v)
			}
		}
	})
}

// text is a record as it leaves the server.
func (r *rig) text(v View, err error) string {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	out, err := json.Marshal(&v)
	if err != nil {
		r.Fatal(err)
	}
	return string(out)
}
