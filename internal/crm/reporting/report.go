package reporting

import (
	"context"
	"slices"
	"strings"
	"time"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Query is what is wanted of a report. What a report does not support is refused.
type Query struct {
	GroupBy  []string // nil: as the report says
	From, To string   // months, both included: "2026-01"; "": from the first, to the last
	Owner    string   // only records of this owner; "": of all
}

// spec is a report over counts by owner.
type spec struct {
	name     string
	object   string   // whose records are counted
	needs    []string // fields of it without which there is no report
	cube     string
	facts    facts
	only     [3]only  // of the keys of the cube
	months   bool     // k1 of the cube is a month, and From and To are about it
	dated    []string // the fields that months come from
	groups   []group
	defaults []string // what it is grouped by
	measures []measure
	add      func(c *cell, r *row)
}

// only is a condition on a key: that it is ("=") a value, or that it is not ("<>"). The zero
// value is none.
type only struct{ op, value string }

func (o only) holds(key string) bool { return o.op == "" || (o.op == "=") == (key == o.value) }

// facts is the table of what a cube counts.
type facts struct {
	table   string
	id      string    // the column of the record's id
	keys    [3]string // what are the keys of the cube
	amounts bool      // there are amounts
}

// Report makes a report by its name.
func (s *Reporting) Report(ctx context.Context, c kit.Caller, name string, q Query) (t Table, err error) {
	err = s.read(ctx, name, c, func(ctx context.Context, w *session) error {
		switch name {
		case campaignsReport:
			t, err = w.campaigns(ctx, &q)
		case approvalsReport:
			t, err = w.approvals(ctx, &q)
		default:
			i := slices.IndexFunc(specs, func(s *spec) bool { return s.name == name })
			if i < 0 {
				return fault.New(fault.NotFound, "REPORT_UNKNOWN", "there is no report %q", name)
			}
			t, err = w.report(ctx, specs[i], &q)
		}
		return err
	})
	return t, err
}

// read runs fn for a caller in a transaction that cannot write.
func (s *Reporting) read(ctx context.Context, op string, c kit.Caller, fn func(context.Context, *session) error) error {
	return s.Read(ctx, op, func(ctx context.Context, tx *sqldb.Tx) error {
		w, err := kit.Begin(ctx, tx, s.cfg.Models, c)
		if err != nil {
			return err
		}
		return fn(ctx, &session{s, w})
	})
}

// specs are the reports over counts by owner.
var specs = []*spec{pipeline, forecast, wonLost, leadConversion}

func refuse(field, format string, args ...any) error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...).With(map[string]string{"field": field})
}

// period checks the months of a query.
func (q *Query) period(report string, has bool) error {
	for _, end := range []struct{ name, month string }{{"from", q.From}, {"to", q.To}} {
		_, err := time.Parse("2006-01", end.month)
		switch {
		case end.month == "":
		case !has:
			return refuse(end.name, "the report %s has no period; leave out %s", report, end.name)
		case err != nil:
			return refuse(end.name, "%s must be a month, such as 2026-01", end.name)
		}
	}
	if q.From != "" && q.To != "" && q.From > q.To {
		return refuse("to", "to must not be before from")
	}
	return nil
}

// grouping finds what a report is to be grouped by.
func grouping(q *Query, defaults []string, may []group) ([]group, error) {
	names := q.GroupBy
	if names == nil {
		names = defaults
	}
	groups := make([]group, len(names))
	for i, name := range names {
		at := slices.IndexFunc(may, func(g group) bool { return g.name == name })
		if at < 0 || slices.Contains(names[:i], name) {
			known := make([]string, len(may))
			for j := range may {
				known[j] = may[j].name
			}
			return nil, refuse("groupBy", "groupBy must be some of %s, each once, separated by commas",
				strings.Join(known, ", "))
		}
		groups[i] = may[at]
	}
	return groups, nil
}

