package records

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestManyMembersAreRemovedSomeAtATime deletes campaigns with more members than one
// transaction removes: each is published once, in versions that rise, and none is left.
func TestManyMembersAreRemovedSomeAtATime(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		counts := []int{maxRemovals - 1, 2*maxRemovals + 1, 1} // the second is cut, the third is not reached
		var campaigns []string
		for i, n := range counts {
			campaigns = append(campaigns, r.create(system, "Campaign", fmt.Sprintf(`{"Name":"C%d"}`, i)).ID)
			r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
				for m := range n {
					if _, err := tx.Exec(ctx,
						`INSERT INTO records_member (tenant_id, campaign_id, member_type, member_id, status,
						has_responded, added_at, updated_at)
						VALUES ($1, $2, 'Lead', $3, 'Sent', $4, 1, 1)`, tenantA, campaigns[i],
						fmt.Sprintf("00000000-0000-4000-8000-%012d", m), false); err != nil {
						return err
					}
				}
				return nil
			})
		}
		r.outbox()
		ops := make([]Op, len(campaigns))
		for i, id := range campaigns {
			ops[i] = Op{Kind: Delete, ID: id}
		}
		_, _, err := r.records.Apply(t.Context(), Caller{Tenant: tenantA, CorrelationID: "test"},
			Batch{Object: "Campaign", Ops: ops, AllOrNone: true}, func([]Result) ([]byte, error) {
				return []byte("{}"),
					nil
			})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(r.outbox(), memberRemoved); n != maxRemovals {
			t.Errorf("the deletion published %d removals, want %d", n, maxRemovals)
		}
		r.See(func(ctx context.Context, tx *sqldb.Tx) error {
			if _, ok, err := (Reads{}).Member(ctx, tx, tenantA, campaigns[1], "Lead",
				"00000000-0000-4000-8000-000000000999"); err != nil || ok {
				t.Errorf("a member of a campaign that is gone counts: %v", err)
			}
			return nil
		})
		// one of the members is a lead that somebody deletes meanwhile
		r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(
				ctx,
				insertRecord,
				tenantA,
				"Lead",
				"00000000-0000-4000-8000-000000000998",
				ann,
				"n",
				"",
				"",
				"{}",
				1,
				1,
				ann,
				1,
				ann,
			)
			return err
		})
		r.do(system, "Lead", Op{Kind: Delete, ID: "00000000-0000-4000-8000-000000000998"})
		if err := r.records.Clear(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.checkRemoved(campaigns, counts)
	})
}

// checkRemoved holds the events of all removals against how many members there were, and
// asks that nothing is left.
func (r *rig) checkRemoved(campaigns []string, counts []int) {
	r.Helper()
	removed, last := map[string]map[string]bool{}, map[string]canonical.Stamp{}
	r.See(func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT body FROM outbox_events ORDER BY id") {
			var body []byte
			if err == nil {
				err = row.Scan(&body)
			}
			if err != nil {
				return err
			}
			e, err := events.ParseEvent(body)
			if err != nil {
				return err
			}
			place := e.Version*canonical.Stamp(2*maxRemovals) + canonical.Stamp(e.Index)
			if place <= last[e.Key] {
				r.Errorf("%s of %s comes after a later one", e.Type, e.Key)
			}
			last[e.Key] = place
			if e.Type != "CampaignMemberChanged" {
				continue
			}
			p, err := events.DecodePayload[events.CampaignMemberChanged](&e)
			if err != nil {
				return err
			}
			if removed[p.CampaignID] == nil {
				removed[p.CampaignID] = map[string]bool{}
			}
			if removed[p.CampaignID][p.MemberID] || p.ChangeType != memberRemoved || p.RecordVersion != e.Version {
				r.Errorf("got %+v at %s", p, e.Version)
			}
			removed[p.CampaignID][p.MemberID] = true
		}
		var left int
		if err := tx.Row(ctx, "SELECT (SELECT count(*) FROM records_member) + (SELECT count(*) FROM "+
			"records_removal)").Scan(&left); err != nil ||
			left != 0 {
			r.Errorf("%d are left, %v", left, err)
		}
		return nil
	})
	for i, id := range campaigns {
		if len(removed[id]) != counts[i] {
			r.Errorf("campaign %d: %d removals were published, want %d", i, len(removed[id]), counts[i])
		}
	}
}

// TestOneRemovalThatFailsHoldsUpNoOther has the first one fail for ever.
func TestOneRemovalThatFailsHoldsUpNoOther(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const broken, gone = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
		r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(
				ctx,
				insertRecord,
				tenantA,
				"Campaign",
				broken,
				ann,
				"n",
				"",
				"",
				"no JSON",
				1,
				1,
				ann,
				1,
				ann,
			)
			for tenant, id := range map[string]string{tenantA: broken, tenantB: gone} {
				if err == nil {
					_, err = tx.Exec(ctx, insertRemoval, tenant, "Campaign", id, "test")
				}
			}
			return err
		})
		if err := r.records.Clear(t.Context()); err == nil {
			t.Error("a removal that fails is not reported")
		}
		r.See(func(ctx context.Context, tx *sqldb.Tx) error {
			var left string
			var n int
			err := tx.Row(ctx, "SELECT count(*), min(record_id) FROM records_removal").Scan(&n, &left)
			if err != nil || n != 1 || left != broken {
				t.Errorf("%d are left, %q (%v), want the one that fails", n, left, err)
			}
			return nil
		})
	})
}
