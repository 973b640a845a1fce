package recheck

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Progress is a request as readers see it, with a page of its items.
type Progress struct {
	RequestID string          `json:"request_id"`
	Status    Status          `json:"status"`
	DryRun    bool            `json:"dry_run"`
	Window    window          `json:"window"`
	Reason    string          `json:"reason"`
	TraceID   string          `json:"trace_id,omitzero"`
	Total     int             `json:"total"`
	Counts    Counts          `json:"counts"` // of all items
	Items     []Item          `json:"items"`
	Page      int             `json:"page"`
	PageSize  int             `json:"page_size"`
	Matching  int             `json:"matching"` // items that the filter wants, on all pages
	CreatedAt canonical.Stamp `json:"created_at"`
	UpdatedAt canonical.Stamp `json:"updated_at"`
}

// Counts are how many items are in each status: an object with the names of all.
type Counts [itemStatuses]int

// MarshalJSONTo writes the object.
func (c Counts) MarshalJSONTo(enc *jsontext.Encoder) error {
	err := enc.WriteToken(jsontext.BeginObject)
	for status, n := range c {
		err = errors.Join(err, enc.WriteToken(jsontext.String(ItemStatusNames[status])),
			enc.WriteToken(jsontext.Int(int64(n))))
	}
	return errors.Join(err, enc.WriteToken(jsontext.EndObject))
}

// Item is one strategy of a request.
type Item struct {
	Strategy string         `json:"strategy"`
	Status   ItemStatus     `json:"status"`
	Result   jsontext.Value `json:"result,omitzero"` // an object
	Error    *Failure       `json:"error,omitzero"`
}

// ItemFilter is which items are wanted, and which page of them. No Status: all are.
type ItemFilter struct {
	Status []ItemStatus
	Offset int
	Limit  int
}

// mask has a bit for each status that is wanted.
func (f *ItemFilter) mask() (bits int64) {
	for _, s := range f.Status {
		bits |= 1 << s
	}
	if len(f.Status) == 0 {
		bits = 1<<itemStatuses - 1
	}
	return bits
}

// Progress reads a request. What is known of the batch that runs comes from its
// execution: a strategy shows its result as soon as it has one.
func (r *Rechecks) Progress(ctx context.Context, tenant, id string, f ItemFilter) (p Progress, err error) {
	b, err := r.open(ctx, tenant, id)
	if err == nil {
		err = r.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
			p, err = b.read(ctx, tx, &f)
			return err
		})
	}
	return p, fault.Wrap("recheck.progress", err)
}

// board is a request and what the execution of its batch says.
type board struct {
	tenant    string
	q         request
	low, high int // its batch is the items above low, up to high; none when they are equal
	names     []string
	live      []outcome
	touched   canonical.Stamp // when one of them last changed
	began     bool
}

// open reads a request and, if one runs, the execution of its batch. The execution only
// ever goes on, so what is read of the request before is not contradicted by it.
func (r *Rechecks) open(ctx context.Context, tenant, id string) (*board, error) {
	b := &board{tenant: tenant}
	err := r.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		if b.q, err = find(ctx, tx, tenant, id, ""); err != nil || b.q.execution == "" {
			return err
		}
		b.low, b.high = b.q.span()
		b.names, err = strategiesOf(ctx, tx, tenant, id, b.low, b.high)
		return err
	})
	if err != nil || b.q.execution == "" {
		return b, err
	}
	_, b.live, err = r.batch(ctx, tenant, b.q.execution, b.high-b.low, r.shown)
	for i := range b.live {
		if o := &b.live[i]; o.status != ItemQueued {
			b.began, b.touched = true, max(b.touched, o.at)
		}
	}
	return b, err
}

