package sharing

import (
	"context"
	"fmt"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// maxDifferences is how many differences a recount names; recountChunk is how many records
// it looks at at a time.
const (
	maxDifferences = 1000
	recountChunk   = 500
)

// recount is what a recount of a tenant has found so far.
type recount struct {
	*Sharing
	tx    *sqldb.Tx
	model *model.Model
	found []string
}

// Recount works out again, in one transaction, who is what and which rows records have
// under the models in force, and says where what is kept is different. Events that wait to
// be handled are such differences.
func (s *Sharing) Recount(ctx context.Context, tenant string) (differences []string, err error) {
	err = s.read(ctx, "sharing.recount", func(ctx context.Context, tx *sqldb.Tx) error {
		m, err := s.cfg.Models.Model(ctx, tx, tenant)
		if err != nil {
			return err
		}
		c := &recount{Sharing: s, tx: tx, model: m}
		now, err := currentModels(ctx, tx, tenant, "")
		if err != nil {
			return err
		}
		if err := c.closure(ctx, now); err != nil {
			return err
		}
		for i := range now {
			if now[i].Status != Active {
				continue // a rebuild fills it
			}
			if err := c.shares(ctx, &now[i]); err != nil {
				return err
			}
		}
		differences = c.found
		return nil
	})
	return differences, fault.Wrap("sharing.recount", err)
}

func (c *recount) say(format string, args ...any) {
	if len(c.found) < maxDifferences {
		c.found = append(c.found, fmt.Sprintf(format, args...))
	}
}

// closure holds the principals of users and the owners that they reach against the
// directory, the territories and the models.
func (c *recount) closure(ctx context.Context, now []Model) error {
	var revision int64
	var closed string
	for row, err := range c.tx.Query(ctx, "SELECT revision, closed FROM sharing_tenant WHERE tenant_id = $1",
		c.model.Tenant) {
		if err == nil {
			err = row.Scan(&revision, &closed)
		}
		if err != nil {
			return err
		}
	}
	if closed == "" {
		return nil // nothing was handled yet: whoever owns a record sees it
	}
	want, err := c.Sharing.closure(ctx, c.tx, c.model)
	if err != nil {
		return err
	}
	members, err := readMembers(ctx, c.tx, c.model.Tenant)
	if err != nil {
		return err
	}
	gone, added := difference(members, want.members, Member.compare)
	for _, m := range gone {
		c.say("user %s counts as %s, and is not", m.User, m.Principal)
	}
	for _, m := range added {
		c.say("user %s does not count as %s, and is", m.User, m.Principal)
	}
	reach, err := readReach(ctx, c.tx, c.model.Tenant)
	if err != nil {
		return err
	}
	// What a model has left that is not used any more goes with the next change.
	reach = slices.DeleteFunc(reach, func(r Reach) bool {
		return r.Model != 0 && !slices.ContainsFunc(now, func(m Model) bool { return m.num == r.Model })
	})
	less, more := difference(reach, want.reach, Reach.compare)
	for _, r := range less {
		c.say("%s reaches records of %s (%s), and should not", r.Principal, r.Owner, r.Cause)
	}
	for _, r := range more {
		c.say("%s does not reach records of %s (%s), and should", r.Principal, r.Owner, r.Cause)
	}
	return nil
}

// shares holds the rows of a model against the records.
func (c *recount) shares(ctx context.Context, m *Model) error {
	rows := 0
	for after := ""; ; {
		some, err := c.cfg.Records.Walk(ctx, c.tx, c.model.Tenant, m.Object, after, recountChunk)
		if err != nil {
			return err
		}
		for i := range some {
			n, err := c.record(ctx, m, some[i].ID)
			if err != nil {
				return err
			}
			rows += n
		}
		if len(some) < recountChunk {
			break
		}
		after = some[len(some)-1].ID
	}
	var all int
	err := c.tx.Row(ctx, "SELECT count(*) FROM sharing_share WHERE tenant_id = $1 AND model = $2", c.model.Tenant,
		m.num).Scan(&all)
	if err == nil && all != rows {
		c.say("%d rows of %s are of records that do not exist", all-rows, m.Object)
	}
	return err
}

// record holds the rows of a record against what it should have, and gives how many it has.
func (c *recount) record(ctx context.Context, m *Model, id string) (int, error) {
	known, err := c.facts(ctx, c.tx, c.model.Tenant, m.Object, []string{id})
	if err != nil {
		return 0, err
	}
	rows, err := sharesIn(ctx, c.tx, c.model.Tenant, m.num, []string{id})
	if err != nil {
		return 0, err
	}
	want, err := sharesOf(model.NewJudge(c.tx.Waits), c.model, &m.Setup, known[id])
	if err != nil {
		return 0, err
	}
	gone, added := difference(rows[id], want, Share.compare)
	for _, s := range gone {
		c.say("%s %s is shared with %s (%s), and should not be", m.Object, id, s.Grantee, s.Cause)
	}
	for _, s := range added {
		c.say("%s %s is not shared with %s (%s), and should be", m.Object, id, s.Grantee, s.Cause)
	}
	return len(rows[id]), nil
}
