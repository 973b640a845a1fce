package rebuild

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
)

// Status is the status of a rebuild.
type Status int

// The statuses. They are part of what is stored.
const (
	Running  Status = 1
	Done     Status = 2
	Canceled Status = 3
)

// String is the status's name in JSON.
func (s Status) String() string { return [...]string{"", "RUNNING", "DONE", "CANCELED"}[s] }

// MaxRebuilds is how many rebuilds of a tenant that have ended stay listed, in each service.
const MaxRebuilds = 20

// Rebuild is a rebuild as a Resource stores it.
type Rebuild struct {
	Num              int64
	Tenant, ID       string
	Object, Cause    string // of a service that tells them; Object "": all
	Status           Status
	Execution        string // "": it is yet to start
	At               Place  // what is done up to
	Processed, Total int    // records; Total is an estimate
	CreatedAt        canonical.Stamp
	EndedAt          canonical.Stamp // 0: not yet
	Memo             any             // what the service remembers from chunk to chunk, in memory
}

// Place is how far a rebuild is: a part, and the last item done there.
type Place struct{ Part, Item string }

// State is how far a rebuild is.
func (b *Rebuild) State() State {
	return State{
		Num: b.Num, Tenant: b.Tenant, Execution: b.Execution, Running: b.Status == Running,
		Processed: b.Processed, Total: b.Total,
	}
}

// Summary is the input and the output of its execution.
func (b *Rebuild) Summary() (flow.Data, error) {
	return json.Marshal(struct {
		ID        string `json:"rebuildId"`
		Object    string `json:"object,omitzero"`
		Processed int    `json:"recordsProcessed"`
	}{b.ID, b.Object, b.Processed})
}

// Resource is the rebuilds of a service: their table, their runner, and handlers that show them. The
// table has num, tenant_id, id, status, execution, processed, total, created_at and ended_at.
type Resource struct {
	*Runner[*Rebuild]
	service *kit.Service
	work    Work
	columns string
}

// Work is what a service does for its rebuilds.
type Work struct {
	Scope    [2]string // the columns of Object and Cause; none when the service has neither
	Position [2]string // the columns of the place
	// Chunk and Sweep are as in Service; a nil Sweep has nothing to do.
	Chunk func(ctx context.Context, b *Rebuild) (done bool, err error)
	Sweep func(ctx context.Context) (more bool, err error)
}

// NewResource is the rebuilds of a service. It does no I/O.
func NewResource(service *kit.Service, cfg Config, work Work) *Resource {
	r := &Resource{service: service, work: work}
	scope := "'', ''"
	if work.Scope[0] != "" {
		scope = work.Scope[0] + ", " + work.Scope[1]
	}
	r.columns = "num, tenant_id, id, status, execution, processed, total, created_at, ended_at, " +
		work.Position[0] + ", " + work.Position[1] + ", " + scope
	r.Runner = New(service.DB, cfg, Service[*Rebuild](stored{r}))
	return r
}

// Select gives those rebuilds that a condition over the table selects.
func (r *Resource) Select(ctx context.Context, tx *sqldb.Tx, where string, args ...any) (all []*Rebuild, err error) {
	for row, err := range tx.Query(ctx, "SELECT "+r.columns+" FROM "+r.cfg.Table+" WHERE "+where, args...) {
		b := &Rebuild{}
		var status int64
		if err == nil {
			err = row.Scan(&b.Num, &b.Tenant, &b.ID, &status, &b.Execution, &b.Processed, &b.Total, &b.CreatedAt,
				&b.EndedAt, &b.At.Part, &b.At.Item, &b.Object, &b.Cause)
		}
		if err != nil {
			return nil, err
		}
		b.Status = Status(status)
		all = append(all, b)
	}
	return all, nil
}

// List gives the rebuilds of a tenant, newest first.
func (r *Resource) List(ctx context.Context, tenant string) (all []*Rebuild, err error) {
	err = r.service.Read(ctx, "rebuilds", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		all, err = r.Select(ctx, tx, "tenant_id = $1 ORDER BY num DESC", tenant)
		return err
	})
	return all, err
}

// Get is a rebuild by its id.
func (r *Resource) Get(ctx context.Context, tenant, id string) (b *Rebuild, err error) {
	err = r.service.Read(ctx, "rebuilds", func(ctx context.Context, tx *sqldb.Tx) error {
		found, err := r.Select(ctx, tx, "tenant_id = $1 AND id = $2", tenant, id)
		if err == nil && len(found) == 0 {
			err = fault.New(fault.NotFound, "REBUILD_NOT_FOUND", "there is no rebuild %q", id)
		}
		if err == nil {
			b = found[0]
		}
		return err
	})
	return b, err
}

