package reporting

import (
	"context"
	"slices"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// GraphPrefix begins the ids of graphs of reporting.
const GraphPrefix = service + ":"

// Rebuild starts a rebuild of facts and counts and gives its id. A running one is the answer: there is
// never a second. A request with a key is executed once; replay says that it was before.
func (s *Reporting) Rebuild(
	ctx context.Context,
	tenant string,
	key *canonical.IdempotencyKey,
) (id string, replay bool, err error) {
	return s.runs.Request(ctx, tenant, key, func(ctx context.Context, tx *sqldb.Tx) (string, error) {
		if err := hold(ctx, tx, tenant); err != nil {
			return "", err
		}
		running, err := s.runs.Select(ctx, tx, "tenant_id = $1 AND status = 1", tenant)
		if err != nil {
			return "", err
		}
		if len(running) > 0 {
			return running[0].ID, nil
		}
		total, err := s.size(ctx, tx, tenant)
		if err != nil {
			return "", err
		}
		return s.runs.Begin(ctx, tx, rebuild.Rebuild{
			Tenant: tenant, At: rebuild.Place{Part: s.parts()[0].name}, Total: total,
		})
	})
}

// size is about how much a rebuild looks at.
func (s *Reporting) size(ctx context.Context, tx *sqldb.Tx, tenant string) (total int, err error) {
	for _, object := range []string{objOpportunity, objLead} {
		n, err := s.cfg.Records.Count(ctx, tx, tenant, object)
		if err != nil {
			return 0, err
		}
		total += n
	}
	for _, table := range []string{"reporting_member", "reporting_approval"} {
		var n int
		if err := tx.Row(ctx, "SELECT count(*) FROM "+table+" WHERE tenant_id = $1", tenant).Scan(&n); err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// chunk does some more of a rebuild: first the facts, part by part, and then the counts.
func (s *Reporting) chunk(ctx context.Context, b *rebuild.Rebuild) (done bool, err error) {
	all := s.parts()
	at := max(slices.IndexFunc(all, func(p part) bool { return p.name == b.At.Part }), 0)
	p := &all[at]
	if p.sums != nil && gapOf(b) == nil {
		if b.Memo, err = s.compare(ctx, b.Tenant, p.sums); err != nil {
			b.Memo = nil
			return false, err
		}
	}
	next := *b
	err = s.Write(ctx, "chunk", func(ctx context.Context, tx *sqldb.Tx) error {
		next = *b
		if err := hold(ctx, tx, b.Tenant); err != nil {
			return err
		}
		step, err := p.do(ctx, tx, b, s.cfg.limits.chunk)
		if err != nil {
			return err
		}
		next.Processed += step.looked
		next.At.Item, next.Memo = step.place, step.left
		if done = step.over && at == len(all)-1; step.over && !done {
			next.At, next.Memo = rebuild.Place{Part: all[at+1].name}, nil
		}
		return s.runs.SetProgress(ctx, tx, b, next.At, next.Processed)
	})
	if err != nil {
		return false, err
	}
	*b = next
	return done, nil
}

// gapOf is what the counts of the present part of a rebuild lack; nil: it is not known.
func gapOf(b *rebuild.Rebuild) *gap {
	g, _ := b.Memo.(*gap)
	return g
}
