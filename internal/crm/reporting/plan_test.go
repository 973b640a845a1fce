package reporting

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestReportsAreReadByIndexes asks SQLite how it would make reports, for somebody who sees
// some records by their owner and some in other ways, and for somebody who sees all.
func TestReportsAreReadByIndexes(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	o, boss, _ := office(r)
	r.cfg.fewUnreached = -1
	ann := crmtest.ID(users, 3)
	set := model.PermissionSet{ID: crmtest.ID(sets, 3), Name: "reads", Objects: map[string]model.ObjectPermission{
		"Opportunity": {Read: true}, "Lead": {Read: true},
	}, Fields: map[string]model.FieldPermission{}}
	o.define(
		model.Definition{Kind: model.KindPermissionSet, ID: set.ID, Value: set},
		model.Definition{Kind: model.KindUser, ID: ann, Value: model.User{
			ID: ann, Name: "Ann", IsActive: true,
			PermissionSetIDs: []string{set.ID},
		}},
		model.Definition{Kind: model.KindSharingRule, ID: crmtest.ID(rules, 1), Value: model.SharingRule{
			ID: crmtest.ID(rules, 1), Name: "s", Object: "Lead", Kind: model.CriteriaRule,
			Criteria: `record.Company == "C"`,
			Access:   model.Read,
			Target:   model.Member{Type: model.TypeUser, ID: ann}, IsActive: true,
		}},
	)
	o.settle()
	for _, s := range append([]*spec{campaignLeads, campaignOpportunities}, specs...) {
		for _, user := range []string{boss, ann} {
			plan := o.plan(s, user)
			if !strings.Contains(plan, "SEARCH c USING") || user == ann && !strings.Contains(plan, "SEARCH f USING") {
				t.Errorf("%s %s for %s:\n%s", s.name, s.cube, user, plan)
			}
			for _, table := range []string{"SCAN c", "SCAN f", "SCAN o", "SCAN s", "SCAN a"} {
				if strings.Contains(plan, table+"\n") || strings.Contains(plan, table+" ") {
					t.Errorf("%s %s for %s looks at all rows:\n%s", s.name, s.cube, user, plan)
				}
			}
		}
	}
}

// plan is how SQLite would run the statement of a report.
func (t *tenant) plan(s *spec, user string) string {
	t.Helper()
	var plan strings.Builder
	caller := kit.Caller{Tenant: t.id, Subject: user}
	err := t.read(t.Context(), "test", caller, func(ctx context.Context, w *session) error {
		a, err := w.asking(ctx, s, &Query{}, false)
		if err != nil {
			return err
		}
		query, args, err := w.statement(ctx, a, true)
		if err != nil {
			return err
		}
		for row, err := range w.Tx.Query(ctx, "EXPLAIN QUERY PLAN "+query, args...) {
			var id, parent, unused int64
			var detail string
			if err == nil {
				err = row.Scan(&id, &parent, &unused, &detail)
			}
			if err != nil {
				return err
			}
			plan.WriteString(detail + "\n")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