// Begin stores a rebuild, which Run starts, and gives its id. Of b it takes the tenant, object and
// cause, the place at which it begins, and the total.
func (r *Resource) Begin(ctx context.Context, tx *sqldb.Tx, b Rebuild) (id string, err error) {
	at, err := r.service.Now(ctx, tx)
	if err != nil {
		return "", err
	}
	id = uuid.NewString()
	columns, values := "", ""
	args := []any{b.Tenant, id, b.At.Part, b.At.Item, b.Total, at}
	if r.work.Scope[0] != "" {
		columns, values = ", "+r.work.Scope[0]+", "+r.work.Scope[1], ", $7, $8"
		args = append(args, b.Object, b.Cause)
	}
	tx.OnCommit(r.Wake)
	return id, tx.Batch(ctx, sqldb.Stmt{
		Query: "INSERT INTO " + r.cfg.Table + " (tenant_id, id, " + r.work.Position[0] + ", " + r.work.Position[1] +
			", total, created_at, status, execution, processed, ended_at" + columns +
			") VALUES ($1, $2, $3, $4, $5, $6, 1, '', 0, 0" + values + ")",
		Args: args,
	}, sqldb.Stmt{
		Query: "DELETE FROM " + r.cfg.Table + " WHERE tenant_id = $1 AND status > 1 AND num <= (SELECT num FROM " +
			r.cfg.Table + " WHERE tenant_id = $1 ORDER BY num DESC LIMIT 1 OFFSET $2)",
		Args: []any{b.Tenant, MaxRebuilds},
	})
}

// SetProgress stores how far a rebuild is. ErrGone: it has ended, or somebody else has done these records.
func (r *Resource) SetProgress(ctx context.Context, tx *sqldb.Tx, b *Rebuild, to Place, processed int) error {
	part, item := r.work.Position[0], r.work.Position[1]
	return r.update(ctx, tx, "UPDATE "+r.cfg.Table+" SET "+part+" = $3, "+item+
		" = $4, processed = $5 WHERE num = $1 AND tenant_id = $2 AND status = 1 AND "+part+" = $6 AND "+item+" = $7",
		b.Num, b.Tenant, to.Part, to.Item, processed, b.At.Part, b.At.Item)
}

// update is a statement about a rebuild that is running.
func (*Resource) update(ctx context.Context, tx *sqldb.Tx, query string, args ...any) error {
	n, err := tx.Exec(ctx, query, args...)
	if err == nil && n == 0 {
		err = ErrGone
	}
	return err
}

// stored is a Resource as its Runner knows it.
type stored struct{ *Resource }

func (s stored) Now(ctx context.Context, tx *sqldb.Tx) (canonical.Stamp, error) {
	return s.service.Now(ctx, tx)
}

func (s stored) Jobs(ctx context.Context, tx *sqldb.Tx, where string, args ...any) ([]*Rebuild, error) {
	return s.Select(ctx, tx, where, args...)
}

func (s stored) Chunk(ctx context.Context, b *Rebuild) (bool, error) { return s.work.Chunk(ctx, b) }

func (s stored) Finish(ctx context.Context, tx *sqldb.Tx, b *Rebuild) error {
	return s.end(ctx, tx, b, Done)
}

func (s stored) GiveUp(ctx context.Context, tx *sqldb.Tx, b *Rebuild) error {
	return s.end(ctx, tx, b, Canceled)
}

func (s stored) Sweep(ctx context.Context) (more bool, err error) {
	if s.work.Sweep != nil {
		more, err = s.work.Sweep(ctx)
	}
	return more, err
}

func (s stored) end(ctx context.Context, tx *sqldb.Tx, b *Rebuild, status Status) error {
	at, err := s.service.Now(ctx, tx)
	if err != nil {
		return err
	}
	return s.update(ctx, tx, "UPDATE "+s.cfg.Table+
		" SET status = $3, ended_at = $4 WHERE num = $1 AND tenant_id = $2 AND status = 1",
		b.Num, b.Tenant, int64(status), at)
}

// view is a rebuild as it is shown.
type view struct {
	RebuildID        string          `json:"rebuildId"`
	Object           string          `json:"object,omitzero"`
	Cause            string          `json:"cause,omitzero"`
	Status           string          `json:"status"`
	ExecutionID      string          `json:"executionId,omitzero"`
	RecordsProcessed int             `json:"recordsProcessed"`
	RecordsTotal     int             `json:"recordsTotal"`
	CreatedAt        canonical.Stamp `json:"createdAt"`
	EndedAt          canonical.Stamp `json:"endedAt,omitzero"`
}

func show(b **Rebuild) view {
	return view{
		RebuildID: (*b).ID, Object: (*b).Object, Cause: (*b).Cause, Status: (*b).Status.String(),
		ExecutionID: (*b).Execution, RecordsProcessed: (*b).Processed, RecordsTotal: (*b).Total,
		CreatedAt: (*b).CreatedAt, EndedAt: (*b).EndedAt,
	}
}

// ServeList answers with the rebuilds of the caller's tenant.
func (r *Resource) ServeList(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	all, err := r.List(ctx, c.Principal.Tenant)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.Show(p, rest.Cut(p, all), len(all), show)}, nil
}

// ServeGet answers with the rebuild that the path names by its id.
func (r *Resource) ServeGet(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	b, err := r.Get(ctx, c.Principal.Tenant, c.Path("id"))
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: show(&b)}, nil
}

// Accepted answers a request for a rebuild.
func Accepted(id string, err error) (gate.Reply, error) {
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Status: http.StatusAccepted, Body: struct {
		RebuildID string `json:"rebuildId"`
	}{id}}, nil
}
