package reporting

import (
	"context"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const approvalsReport = "approvals"

// What the counts of approvals are.
const (
	nPending, nApproved, nRejected, nRecalled, nSubmitted, nDecidedMillis = 0, 1, 2, 3, 4, 5
)

// decisions are the counts of approvals that ended.
var decisions = map[string]int{"APPROVED": nApproved, "REJECTED": nRejected, "RECALLED": nRecalled}

// dayLength and hourLength are in milliseconds.
const (
	hourLength = 60 * 60 * 1000
	dayLength  = 24 * hourLength
)

var approvalGroups = []group{
	{name: "object", of: func(c *cell) string { return c.k1 }},
	{name: "month", of: func(c *cell) string { return c.k2 }},
	{name: "submitter", people: true, of: func(c *cell) string { return c.owner }},
}

var approvalMeasures = []measure{
	counted("submitted", nSubmitted),
	counted("pending", nPending),
	counted("approved", nApproved),
	counted("rejected", nRejected),
	counted("recalled", nRecalled),
	{Column: Column{"averageHours", Hours}, of: func(r *row) Value {
		return quotient(r.n[nDecidedMillis], (r.n[nApproved]+r.n[nRejected])*hourLength, 1)
	}},
}

// approvals is what became of approvals of records that the caller sees.
func (w *session) approvals(ctx context.Context, q *Query) (t Table, err error) {
	groups, err := grouping(q, []string{"object"}, approvalGroups)
	if err != nil {
		return t, err
	}
	if err := q.period(approvalsReport, true); err != nil {
		return t, err
	}
	t = Table{Report: approvalsReport, GroupBy: []string{}, Omitted: []Omitted{}}
	for i := range groups {
		t.GroupBy = append(t.GroupBy, groups[i].name)
	}
	a, may := newAssembly(w.Model, groups), false
	for _, object := range w.Model.Objects() {
		if !w.Model.Can(w.User, object.Name, model.ReadOp) {
			continue
		}
		may = true
		if err := w.approvalsOf(ctx, object.Name, q, a); err != nil {
			return t, err
		}
	}
	if !may {
		return t, fault.New(fault.Forbidden, kit.CodeAccessDenied,
			"no permission set lets you %s records of any object", model.ReadOp)
	}
	return t, a.fill(&t, approvalMeasures)
}

// approvalsOf adds the approvals of records of an object.
func (w *session) approvalsOf(ctx context.Context, object string, q *Query, a *assembly) error {
	var b sqldb.Binds
	tenant, of := b.Add(w.Caller.Tenant), b.Add(object)
	from := "reporting_approval a CROSS JOIN " + w.cfg.Records.Living("r", tenant, of) +
		" AND r.id = a.record_id AND a.tenant_id = " + tenant + " AND a.object = " + of + " AND a.submitted_at > 0"
	visible, err := w.cfg.Visible.WhereOne(ctx, w.Tx, w.Caller.Tenant, object, w.User, model.Read, &b)
	if err != nil {
		return err
	}
	if from += " AND (" + visible + ")"; q.Owner != "" {
		from += " AND r.owner_id = " + b.Add(q.Owner)
	}
	query := `SELECT a.submitted_by, a.decision, a.submitted_at / 86400000, count(*),
		CAST(sum(CASE WHEN a.decided_at > 0 THEN a.decided_at - a.submitted_at ELSE 0 END) AS BIGINT) FROM ` + from +
		" GROUP BY a.submitted_by, a.decision, a.submitted_at / 86400000"
	for found, err := range w.Tx.Query(ctx, query, b.Args()...) {
		c := cell{k1: object}
		var day, millis int64
		if err == nil {
			err = found.Scan(&c.owner, &c.k3, &day, &c.n, &millis)
		}
		if err != nil {
			return err
		}
		if c.k2 = monthOf(canonical.Stamp(day * dayLength)); q.From != "" && c.k2 < q.From ||
			q.To != "" && c.k2 > q.To {
			continue
		}
		at := decisions[c.k3] // what is not decided is pending
		a.add(&c, func(r *row) {
			r.n[nSubmitted] += c.n
			r.n[at] += c.n
			if at == nApproved || at == nRejected {
				r.n[nDecidedMillis] += millis
			}
		})
	}
	return nil
}
