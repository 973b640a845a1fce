package sharing

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
)

// accountObject is the object whose records pass access on, to records of the others.
const accountObject = "Account"

var accountChildren = []string{"Contact", "Opportunity", "Quote"}

// What conditions say of all records and of none.
const (
	everything = "1 = 1"
	nothing    = "1 = 0"
)

// fewRecords is up to how many records somebody who sees few of them sees: they are
// looked up by what gives the access. Else all records are looked at.
const fewRecords = 10_000

// question is who asks for access to which records, with what the answer goes by.
type question struct {
	tenant, object, user string
	level                Level
	model                int64 // the active one
	account              int64 // that of accounts
	shares               bool  // records of the object may have rows
	cascade              bool  // access may come from the account
}

// Where is a condition in SQL over the row r of records_record that is true for exactly
// the records of an object that a user has at least this access to, for lists and counts.
// r is of the tenant and the object, and not deleted.
func (s *Sharing) Where(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level crm.Access, binds *sqldb.Binds) (string, error) {
	q, all, err := s.ask(ctx, tx, tenant, object, user, levelOf(level))
	if err != nil || all != "" {
		return all, fault.Wrap("sharing.where", err)
	}
	ids, few, err := q.few(ctx, tx, s.cfg.limits.few)
	switch {
	case err != nil:
		return "", fault.Wrap("sharing.where", err)
	case !few:
		return q.bind(binds).many(), nil
	case tx.Dialect() == sqldb.Postgres:
		return "r.id = ANY(" + binds.Add(ids) + ")", nil
	}
	list, err := json.Marshal(ids)
	return "r.id IN (SELECT value FROM json_each(" + binds.Add(string(list)) + "))", fault.Wrap("sharing.where", err)
}

// few are the records that somebody sees who sees few, in order; ok says that it does.
func (q *question) few(ctx context.Context, tx *sqldb.Tx, most int) (ids []string, ok bool, err error) {
	if most < 0 {
		return nil, false, nil
	}
	var b sqldb.Binds
	a := q.bind(&b)
	a.object = b.Add(q.object)
	query := a.ids() + " LIMIT " + b.Add(most+1)
	ids = []string{}
	for row, err := range tx.Query(ctx, query, b.Args()...) {
		if err != nil {
			return nil, false, err
		}
		var id string
		if err := row.Scan(&id); err != nil {
			return nil, false, err
		}
		ids = append(ids, id)
	}
	if len(ids) > most {
		return nil, false, nil
	}
	slices.Sort(ids)
	return slices.Compact(ids), true, nil
}

// WhereOne is the same condition for statements that name their records: it looks for
// what gives access to each.
func (s *Sharing) WhereOne(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level crm.Access, binds *sqldb.Binds) (string, error) {
	q, all, err := s.ask(ctx, tx, tenant, object, user, levelOf(level))
	if err != nil || all != "" {
		return all, fault.Wrap("sharing.where", err)
	}
	return q.bind(binds).each(), nil
}

// ask finds out what the answer goes by, or that it is the same for all records.
func (s *Sharing) ask(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level Level) (q question, all string, err error) {
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return q, "", err
	}
	if seesAll(m, user, level) {
		return q, everything, nil
	}
	if u := m.User(user); u == nil || !u.IsActive {
		return q, nothing, nil
	}
	active, err := activeModel(ctx, tx, tenant, object)
	if err != nil {
		return q, "", err
	}
	if active == nil { // nothing of the object was handled yet
		active = &Model{Setup: setupOf(m, object)}
	}
	if levelOf(active.Setup.OWD.Access()) >= level {
		return q, everything, nil
	}
	q = question{
		tenant: tenant, object: object, user: user, level: level, model: active.num,
		shares: active.Setup.hasCriteria() || slices.Contains(crm.TeamObjects, object) || object == accountObject,
	}
	if q.cascade = level == Read && slices.Contains(accountChildren, object); !q.cascade {
		return q, "", nil
	}
	if account, err := activeModel(ctx, tx, tenant, accountObject); err != nil {
		return q, "", err
	} else if account != nil {
		q.account = account.num
	}
	return q, "", nil
}

// seesAll reports whether permission sets give a user all records.
func seesAll(m *crm.Model, user string, level Level) bool {
	return m.ModifyAll(user) || level == Read && m.ViewAll(user)
}

// SQLite joins in the order of a CROSS JOIN: from the few rows that a user or a record has
// to those that they lead to. PostgreSQL knows from its statistics.

// asked is a question whose values are the arguments of a statement.
type asked struct {
	q                              *question
	tenant, user, level, model     string
	account, accountObject, object string
}

func (q *question) bind(b *sqldb.Binds) *asked {
	a := &asked{q: q, tenant: b.Add(q.tenant), user: b.Add(q.user), level: b.Add(int64(q.level)), model: b.Add(q.model)}
	if q.cascade {
		a.account, a.accountObject = b.Add(q.account), b.Add(accountObject)
	}
	return a
}