// read reads a page of items and counts all: those before the batch that runs, those in
// it, and those behind it.
func (b *board) read(ctx context.Context, tx *sqldb.Tx, f *ItemFilter) (Progress, error) {
	q := &b.q
	p := Progress{
		RequestID: q.id, Status: q.status, DryRun: q.dryRun, Window: q.brief.Window, Reason: q.brief.Reason,
		TraceID: q.brief.TraceID, Total: q.total,
		CreatedAt: q.createdAt, UpdatedAt: max(q.updatedAt, b.touched),
	}
	if p.Status == Queued && b.began {
		p.Status = Running
	}
	stored, err := countItems(ctx, tx, b.tenant, q.id, b.low, b.high)
	if err != nil {
		return p, err
	}
	var live []Item
	mask := f.mask()
	for i := range b.live {
		o := &b.live[i]
		p.Counts[o.status]++
		if mask&(1<<o.status) != 0 {
			live = append(live, Item{b.names[i], o.status, o.result, o.failure})
		}
	}
	matching := [2]int{} // before the batch, behind it
	for part := range stored {
		for status, n := range stored[part] {
			p.Counts[status] += n
			if mask&(1<<status) != 0 {
				matching[part] += n
			}
		}
	}
	p.Matching = matching[0] + len(live) + matching[1]
	p.Items, err = b.page(ctx, tx, f, matching, live)
	return p, err
}

// page reads the items of a page.
func (b *board) page(ctx context.Context, tx *sqldb.Tx, f *ItemFilter, matching [2]int, live []Item) ([]Item, error) {
	first, last := f.Offset, f.Offset+f.Limit
	items, err := b.stored(ctx, tx, f.mask(), 0, b.low, first, min(last, matching[0]))
	if err != nil {
		return nil, err
	}
	at := matching[0]
	for i := range live {
		if at+i >= first && at+i < last {
			items = append(items, live[i])
		}
	}
	at += len(live)
	more, err := b.stored(ctx, tx, f.mask(), b.high, b.q.total, max(first-at, 0), min(last-at, matching[1]))
	return append(items, more...), err
}

const selectItems = `SELECT i.strategy, i.status, r.result, r.error FROM pdca_item i
	LEFT JOIN pdca_result r ON r.tenant_id = i.tenant_id AND r.request_id = i.request_id AND r.n = i.n
	WHERE i.tenant_id = $1 AND i.request_id = $2 AND i.n > $3 AND i.n <= $4
	AND (1 << CAST(i.status AS INTEGER)) & $5 <> 0
	ORDER BY i.n LIMIT $6 OFFSET $7`

// stored reads those of the items above low, up to high, that have a status of the mask:
// from the first one up to before the last one.
func (b *board) stored(ctx context.Context, tx *sqldb.Tx, mask int64, low, high, first, last int) ([]Item, error) {
	if first >= last {
		return nil, nil
	}
	return sqldb.Collect(ctx, tx, scanItem, selectItems, b.tenant, b.q.id, low, high, mask, last-first, first)
}

func scanItem(row *sqldb.Row) (item Item, err error) {
	var result, failure string
	if err = row.Scan(&item.Strategy, &item.Status, &result, &failure); err != nil {
		return item, err
	}
	if result != "" {
		item.Result = jsontext.Value(result)
	}
	if failure != "" {
		err = json.Unmarshal([]byte(failure), &item.Error)
	}
	return item, err
}

const selectCounts = `SELECT CASE WHEN n <= $3 THEN 0 ELSE 1 END AS part, status, count(*) FROM pdca_item
	WHERE tenant_id = $1 AND request_id = $2 AND (n <= $3 OR n > $4) GROUP BY 1, 2`

// countItems counts the items up to low, and those above high.
func countItems(ctx context.Context, tx *sqldb.Tx, tenant, id string, low, high int) (counts [2]Counts, err error) {
	err = tx.Batch(ctx, sqldb.Stmt{
		Query: selectCounts, Args: []any{tenant, id, low, high},
		Row: func(row *sqldb.Row) error {
			var part, status, n int
			if err := row.Scan(&part, &status, &n); err != nil {
				return err
			}
			counts[part][status] = n
			return nil
		},
	})
	return counts, err
}

// text is a failure as it is stored.
func (f *Failure) text() (string, error) {
	if f == nil {
		return "", nil
	}
	raw, err := json.Marshal(f)
	return string(raw), err
}
