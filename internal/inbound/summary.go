package inbound

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// How many of the newest deliveries a summary shows.
const (
	DefaultRecent = 20
	MaxRecent     = 200
)

// SummaryQuery asks for the deliveries of a month.
type SummaryQuery struct {
	Month  string // "2026-02", in UTC
	Recent int    // 0: DefaultRecent
}

// Summary is how the deliveries of a month ended.
type Summary struct {
	Status    string    `json:"status"` // ok
	Month     string    `json:"ym"`
	EventType string    `json:"event_type"`
	Total     int64     `json:"total"`
	ByStatus  Counts    `json:"by_status"` // all five, in the document's order
	ByClass   Counts    `json:"by_reason_class"`
	ByCode    Counts    `json:"by_reason_code"`
	ByAdvice  Counts    `json:"by_retry_advice"`
	Duplicate Counts    `json:"duplicate"` // true, false and unknown
	Recent    []Recent  `json:"recent"`    // newest first
	Retention Retention `json:"receipt_retention"`
}

// Retention is how long receipts count.
type Retention struct {
	Days int `json:"ttl_days"`
	Max  int `json:"max_receipts"`
}

// Counts are numbers by name, an object whose members stand in this order.
type Counts []Count

// Count is one of them.
type Count struct {
	Name string
	N    int64
}

// MarshalJSONTo writes an object.
func (c Counts) MarshalJSONTo(enc *jsontext.Encoder) error {
	err := enc.WriteToken(jsontext.BeginObject)
	for _, one := range c {
		err = errors.Join(err, enc.WriteToken(jsontext.String(one.Name)), enc.WriteToken(jsontext.Int(one.N)))
	}
	return errors.Join(err, enc.WriteToken(jsontext.EndObject))
}

// Recent is one delivery. What it does not have is null.
type Recent struct {
	At           canonical.Stamp `json:"at"`
	Status       string          `json:"status"`
	Action       *string         `json:"action"`
	RunID        *string         `json:"run_id"`
	TriggerID    string          `json:"trigger_id,omitzero"` // "": a workflow event
	TemplateID   *string         `json:"template_id"`
	TemplateName *string         `json:"template_name"`
	EventName    *string         `json:"event_name"`
	Source       *string         `json:"source"`
	Key          *string         `json:"idempotency_key"`
	Reason       *string         `json:"reason"`
	ReasonClass  *string         `json:"reason_class"`
	ReasonCode   *string         `json:"reason_code"`
	RetryAdvice  *string         `json:"retry_advice"`
	Duplicate    *bool           `json:"duplicate"`
}

// span is the first instant of a month and that of the next one.
func (q *SummaryQuery) span() (from, to canonical.Stamp, err error) {
	first, err := time.Parse(monthLayout, q.Month)
	if err != nil || len(q.Month) != len(monthLayout) {
		return 0, 0, unfit("ym must be a month such as 2026-02")
	}
	if q.Recent < 0 || q.Recent > MaxRecent {
		return 0, 0, unfit("recent_limit must be 1 to %d", MaxRecent)
	}
	from, to = canonical.Stamp(first.UnixMilli()), canonical.Stamp(first.AddDate(0, 1, 0).UnixMilli())
	return max(from, 1), max(to, 1), nil // a query has no instants before 1970
}

// Summary counts the deliveries of a month and shows the newest. The counts are kept
// with every delivery, so they cost the same whatever their number.
func (t *Deliveries) Summary(ctx context.Context, tenant string, q SummaryQuery) (Summary, error) {
	from, to, err := q.span()
	if err != nil {
		return Summary{}, err
	}
	var c counter
	var recent []Recent
	err = t.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := c.read(ctx, tx, tenant, q.Month); err != nil {
			return err
		}
		entries, err := audit.Page(ctx, tx, audit.Query{
			Tenant: tenant, Action: Action, From: from, To: to,
			Limit: cmp.Or(q.Recent, DefaultRecent),
		})
		if err != nil {
			return err
		}
		recent = make([]Recent, len(entries))
		for i := range entries {
			if recent[i], err = recentOf(&entries[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Summary{}, fault.Wrap("inbound.summary", err)
	}
	return Summary{
		Status: "ok", Month: q.Month, EventType: Action, Total: c.total,
		ByStatus: c.status.all(audit.StatusSuccess, audit.StatusSkipped, audit.StatusRejected, audit.StatusFailed,
			audit.StatusUnknown),
		ByClass: c.class.sorted(), ByCode: c.code.sorted(), ByAdvice: c.advice.sorted(),
		Duplicate: c.duplicate.all(strconv.FormatBool(true), strconv.FormatBool(false), audit.StatusUnknown),
		Recent:    recent, Retention: Retention{Days: int(t.cfg.TTL / day), Max: t.cfg.MaxReceipts},
	}, nil
}

// recentOf is an entry of the audit log in the document's words. Its detail has the members of Recent by their names.
func recentOf(e *audit.Entry) (r Recent, err error) {
	err = json.Unmarshal(e.Detail, &r)
	r.At, r.Status, r.RunID, r.Reason = e.At, e.Outcome.Status(), some(e.Subject), some(e.Reason)
	r.ReasonClass, r.ReasonCode = some(string(e.ReasonClass)), some(string(e.ReasonCode))
	r.RetryAdvice = some(string(e.RetryAdvice))
	return r, err
}

// counter adds a month's tally up.
type counter struct {
	total                                  int64
	status, class, code, advice, duplicate group
}

const selectTally = `SELECT status, reason_class, reason_code, retry_advice, duplicate, n
	FROM trigger_tally WHERE tenant_id = $1 AND month = $2`

func (c *counter) read(ctx context.Context, tx *sqldb.Tx, tenant, month string) error {
	*c = counter{status: group{}, class: group{}, code: group{}, advice: group{}, duplicate: group{}}
	return tx.Batch(ctx, sqldb.Stmt{Query: selectTally, Args: []any{tenant, month}, Row: func(row *sqldb.Row) error {
		var status, class, code, advice, duplicate string
		var n int64
		err := row.Scan(&status, &class, &code, &advice, &duplicate, &n)
		c.total += n
		c.status[status] += n
		c.class[class] += n
		c.code[code] += n
		c.advice[advice] += n
		c.duplicate[duplicate] += n
		return err
	}})
}

// group is numbers by name; those without a name are not shown.
type group map[string]int64

// sorted has the most first, and of equal ones the first name.
func (g group) sorted() Counts {
	all := Counts{}
	for name, n := range g {
		if name != "" {
			all = append(all, Count{name, n})
		}
	}
	slices.SortFunc(all, func(a, b Count) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name)) })
	return all
}

// all has these names, each also when there is none, and what has another name under
// the last.
func (g group) all(names ...string) Counts {
	all := make(Counts, len(names))
	for i, name := range names {
		all[i].Name = name
	}
	for name, n := range g {
		i := slices.Index(names, name)
		if i < 0 {
			i = len(names) - 1
		}
		all[i].N += n
	}
	return all
}