// report makes a report over counts by owner.
func (w *session) report(ctx context.Context, s *spec, q *Query) (t Table, err error) {
	groups, err := grouping(q, s.defaults, s.groups)
	if err != nil {
		return t, err
	}
	if err := q.period(s.name, s.months); err != nil {
		return t, err
	}
	fields := slices.Clone(s.needs)
	if q.From != "" || q.To != "" {
		fields = append(fields, s.dated...)
	}
	t = Table{Report: s.name, GroupBy: []string{}, Omitted: []Omitted{}}
	for i := range groups {
		fields, t.GroupBy = append(fields, groups[i].fields...), append(t.GroupBy, groups[i].name)
	}
	if err := w.needs(s.object, fields...); err != nil {
		return t, err
	}
	measures := w.readable(&t, s.object, s.measures)
	a := newAssembly(w.Model, groups)
	err = w.cells(ctx, s, q, slices.ContainsFunc(groups, func(g group) bool { return g.name == ownerGroup.name }),
		func(c *cell) {
			a.add(c, func(r *row) { s.add(c, r) })
		})
	if err != nil {
		return t, err
	}
	return t, a.fill(&t, measures)
}

// readable are the measures that the caller may see; the others are said to be left out.
func (w *session) readable(t *Table, object string, all []measure) (measures []measure) {
	for _, m := range all {
		hidden := slices.IndexFunc(m.fields, func(f string) bool { return !w.sees(object, f) })
		if hidden < 0 {
			measures = append(measures, m)
			continue
		}
		t.omit(model.FieldKey(object, m.fields[hidden]), m.Name)
	}
	return measures
}

func (t *Table) omit(field, column string) {
	for i := range t.Omitted {
		if t.Omitted[i].Field == field {
			t.Omitted[i].Columns = append(t.Omitted[i].Columns, column)
			return
		}
	}
	t.Omitted = append(t.Omitted, Omitted{field, []string{column}})
}

// asking is a report over counts by owner that is being made.
type asking struct {
	*spec
	q       *Query
	byOwner bool
	few     *few // nil: it is added up owner by owner
}

func (w *session) asking(ctx context.Context, s *spec, q *Query, byOwner bool) (*asking, error) {
	few, err := w.unreached(ctx, s, q, byOwner)
	return &asking{s, q, byOwner, few}, err
}

// cells gives everything that is counted of the records that the caller sees; a cell may come in parts.
func (w *session) cells(ctx context.Context, s *spec, q *Query, byOwner bool, each func(*cell)) error {
	a, err := w.asking(ctx, s, q, byOwner)
	if err != nil {
		return err
	}
	cached, err := w.fromCache(ctx, a, each)
	if err != nil {
		return err
	}
	return w.fromTables(ctx, a, !cached, each)
}

// fromTables gives the counts of the owners of whom the caller sees all records, and, with facts, the
// records that it sees individually.
func (w *session) fromTables(ctx context.Context, a *asking, facts bool, each func(*cell)) error {
	query, args, err := w.statement(ctx, a, facts)
	if err != nil {
		return err
	}
	for row, err := range w.Tx.Query(ctx, query, args...) {
		var c cell
		if err == nil {
			err = row.Scan(&c.owner, &c.k1, &c.k2, &c.k3, &c.n, &c.amount.hi, &c.amount.lo, &c.weighted.hi,
				&c.weighted.lo)
		}
		if err != nil {
			return err
		}
		each(&c)
	}
	return nil
}

// statement is the query of fromTables.
func (w *session) statement(ctx context.Context, a *asking, facts bool) (string, []any, error) {
	var parts string
	var b sqldb.Binds
	var err error
	if a.few != nil {
		parts, err = w.allBut(ctx, a, facts, &b)
	} else {
		parts, err = w.reached(ctx, a, facts, &b)
	}
	owner, by := "''", "x.k1, x.k2, x.k3"
	if a.byOwner {
		owner, by = "x.owner_id", "x.owner_id, "+by
	}
	sum := func(column string) string { return ", CAST(sum(x." + column + ") AS BIGINT)" }
	return "SELECT " + owner + ", x.k1, x.k2, x.k3" + sum("n") + sum("amount_hi") + sum("amount_lo") +
		sum("weighted_hi") + sum("weighted_lo") +
		" FROM (" + parts + ") x GROUP BY " + by + " HAVING sum(x.n) <> 0", b.Args(), err
}