// owners are the owners whose records the user reaches, and the user itself, whom nobody
// has to work out.
func (a *asked) owners() string {
	return `SELECT x.owner_id FROM sharing_principal p CROSS JOIN sharing_reach x
		WHERE x.tenant_id = p.tenant_id AND x.principal = p.principal AND p.tenant_id = ` + a.tenant + ` AND p.user_id = ` + a.user + ` AND x.model IN (0, ` + a.model + `) AND x.level >= ` + a.level + ` UNION ALL SELECT ` + a.user
}

// shared are the records that have rows for the user.
func (a *asked) shared() string {
	return `SELECT s.record_id FROM sharing_principal p CROSS JOIN sharing_share s
		WHERE s.tenant_id = p.tenant_id AND s.grantee = p.principal AND p.tenant_id = ` + a.tenant + ` AND p.user_id = ` + a.user + ` AND s.model = ` + a.model + ` AND s.level >= ` + a.level
}

// own are the owners that are the user, or queues that it is in.
func (a *asked) own() string {
	return `SELECT x.owner_id FROM sharing_principal p CROSS JOIN sharing_reach x
		WHERE x.tenant_id = p.tenant_id AND x.principal = p.principal AND p.tenant_id = ` + a.tenant + ` AND p.user_id = ` + a.user + ` AND x.model = 0 AND x.cause = 'queue' UNION ALL SELECT ` + a.user
}

// accounts are the accounts whose records the user sees: its own, and those of its teams
// and territories.
func (a *asked) accounts() string {
	return `SELECT a.id FROM records_record a WHERE a.tenant_id = ` + a.tenant + ` AND a.object = ` + a.accountObject + ` AND a.deleted_at = 0 AND a.owner_id IN (` + a.own() + `)
		UNION ALL SELECT s.record_id FROM sharing_principal p CROSS JOIN sharing_share s
		WHERE s.tenant_id = p.tenant_id AND s.grantee = p.principal AND p.tenant_id = ` + a.tenant + ` AND p.user_id = ` + a.user + ` AND s.model = ` + a.account + ` AND s.cause <> 'rule'`
}

// ids are the records that the user sees, some more than once.
func (a *asked) ids() string {
	rows := `SELECT o.id FROM records_record o WHERE o.tenant_id = ` + a.tenant + ` AND o.object = ` + a.object + ` AND o.deleted_at = 0`
	parts := []string{rows + ` AND o.owner_id IN (` + a.owners() + `)`}
	if a.q.shares {
		parts = append(parts, a.shared())
	}
	if a.q.cascade {
		parts = append(parts, rows+` AND o.account_id <> '' AND o.account_id IN (`+a.accounts()+`)`)
	}
	return strings.Join(parts, " UNION ALL ")
}

// many is the condition for somebody who sees many records.
func (a *asked) many() string {
	parts := []string{"r.owner_id IN (" + a.owners() + ")"}
	if a.q.shares {
		parts = append(parts, "r.id IN ("+a.shared()+")")
	}
	if a.q.cascade {
		parts = append(parts, "r.account_id IN ("+a.accounts()+")")
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// each is the condition for statements that name their records.
func (a *asked) each() string {
	user := ` AND p.tenant_id = ` + a.tenant + ` AND p.user_id = ` + a.user
	parts := []string{`r.owner_id = ` + a.user, `EXISTS (SELECT 1 FROM sharing_reach x CROSS JOIN sharing_principal p
		WHERE p.principal = x.principal` + user + ` AND x.tenant_id = ` + a.tenant + ` AND x.owner_id = r.owner_id AND x.model IN (0, ` + a.model + `) AND x.level >= ` + a.level + `)`}
	if a.q.shares {
		parts = append(parts, `EXISTS (SELECT 1 FROM sharing_share s CROSS JOIN sharing_principal p
			WHERE p.principal = s.grantee`+user+` AND s.tenant_id = `+a.tenant+` AND s.model = `+a.model+` AND s.record_id = r.id AND s.level >= `+a.level+`)`)
	}
	if a.q.cascade {
		parts = append(parts, `r.account_id <> '' AND (EXISTS (SELECT 1 FROM records_record a
			WHERE a.tenant_id = `+a.tenant+` AND a.object = `+a.accountObject+` AND a.id = r.account_id AND a.deleted_at = 0 AND a.owner_id IN (`+a.own()+`))
			OR EXISTS (SELECT 1 FROM sharing_share s CROSS JOIN sharing_principal p
			WHERE p.principal = s.grantee`+user+` AND s.tenant_id = `+a.tenant+` AND s.model = `+a.account+` AND s.record_id = r.account_id AND s.cause <> 'rule'))`)
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}
