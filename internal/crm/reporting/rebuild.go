package reporting

import (
	"context"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/flow"
)

// GraphPrefix begins the ids of graphs of reporting.
const GraphPrefix = "reporting:"

// Status is what a rebuild is.
type Status int

// The statuses. They are part of what is stored.
const (
	Running  Status = 1
	Done     Status = 2
	Canceled Status = 3
)

// String is the status's name in JSON.
func (s Status) String() string { return [...]string{"", "RUNNING", "DONE", "CANCELED"}[s] }

// MaxRebuilds is how many rebuilds of a tenant that have ended are kept to be looked at.
const MaxRebuilds = 20

// Rebuild is what is counted of a tenant, held against its records and put right.
type Rebuild struct {
	ID        string
	Status    Status
	Execution string // "": it is yet to start
	Processed int    // records, members and approvals
	Total     int    // about how many there are
	CreatedAt wire.Stamp
	EndedAt   wire.Stamp // 0: not yet

	num       int64
	tenant    string
	part      string // where it is, and how far in there
	place     string
	different *gap // what the counts of that part lack; nil: it is not known
}

const rebuildColumns = "num, tenant_id, id, status, execution, part, place, processed, total, created_at, ended_at"

// rebuilds are those that a condition selects.
func rebuilds(ctx context.Context, tx *sqldb.Tx, where string, args ...any) (all []*Rebuild, err error) {
	for row, err := range tx.Query(ctx, "SELECT "+rebuildColumns+" FROM reporting_rebuild WHERE "+where, args...) {
		b := &Rebuild{}
		var status int64
		if err == nil {
			err = row.Scan(&b.num, &b.tenant, &b.ID, &status, &b.Execution, &b.part, &b.place, &b.Processed, &b.Total,
				&b.CreatedAt, &b.EndedAt)
		}
		if err != nil {
			return nil, err
		}
		b.Status = Status(status)
		all = append(all, b)
	}
	return all, nil
}

// Rebuild starts a rebuild of what is counted and gives its id. One that is under way is the
// answer: there is never a second. A request with a key is done once; replay says that it
// was before.
func (s *Reporting) Rebuild(ctx context.Context, tenant string, key *wire.Once) (id string, replay bool, err error) {
	return s.runs.Request(ctx, tenant, key, func(ctx context.Context, tx *sqldb.Tx) (string, error) {
		return s.request(ctx, tx, tenant)
	})
}

// request makes a rebuild, which Run starts.
func (s *Reporting) request(ctx context.Context, tx *sqldb.Tx, tenant string) (string, error) {
	if err := hold(ctx, tx, tenant); err != nil {
		return "", err
	}
	under, err := rebuilds(ctx, tx, "tenant_id = $1 AND status = 1", tenant)
	if err != nil {
		return "", err
	}
	if len(under) > 0 {
		return under[0].ID, nil
	}
	at, err := s.now(ctx, tx)
	if err != nil {
		return "", err
	}
	total, err := s.size(ctx, tx, tenant)
	if err != nil {
		return "", err
	}
	id := uuid.NewString()
	_, err = tx.Exec(ctx, `INSERT INTO reporting_rebuild (tenant_id, id, status, execution, part, place, processed, total, created_at, ended_at)
		VALUES ($1, $2, 1, '', $3, '', 0, $4, $5, 0)`, tenant, id, s.parts()[0].name, total, at)
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(ctx, `DELETE FROM reporting_rebuild WHERE tenant_id = $1 AND status > 1 AND num <=
		(SELECT num FROM reporting_rebuild WHERE tenant_id = $1 ORDER BY num DESC LIMIT 1 OFFSET $2)`, tenant,
		MaxRebuilds)
	tx.OnCommit(s.runs.Wake)
	return id, err
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

// ListRebuilds are the rebuilds of a tenant, from the newest on.
func (s *Reporting) ListRebuilds(ctx context.Context, tenant string) (all []*Rebuild, err error) {
	err = fault.Wrap("reporting.rebuilds", s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		all, err = rebuilds(ctx, tx, "tenant_id = $1 ORDER BY num DESC", tenant)
		return err
	}))
	return all, err
}