// seen is what the caller sees. For facts that may be cached owners are compared here, not in SQL.
func (w *session) seen(ctx context.Context, a *asking, b *sqldb.Binds) (model.Seen, error) {
	if _, cached := cubeNumbers[a.cube]; cached {
		return w.cfg.Visible.SeenShared(ctx, w.Tx, w.Caller.Tenant, a.object, w.User, b)
	}
	return w.cfg.Visible.Seen(ctx, w.Tx, w.Caller.Tenant, a.object, w.User, b)
}

// reached adds up owner by owner.
func (w *session) reached(ctx context.Context, a *asking, facts bool, b *sqldb.Binds) (string, error) {
	tenant := b.Add(w.Caller.Tenant)
	if !facts {
		seen, _, err := w.cfg.Visible.SeenOwners(ctx, w.Tx, w.Caller.Tenant, a.object, w.User, b)
		return a.sums(tenant, "", ownersOf(&seen, a.q, a.byOwner, b), a.q, b), err
	}
	seen, err := w.seen(ctx, a, b)
	if err != nil {
		return "", err
	}
	parts := a.sums(tenant, "", ownersOf(&seen, a.q, a.byOwner, b), a.q, b)
	if !seen.All && seen.Records != "" {
		parts += " UNION ALL " + a.individual(tenant, &seen, "f.owner_id NOT IN ("+seen.Owners+")", a.q, b)
	}
	return parts, nil
}

// few are some owners.
type few struct {
	owners     []string
	individual bool // some of their records may be seen all the same
}

// allBut is the counts of everybody, which are few rows, less those of some owners.
func (w *session) allBut(ctx context.Context, a *asking, facts bool, b *sqldb.Binds) (string, error) {
	tenant := b.Add(w.Caller.Tenant)
	parts := a.sums(tenant, "", "c.owner_id = ''", a.q, b)
	if len(a.few.owners) == 0 {
		return parts, nil
	}
	places := make([]string, len(a.few.owners))
	for i, owner := range a.few.owners {
		places[i] = b.Add(owner)
	}
	in := "owner_id IN (" + strings.Join(places, ", ") + ")"
	parts += " UNION ALL " + a.sums(tenant, "-", "c."+in, a.q, b)
	if !facts || !a.few.individual {
		return parts, nil
	}
	seen, err := w.seen(ctx, a, b)
	if err != nil {
		return "", err
	}
	return parts + " UNION ALL " + a.individual(tenant, &seen, "f."+in, a.q, b), nil
}

// fewUnreached is how many owners are subtracted from the counts of everybody at most; with more, the
// others are added up.
const fewUnreached = 100

// unreached are the owners with counts of whom the caller does not see all records, when they are few and
// the report is not by owner; else it is nil. Every record has an owner, so the others are everybody
// but these.
func (w *session) unreached(ctx context.Context, s *spec, q *Query, byOwner bool) (*few, error) {
	if byOwner || q.Owner != "" {
		return nil, nil
	}
	var b sqldb.Binds
	seen, more, err := w.cfg.Visible.SeenOwners(ctx, w.Tx, w.Caller.Tenant, s.object, w.User, &b)
	if err != nil || seen.All {
		return nil, err
	}
	query := "SELECT DISTINCT c.owner_id FROM reporting_count c WHERE c.tenant_id = " + b.Add(w.Caller.Tenant) +
		" AND c.cube = " + b.Add(s.roster()) +
		" AND c.owner_id > '' AND c.owner_id NOT IN (" + seen.Owners + ") ORDER BY c.owner_id LIMIT " +
		b.Add(w.cfg.fewUnreached+1)
	all := &few{individual: more}
	all.owners, err = sqldb.Collect(ctx, w.Tx, sqldb.Column[string], query, b.Args()...)
	if err != nil || len(all.owners) > w.cfg.fewUnreached {
		return nil, err
	}
	all.individual = all.individual && len(all.owners) > 0
	return all, nil
}

