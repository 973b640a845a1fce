package reporting

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// maxDifferences is how many differences a recount names; walkSize is how many records it
// looks at at a time.
const (
	maxDifferences = 1000
	walkSize       = 1000
)

// recount is a count of everything from the records.
type recount struct {
	*Reporting
	tx     *sqldb.Tx
	tenant string
	counts deltas
	found  []string
}

// Recount counts a tenant anew from its records, in one transaction, and names the differences to what is
// stored. Events that wait to be handled are such differences.
func (s *Reporting) Recount(ctx context.Context, tenant string) (differences []string, err error) {
	err = s.Read(ctx, "recount", func(ctx context.Context, tx *sqldb.Tx) error {
		c := &recount{Reporting: s, tx: tx, tenant: tenant, counts: deltas{}}
		for _, part := range []func(context.Context) error{
			func(ctx context.Context) error { return recountFacts(ctx, c, &opportunityFacts) },
			func(ctx context.Context) error { return recountFacts(ctx, c, &leadFacts) },
			c.members, c.approvals, c.compare,
		} {
			if err := part(ctx); err != nil {
				return err
			}
		}
		differences = c.found
		return nil
	})
	return differences, err
}

func (c *recount) say(format string, args ...any) {
	if len(c.found) < maxDifferences {
		c.found = append(c.found, fmt.Sprintf(format, args...))
	}
}

// recountFacts compares the facts of records with the records.
func recountFacts[T comparable](ctx context.Context, c *recount, t *factTable[T]) error {
	kept, err := t.read(ctx, c.tx, "", c.tenant)
	if err != nil {
		return err
	}
	err = walk(func(after model.Record) ([]model.Record, error) {
		return c.cfg.Records.Walk(ctx, c.tx, c.tenant, t.object, after.ID, walkSize)
	}, func(r *model.Record) error {
		want := t.of(r)
		t.counted(want, c.counts, 1)
		got := kept[r.ID]
		if delete(kept, r.ID); got == nil {
			c.say("%s %s is not counted", t.object, r.ID)
			return nil
		}
		*t.version(got) = *t.version(want)
		if *got != *want {
			c.say("%s %s is counted as %+v, and is %+v", t.object, r.ID, *got, *want)
		}
		return nil
	})
	if err == nil {
		gone(c, t.object, kept)
	}
	return err
}

// gone names what is counted but does not exist.
func gone[T any](c *recount, object string, kept map[string]T) {
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		c.say("%s %s is counted, and does not exist", object, id)
	}
}

// walk gives all rows of a list that is read in pages, each after the last row of the one before.
func walk[T any](page func(after T) ([]T, error), each func(*T) error) error {
	for after := *new(T); ; {
		some, err := page(after)
		if err != nil {
			return err
		}
		for i := range some {
			if err := each(&some[i]); err != nil {
				return err
			}
		}
		if len(some) < walkSize {
			return nil
		}
		after = some[len(some)-1]
	}
}

// members compares the facts of members with campaigns and leads.
func (c *recount) members(ctx context.Context) error {
	all, err := members(ctx, c.tx, "", c.tenant)
	if err != nil {
		return err
	}
	kept := make(map[[3]string]member, len(all))
	for _, m := range all {
		kept[m.at()] = m
	}
	err = walk(func(after model.CampaignMember) ([]model.CampaignMember, error) {
		return c.cfg.Records.Members(ctx, c.tx, c.tenant, after, walkSize)
	}, func(m *model.CampaignMember) error { return c.member(ctx, m, kept) })
	if err != nil {
		return err
	}
	for _, m := range all {
		if _, left := kept[m.at()]; left {
			c.say("%s %s is counted in campaign %s, and is not in it", m.kind, m.id, m.campaign)
		}
	}
	return nil
}

func (c *recount) member(ctx context.Context, found *model.CampaignMember, kept map[[3]string]member) error {
	l, err := c.leadOfMember(ctx, c.tx, c.tenant, found)
	if err != nil {
		return err
	}
	want := memberOf(found, l)
	want.counted(c.counts, 1)
	if got, ok := kept[want.at()]; !ok {
		c.say("%s %s is not counted in campaign %s", want.kind, want.id, want.campaign)
	} else if got != *want {
		c.say("%s %s is counted in campaign %s as %+v, and is %+v", want.kind, want.id, want.campaign, got, *want)
	}
	delete(kept, want.at())
	return nil
}

// approvals compares what is stored of approvals with them. Those of deleted records stay, and are not
// shown.
func (c *recount) approvals(ctx context.Context) error {
	if c.cfg.Approvals == nil {
		return nil
	}
	kept, err := approvalsIn(ctx, c.tx, "", c.tenant)
	if err != nil {
		return err
	}
	err = walk(func(after model.Approval) ([]model.Approval, error) {
		return c.cfg.Approvals.Walk(ctx, c.tx, c.tenant, after.ID, walkSize)
	}, func(want *model.Approval) error {
		got, ok := kept[want.ID]
		if delete(kept, want.ID); !ok {
			c.say("approval %s of %s %s is not counted", want.ID, want.Object, want.RecordID)
		} else if got != *want {
			c.say("approval %s is counted as %+v, and is %+v", want.ID, got, *want)
		}
		return nil
	})
	if err != nil {
		return err
	}
	gone(c, "approval", kept)
	return nil
}

// approvalsIn is what is stored of approvals, by id; and is more of the condition.
func approvalsIn(ctx context.Context, tx *sqldb.Tx, and string, args ...any) (map[string]model.Approval, error) {
	kept := map[string]model.Approval{}
	for row, err := range tx.Query(ctx, "SELECT "+approvalColumns+" FROM reporting_approval WHERE tenant_id = $1"+and,
		args...) {
		var a model.Approval
		if err == nil {
			err = row.Scan(&a.ID, &a.Object, &a.RecordID, &a.SubmittedBy, &a.SubmittedAt, &a.Decision, &a.DecidedAt)
		}
		if err != nil {
			return nil, err
		}
		kept[a.ID] = a
	}
	return kept, nil
}

// compare compares the counts with those of the recount.
func (c *recount) compare(ctx context.Context) error {
	err := eachCount(ctx, c.tx, c.tenant, " ORDER BY cube, owner_id, k1, k2, k3", func(k key, got tally) {
		if want := c.counts[k]; got != want {
			c.differ(k, got, want)
		}
		delete(c.counts, k)
	})
	for _, k := range slices.SortedFunc(maps.Keys(c.counts), key.compare) {
		c.differ(k, tally{}, c.counts[k])
	}
	return err
}

func (c *recount) differ(k key, got, want tally) {
	c.say("the count %s of owner %q, %q %q %q, is %d (%s, weighted %s), and should be %d (%s, weighted %s)", k.cube,
		k.owner, k.k1, k.k2, k.k3,
		got.n, got.amount, got.weighted, want.n, want.amount, want.weighted)
}
