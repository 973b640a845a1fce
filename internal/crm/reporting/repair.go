package reporting

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// Facts and counts are repaired in two steps, while events continue to be handled.
//
// Facts are compared with the records, a chunk at a time, under the lock of the tenant: what differs is
// counted anew, as an event would have it. A record that changes afterwards has an event.
//
// Counts are compared with the facts in one view of both. Whoever writes a fact writes the same
// difference to the counts, in one transaction. So what the counts lack of the sum of the facts stays
// the same, however many events are handled meanwhile, and can be added afterwards, in a transaction
// that reads nothing. It is never added twice: a tenant has one rebuild at a time, and the place of a
// rebuild moves with what is added.

// part is a part of a rebuild. do does some of it, under the lock of the tenant.
type part struct {
	name string
	do   func(ctx context.Context, tx *sqldb.Tx, b *rebuild.Rebuild, limit int) (step, error)
	sums *sums // of a part that is about counts
}

// step is how far a part got.
type step struct {
	place  string
	looked int
	over   bool // there is no more
	left   *gap // of counts: what is yet to be added
}

// parts are the parts of a rebuild, in their order. A lead is put right before the members
// that it is, which are counted by its owner.
func (s *Reporting) parts() []part {
	all := []part{
		{name: "opportunities", do: repairFacts(s, &opportunityFacts)},
		{name: "leads", do: repairFacts(s, &leadFacts)},
		{name: "members", do: s.repairMembers},
	}
	if s.cfg.Approvals != nil {
		all = append(all, part{name: "approvals", do: s.repairApprovals})
	}
	return append(all,
		part{name: "opportunity counts", do: addMissing, sums: &sums{opportunityFacts.sum, "cube IN ('" + stageCube +
			"', '" + monthCube + "', '" + campaignCube + "')"}},
		part{name: "lead counts", do: addMissing, sums: &sums{leadFacts.sum, "cube = '" + leadCube + "'"}},
		part{name: "member counts", do: addMissing, sums: &sums{sumMembers, "cube NOT IN ('" + stageCube + "', '" +
			monthCube + "', '" + campaignCube + "', '" + leadCube + "')"}},
	)
}

// between is a condition over ids after the place of a chunk ($2) and up to its last ($3); "" has no
// end.
const between = " AND id > $2 AND ($3 = '' OR id <= $3)"

// repairFacts refreshes the facts of some records that are not what the records say.
func repairFacts[T comparable](s *Reporting, of *factTable[T]) func(
	context.Context, *sqldb.Tx, *rebuild.Rebuild, int,
) (step, error) {
	return func(ctx context.Context, tx *sqldb.Tx, b *rebuild.Rebuild, limit int) (step, error) {
		records, err := s.cfg.Records.Walk(ctx, tx, b.Tenant, of.object, b.At.Item, limit)
		if err != nil {
			return step{}, err
		}
		got := step{looked: len(records), over: len(records) < limit}
		if !got.over {
			got.place = records[len(records)-1].ID
		}
		kept, err := of.read(ctx, tx, between, b.Tenant, b.At.Item, got.place)
		if err != nil {
			return step{}, err
		}
		var wrong []string
		for i := range records {
			id := records[i].ID
			if has := kept[id]; has == nil || *has != *of.of(&records[i]) {
				wrong = append(wrong, id)
			}
			delete(kept, id)
		}
		wrong = append(wrong, slices.Sorted(maps.Keys(kept))...) // what is left is of records that are gone
		for some := range slices.Chunk(wrong, limit) {
			if err := s.refreshAll(ctx, tx, b.Tenant, of.object, some); err != nil {
				return step{}, err
			}
		}
		return got, nil
	}
}