// sums are the counts of some owners, as they are or ("-") to be taken off.
func (s *spec) sums(tenant, sign, owners string, q *Query, b *sqldb.Binds) string {
	columns := "c.owner_id, c.k1, c.k2, c.k3"
	for _, name := range []string{"n", "amount_hi", "amount_lo", "weighted_hi", "weighted_lo"} {
		columns += ", " + sign + "c." + name + " AS " + name
	}
	return "SELECT " + columns + " FROM reporting_count c WHERE c.tenant_id = " + tenant + " AND c.cube = " +
		b.Add(s.cube) + " AND " + owners +
		s.conditions(q, "c.owner_id", [3]string{"c.k1", "c.k2", "c.k3"}, b)
}

// individual are the facts of the records that the caller sees individually, of some owners.
func (s *spec) individual(tenant string, seen *model.Seen, owners string, q *Query, b *sqldb.Binds) string {
	return s.facts.query(tenant, seen) + " AND " + owners + s.conditions(q, "f.owner_id", s.facts.keys, b)
}

// roster is the smallest cube that has all owners of what a report counts.
func (s *spec) roster() string {
	if s.cube == monthCube {
		return stageCube // both count every opportunity
	}
	return s.cube
}

// ownersOf is the condition on the counts that the caller sees.
func ownersOf(seen *model.Seen, q *Query, byOwner bool, b *sqldb.Binds) string {
	switch {
	case !seen.All:
		return "c.owner_id IN (" + seen.Owners + ")"
	case q.Owner != "":
		return "c.owner_id = " + b.Add(q.Owner)
	case byOwner:
		return "c.owner_id <> ''"
	}
	return "c.owner_id = ''"
}

// query gives the facts of the records that the caller sees individually, as counts.
func (f *facts) query(tenant string, seen *model.Seen) string {
	amounts := "0, 0, 0, 0"
	if f.amounts {
		amounts = "f.amount / 1000000000, f.amount % 1000000000, f.weighted / 1000000000, f.weighted % 1000000000"
	}
	return "SELECT f.owner_id, " + f.keys[0] + ", " + f.keys[1] + ", " + f.keys[2] + ", 1, " + amounts + " FROM " +
		f.table + " f WHERE f.tenant_id = " + tenant +
		" AND " + f.id + " IN (" + seen.Records + ")"
}

// conditions are those on the keys and the owner.
func (s *spec) conditions(q *Query, owner string, keys [3]string, b *sqldb.Binds) (where string) {
	for i, only := range s.only {
		if only.op != "" {
			where += " AND " + keys[i] + " " + only.op + " '" + only.value + "'"
		}
	}
	if q.Owner != "" {
		where += " AND " + owner + " = " + b.Add(q.Owner)
	}
	if q.From != "" {
		where += " AND " + keys[0] + " >= " + b.Add(q.From)
	}
	if q.To != "" {
		where += " AND " + keys[0] + " <> '' AND " + keys[0] + " <= " + b.Add(q.To)
	}
	return where
}

// counts is the same condition on keys.
func (a *asking) counts(k [3]string) bool {
	for i, only := range a.only {
		if !only.holds(k[i]) {
			return false
		}
	}
	return (a.q.From == "" || k[0] >= a.q.From) && (a.q.To == "" || k[0] != "" && k[0] <= a.q.To)
}

// ofOwner is the condition on the owners of facts, given those whom the caller reaches.
func (a *asking) ofOwner(id string, reached map[string]bool) bool {
	if a.few != nil {
		return slices.Contains(a.few.owners, id)
	}
	return !reached[id] && (a.q.Owner == "" || a.q.Owner == id)
}

// setOf are texts that are separated by commas.
func setOf(texts string) map[string]bool {
	set := map[string]bool{}
	for text := range strings.SplitSeq(texts, ",") {
		set[text] = true
	}
	return set
}
