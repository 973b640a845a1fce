package metadata

import (
	"context"
	"slices"
	"testing"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

func TestADescriptionIsWhatItsReaderMaySee(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.must(
			`put permission-set #11 {"name":"Reader","objects":{"Opportunity":{"read":true}}}`,
			`put permission-set #12 {"name":"Amounts","objects":{"Opportunity":{"read":true,"update":true}},`+
				`"fields":{"Opportunity.Amount":{"read":true,"edit":true}}}`,
			`put user #21 {"name":"Anna","subject":"anna","permissionSetIds":["#11"]}`,
			`put user #22 {"name":"Ben","permissionSetIds":["#12"]}`,
			`put user #23 {"name":"Carl"}`,
			`put user #24 {"name":"Dora","permissionSetIds":["#11"],"isActive":false}`,
			`put owd Opportunity {"access":"ReadOnly"}`,
		)
		field := func(d Description, name string) *DescribedField {
			at := slices.IndexFunc(d.Fields, func(f DescribedField) bool { return f.Name == name })
			if at < 0 {
				return nil
			}
			return &d.Fields[at]
		}
		d, err := r.Describe(t.Context(), tenantA, "anna", "Opportunity")
		if err != nil || field(d, "Amount") != nil || field(d, "Name") == nil || field(d, "Name").Editable ||
			d.OWD != model.ReadOnly || len(d.Stages) != 10 ||
			d.Permissions != (model.ObjectPermission{Read: true}) || len(d.TeamRoles) == 0 {
			t.Errorf("Anna sees %+v, %v", d, err)
		}
		d, err = r.Describe(t.Context(), tenantA, id(22), "Opportunity")
		if err != nil || field(d, "Amount") == nil || !field(d, "Amount").Editable || field(d, "IsWon").Editable {
			t.Errorf("Ben sees %+v, %v", d, err)
		}
		if d, err = r.Describe(t.Context(), tenantA, "", "Lead"); err != nil ||
			len(d.Fields) != len(model.NewModel(tenantA).Object("Lead").Fields) || d.Stages != nil ||
			d.TeamRoles != nil {
			t.Errorf("the system sees %+v, %v", d, err)
		}
		for subject, want := range map[string]fault.Kind{
			id(23): fault.Forbidden, id(24): fault.Forbidden,
			"nobody": fault.Forbidden,
		} {
			if d, err := r.Describe(t.Context(), tenantA, subject, "Opportunity"); fault.KindOf(err) != want ||
				d.Fields != nil {
				t.Errorf("%s: got %v", subject, err)
			}
		}
		if _, err := r.Describe(t.Context(), tenantA, "", "Ship"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("got %v", err)
		}
	})
}

func TestAFieldIsSensitiveFromItsChangeOn(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		ask := func() (yes bool) {
			err := r.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				sensitive, err := r.models.Sensitive(ctx, tx, tenantA)
				yes = err == nil && sensitive("Lead", "Title")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return yes
		}
		before := ask()
		r.must(`put field Lead.Title {"sensitive":true}`)
		if after := ask(); before || !after {
			t.Errorf("got %t before and %t after", before, after)
		}
	})
}

func TestListsHaveTheirOrderAndTheirPages(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.furnish()
		for _, tt := range []struct {
			kind          model.Kind
			object        string
			offset, limit int
			rows, total   int
		}{
			{model.KindRole, "", 0, 10, 3, 3},
			{model.KindRole, "", 2, 10, 1, 3},
			{model.KindRole, "", 10, 10, 0, 3},
			{model.KindUser, "", 0, 2, 2, 3},
			{model.KindObject, "", 0, 10, 6, 6},
			{model.KindField, "Quote", 0, 100, 11, 11},
			{model.KindSharingRule, "Lead", 0, 10, 1, 1},
			{model.KindSharingRule, "Quote", 0, 10, 0, 0},
			{model.KindOWD, "", 0, 10, 6, 6},
		} {
			page, total, err := r.List(t.Context(), tenantA, tt.kind, tt.object, tt.offset, tt.limit)
			if err != nil || len(page) != tt.rows || total != tt.total {
				t.Errorf("%s %s: got %d of %d, want %d of %d (%v)", tt.kind, tt.object, len(page), total, tt.rows,
					tt.total, err)
			}
		}
		if _, _, err := r.List(t.Context(), tenantA, model.KindSharingRule, "Ship", 0, 10); fault.KindOf(
			err) != fault.Invalid {
			t.Errorf("got %v", err)
		}
	})
}
