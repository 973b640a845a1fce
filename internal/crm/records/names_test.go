package records

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
)

func TestNamesAreOfWhatTheCallerMaySee(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		anna := user(ann, "安奈", sales)
		anna.Value.(*model.User).Subject = "anna"
		r.Define(tenantA, anna, user(ben, "Ben", sales), set(sales, nil))
		r.Define(tenantB, user(ben, "Another Ben"))
		create := func(as, fields string) View {
			return r.do(Caller{Tenant: tenantA, Subject: as}, "Account", Op{Kind: Create, Fields: r.fieldsOf(fields)})
		}
		hers, his := create(ann, `{"Name":"Hers"}`), create(ben, `{"Name":"His"}`)
		account := func(of string, v View, label string) Name {
			return Name{Of: of, Kind: "record", ID: v.ID, Object: "Account", Label: label}
		}
		upper := strings.ToUpper(hers.ID)
		people := []Name{
			{Of: "anna", Kind: model.KindUser, ID: ann, Label: "安奈"},
			{Of: ben, Kind: model.KindUser, ID: ben, Label: "Ben"},
			{Of: sales, Kind: model.KindPermissionSet, ID: sales, Label: sales},
		}
		for _, tt := range []struct {
			tenant, as string
			want       []Name
		}{
			{tenantA, "", append([]Name{account(upper, hers, "Hers"), account(his.ID, his, "His")}, people...)},
			{tenantA, ann, append([]Name{account(upper, hers, "Hers")}, people...)},
			{tenantA, ben, append([]Name{account(his.ID, his, "His")}, people...)},
			{tenantB, "", []Name{{Of: ben, Kind: model.KindUser, ID: ben, Label: "Another Ben"}}},
		} {
			got, err := r.records.Names(t.Context(), Caller{Tenant: tt.tenant, Subject: tt.as},
				[]string{upper, his.ID, "anna", "nobody", ben, sales, restricted})
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%q of %s is told (-want +got):\n%s%v", tt.as, tt.tenant, diff, err)
			}
		}
	})
}