// repairMembers counts members of campaigns anew that are counted as something else.
func (s *Reporting) repairMembers(ctx context.Context, tx *sqldb.Tx, b *rebuild.Rebuild, limit int) (step, error) {
	from := memberAt(b.At.Item)
	found, err := s.cfg.Records.Members(ctx, tx, b.Tenant, model.CampaignMember{
		CampaignID: from[0],
		MemberType: from[1], MemberID: from[2],
	}, limit)
	if err != nil {
		return step{}, err
	}
	got, to := step{looked: len(found), over: len(found) < limit}, [3]string{}
	if !got.over {
		to = memberOf(&found[len(found)-1], nil).at()
		got.place = strings.Join(to[:], "/")
	}
	have, err := members(ctx, tx, ` AND (campaign_id, member_type, member_id) > ($2, $3, $4)
		AND ($5 = '' OR (campaign_id, member_type, member_id) <= ($5, $6, $7))`, b.Tenant, from[0], from[1], from[2],
		to[0], to[1], to[2])
	if err != nil {
		return step{}, err
	}
	kept := make(map[[3]string]member, len(have))
	for _, m := range have {
		kept[m.at()] = m
	}
	for i := range found {
		l, err := s.leadOfMember(ctx, tx, b.Tenant, &found[i])
		if err != nil {
			return step{}, err
		}
		if want := memberOf(&found[i], l); kept[want.at()] == *want {
			delete(kept, want.at())
		} else {
			kept[want.at()] = *want
		}
	}
	for _, m := range slices.SortedFunc(maps.Values(kept), member.compare) {
		if err := s.refreshMember(ctx, tx, b.Tenant, m.campaign, m.kind, m.id); err != nil {
			return step{}, err
		}
	}
	return got, nil
}

// memberAt reads a place among members.
func memberAt(place string) (at [3]string) {
	copy(at[:], strings.SplitN(place, "/", len(at)))
	return at
}

// repairApprovals notes approvals as they are.
func (s *Reporting) repairApprovals(ctx context.Context, tx *sqldb.Tx, b *rebuild.Rebuild, limit int) (step, error) {
	found, err := s.cfg.Approvals.Walk(ctx, tx, b.Tenant, b.At.Item, limit)
	if err != nil {
		return step{}, err
	}
	got := step{looked: len(found), over: len(found) < limit}
	if !got.over {
		got.place = found[len(found)-1].ID
	}
	kept, err := approvalsIn(ctx, tx, between, b.Tenant, b.At.Item, got.place)
	if err != nil {
		return step{}, err
	}
	var stmts []sqldb.Stmt
	for i := range found {
		a := &found[i]
		if has, ok := kept[a.ID]; !ok || has != *a {
			stmts = append(stmts, sqldb.Stmt{Query: putApproval, Args: []any{
				b.Tenant, a.ID, a.Object, a.RecordID,
				a.SubmittedBy, a.SubmittedAt, a.Decision, a.DecidedAt,
			}})
		}
		delete(kept, a.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		stmts = append(stmts, sqldb.Stmt{
			Query: "DELETE FROM reporting_approval WHERE tenant_id = $1 AND id = $2",
			Args:  []any{b.Tenant, id},
		})
	}
	if len(stmts) == 0 {
		return got, nil
	}
	return got, tx.Batch(ctx, stmts...)
}

// sums is how some counts are worked out from facts, and which these are.
type sums struct {
	add   func(ctx context.Context, tx *sqldb.Tx, tenant string, to deltas) error
	cubes string // a condition over reporting_count
}

// gap is what counts lack of the sums of the facts.
type gap struct {
	keys []key // in their order
	of   deltas
}

// compare finds what some counts lack, in one view of facts and counts.
func (s *Reporting) compare(ctx context.Context, tenant string, of *sums) (*gap, error) {
	var lack deltas
	err := s.Read(ctx, "compare", func(ctx context.Context, tx *sqldb.Tx) error {
		lack = deltas{}
		if err := of.add(ctx, tx, tenant, lack); err != nil {
			return err
		}
		return eachCount(ctx, tx, tenant, " AND "+of.cubes, func(k key, t tally) { lack[k] = lack[k].plus(t, -1) })
	})
	maps.DeleteFunc(lack, func(_ key, t tally) bool { return t == tally{} })
	return &gap{slices.SortedFunc(maps.Keys(lack), key.compare), lack}, err
}

// addMissing adds some of what counts lack.
func addMissing(ctx context.Context, tx *sqldb.Tx, b *rebuild.Rebuild, limit int) (step, error) {
	lack, some := gapOf(b), deltas{}
	n := min(limit, len(lack.keys))
	for _, k := range lack.keys[:n] {
		some[k] = lack.of[k]
	}
	times, _ := strconv.Atoi(b.At.Item)
	got := step{place: strconv.Itoa(times + 1), over: n == len(lack.keys), left: &gap{lack.keys[n:], lack.of}}
	if n == 0 {
		return got, nil
	}
	return got, tx.Batch(ctx, some.statements(tx, b.Tenant)...)
}

func sumMembers(ctx context.Context, tx *sqldb.Tx, tenant string, to deltas) error {
	all, err := members(ctx, tx, "", tenant)
	for i := range all {
		all[i].counted(to, 1)
	}
	return err
}