// GetRebuild is a rebuild by its id.
func (s *Reporting) GetRebuild(ctx context.Context, tenant, id string) (b *Rebuild, err error) {
	err = fault.Wrap("reporting.rebuilds", s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		found, err := rebuilds(ctx, tx, "tenant_id = $1 AND id = $2", tenant, id)
		if err == nil && len(found) == 0 {
			err = fault.New(fault.NotFound, "REBUILD_NOT_FOUND", "there is no rebuild %q", id)
		}
		if err == nil {
			b = found[0]
		}
		return err
	}))
	return b, err
}

// Run rebuilds, and keeps facts in memory, until ctx ends; what is under way goes on at the
// next start.
func (s *Reporting) Run(ctx context.Context) {
	var beside sync.WaitGroup
	beside.Go(func() { s.mirror(ctx) })
	s.runs.Run(ctx)
	beside.Wait()
}

// State is how far a rebuild is.
func (b *Rebuild) State() rebuild.State {
	return rebuild.State{
		Num: b.num, Tenant: b.tenant, Execution: b.Execution, Running: b.Status == Running,
		Processed: b.Processed, Total: b.Total,
	}
}

// Summary is what its execution is started with, and what it ends with.
func (b *Rebuild) Summary() (flow.Data, error) {
	return json.Marshal(struct {
		ID        string `json:"rebuildId"`
		Processed int    `json:"recordsProcessed"`
	}{b.ID, b.Processed})
}

// rebuilder is reporting as those know it who run its rebuilds.
type rebuilder struct{ *Reporting }

func (s rebuilder) Now(ctx context.Context, tx *sqldb.Tx) (wire.Stamp, error) { return s.now(ctx, tx) }

func (rebuilder) Jobs(ctx context.Context, tx *sqldb.Tx, where string, args ...any) ([]*Rebuild, error) {
	return rebuilds(ctx, tx, where, args...)
}

func (s rebuilder) Finish(ctx context.Context, tx *sqldb.Tx, b *Rebuild) error {
	return s.end(ctx, tx, b, Done)
}

func (s rebuilder) GiveUp(ctx context.Context, tx *sqldb.Tx, b *Rebuild) error {
	return s.end(ctx, tx, b, Canceled)
}

// Sweep has nothing to do beside the rebuilds.
func (rebuilder) Sweep(context.Context) (bool, error) { return false, nil }

// end notes that a rebuild has ended.
func (s *Reporting) end(ctx context.Context, tx *sqldb.Tx, b *Rebuild, status Status) error {
	at, err := s.now(ctx, tx)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, "UPDATE reporting_rebuild SET status = $3, ended_at = $4 WHERE num = $1 AND tenant_id = "+
		"$2 AND status = 1", b.num, b.tenant, int64(status), at)
	if err == nil && n == 0 {
		err = rebuild.ErrGone
	}
	return err
}

// Chunk does some more of a rebuild: first the facts, part by part, and then the counts.
func (s rebuilder) Chunk(ctx context.Context, b *Rebuild) (done bool, err error) {
	all := s.parts()
	at := max(slices.IndexFunc(all, func(p part) bool { return p.name == b.part }), 0)
	p := &all[at]
	if p.sums != nil && b.different == nil {
		found, err := s.compare(ctx, b.tenant, p.sums)
		if err != nil {
			return false, err
		}
		b.different = found
	}
	next := *b
	err = s.write(ctx, "reporting.chunk", func(ctx context.Context, tx *sqldb.Tx) error {
		next = *b
		if err := hold(ctx, tx, b.tenant); err != nil {
			return err
		}
		step, err := p.do(ctx, tx, b, s.cfg.limits.chunk)
		if err != nil {
			return err
		}
		next.Processed += step.looked
		next.place, next.different = step.place, step.left
		if done = step.over && at == len(all)-1; step.over && !done {
			next.part, next.place, next.different = all[at+1].name, "", nil
		}
		n, err := tx.Exec(ctx, `UPDATE reporting_rebuild SET part = $5, place = $6, processed = $7
			WHERE num = $1 AND tenant_id = $2 AND status = 1 AND part = $3 AND place = $4`, b.num, b.tenant, b.part,
			b.place, next.part, next.place, next.Processed)
		if err == nil && n == 0 {
			err = rebuild.ErrGone
		}
		return err
	})
	if err != nil {
		return false, err
	}
	*b = next
	return done, nil
}
