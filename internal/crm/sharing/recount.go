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
	err = s.Read(ctx, "recount", func(ctx context.Context, tx *sqldb.Tx) error {
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

// closure compares the principals of users, and the owners that they reach, with the
// directory, the territories and the models.
func (c *recount) closure(ctx context.Context, now []Model) error {
	tenant := c.model.Tenant
	closed, err := sqldb.Collect(ctx, c.tx, sqldb.Column[string],
		"SELECT closed FROM sharing_tenant WHERE tenant_id = $1 AND closed <> ''", tenant)
	if err != nil || len(closed) == 0 {
		return err // nothing was handled yet: whoever owns a record sees it
	}
	want, err := readClosure(ctx, c.tx, c.model)
	if err != nil {
		return err
	}
	gone, added, err := memberTable.differs(ctx, c.tx, tenant, want.members)
	if err != nil {
		return err
	}
	for _, m := range gone {
		c.say("user %s counts as %s, and is not", m.User, m.Principal)
	}
	for _, m := range added {
		c.say("user %s does not count as %s, and is", m.User, m.Principal)
	}
	less, more, err := reachTable.differs(ctx, c.tx, tenant, want.reach)
	for _, r := range less {
		// What a model that has ended has left is deleted with the next change.
		if r.Model == 0 || slices.ContainsFunc(now, func(m Model) bool { return m.num == r.Model }) {
			c.say("%s reaches records of %s (%s), and should not", r.Principal, r.Owner, r.Cause)
		}
	}
	for _, r := range more {
		c.say("%s does not reach records of %s (%s), and should", r.Principal, r.Owner, r.Cause)
	}
	return err
}

// shares compares the rows of a model with the records.
func (c *recount) shares(ctx context.Context, m *Model) error {
	rows := 0
	for after := ""; ; {
		some, err := c.cfg.Records.Walk(ctx, c.tx, m.tenant, m.Object, after, recountChunk)
		if err != nil {
			return err
		}
		n, err := c.records(ctx, m, some)
		if err != nil {
			return err
		}
		rows += n
		if len(some) < recountChunk {
			break
		}
		after = some[len(some)-1].ID
	}
	var all int
	err := c.tx.Row(ctx, "SELECT count(*) FROM sharing_share WHERE tenant_id = $1 AND model = $2", m.tenant,
		m.num).Scan(&all)
	if err == nil && all != rows {
		c.say("%d rows of %s are of records that do not exist", all-rows, m.Object)
	}
	return err
}

// records compares the rows of some records with what they should have, and gives how many
// they have.
func (c *recount) records(ctx context.Context, m *Model, some []model.Record) (rows int, err error) {
	ids, known := factsOf(some)
	if err := c.addGrants(ctx, c.tx, m.tenant, m.Object, ids, known); err != nil {
		return 0, err
	}
	have, err := sharesIn(ctx, c.tx, m, ids)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		want, err := sharesOf(model.NewJudge(c.tx.Waits), c.model, &m.Setup, known[id])
		if err != nil {
			return 0, err
		}
		gone, added := difference(have[id], want, Share.compare)
		for _, s := range gone {
			c.say("%s %s is shared with %s (%s), and should not be", m.Object, id, s.Grantee, s.Cause)
		}
		for _, s := range added {
			c.say("%s %s is not shared with %s (%s), and should be", m.Object, id, s.Grantee, s.Cause)
		}
		rows += len(have[id])
	}
	return rows, nil
}
