package sharing

import (
	"context"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// accountObject is the object whose records pass access on, to records of the others.
const accountObject = "Account"

var accountChildren = []string{"Contact", "Opportunity", "Quote"}

// What conditions say of all records and of none.
const (
	everything = "1 = 1"
	nothing    = "1 = 0"
)

// question is who asks for access to which records, with what the answer goes by.
type question struct {
	records              Records
	tenant, object, user string
	level                Level
	model                int64 // the active one
	account              int64 // that of accounts
	shares               bool  // records of the object may have rows
	cascade              bool  // access may come from the account
}

// Where is a condition in SQL over the row r of a record that is true for exactly
// the records of an object that a user has at least this access to, for statements that
// look at many. r is of the tenant and the object, and not deleted.
func (s *Sharing) Where(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access,
	binds *sqldb.Binds,
) (string, error) {
	q, all, err := s.ask(ctx, tx, tenant, object, user, levelOf(level))
	if err != nil || all != "" {
		return all, fault.Wrap("sharing.where", err)
	}
	return q.bind(binds).many(), nil
}

// WhereOne is the same condition for statements that name their records: it looks for
// what gives access to each.
func (s *Sharing) WhereOne(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access,
	binds *sqldb.Binds,
) (string, error) {
	q, all, err := s.ask(ctx, tx, tenant, object, user, levelOf(level))
	if err != nil || all != "" {
		return all, fault.Wrap("sharing.where", err)
	}
	return q.bind(binds).each(), nil
}

// ask finds out what the answer goes by, or that it is the same for all records.
func (s *Sharing) ask(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level Level) (
	q question, all string, err error,
) {
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
		records: s.cfg.Records, tenant: tenant, object: object, user: user, level: level, model: active.num,
		shares: active.Setup.hasCriteria() || slices.Contains(model.TeamObjects, object) || object == accountObject,
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
func seesAll(m *model.Model, user string, level Level) bool {
	return m.ModifyAll(user) || level == Read && m.ViewAll(user)
}

// SQLite joins in the order of a CROSS JOIN: from the few rows that a user or a record has
// to those that they lead to. PostgreSQL knows from its statistics.

// asked is a question whose values are the arguments of a statement, each as soon as it is
// needed: PostgreSQL refuses those that are not.
type asked struct {
	q      *question
	binds  *sqldb.Binds
	places map[string]string
}

func (q *question) bind(b *sqldb.Binds) *asked { return &asked{q, b, map[string]string{}} }

func (a *asked) tenant() string        { return a.arg("tenant", a.q.tenant) }
func (a *asked) object() string        { return a.arg("object", a.q.object) }
func (a *asked) user() string          { return a.arg("user", a.q.user) }
func (a *asked) level() string         { return a.arg("level", int64(a.q.level)) }
func (a *asked) model() string         { return a.arg("model", a.q.model) }
func (a *asked) account() string       { return a.arg("account", a.q.account) }
func (a *asked) accountObject() string { return a.arg("accountObject", accountObject) }

// arg is the place of a value among the arguments.
func (a *asked) arg(name string, value any) string {
	if a.places[name] == "" {
		a.places[name] = a.binds.Add(value)
	}
	return a.places[name]
}

// owners are the owners whose records the user reaches, and the user itself, whom nobody
// has to work out.
func (a *asked) owners() string {
	return `SELECT x.owner_id FROM sharing_principal p CROSS JOIN sharing_reach x
		WHERE x.tenant_id = p.tenant_id AND x.principal = p.principal AND p.tenant_id = ` + a.tenant() +
		` AND p.user_id = ` + a.user() + ` AND x.model IN (0, ` + a.model() + `) AND x.level >= ` + a.level() +
		` UNION ALL SELECT ` + a.user()
}

// shared are the records that have rows for the user.
func (a *asked) shared() string {
	return `SELECT s.record_id AS id FROM sharing_principal p CROSS JOIN sharing_share s
		WHERE s.tenant_id = p.tenant_id AND s.grantee = p.principal AND p.tenant_id = ` + a.tenant() +
		` AND p.user_id = ` + a.user() + ` AND s.model = ` + a.model() + ` AND s.level >= ` + a.level()
}

// own are the owners that are the user, or queues that it is in.
func (a *asked) own() string {
	return `SELECT x.owner_id FROM sharing_principal p CROSS JOIN sharing_reach x
		WHERE x.tenant_id = p.tenant_id AND x.principal = p.principal AND p.tenant_id = ` + a.tenant() +
		` AND p.user_id = ` + a.user() + ` AND x.model = 0 AND x.cause = 'queue' UNION ALL SELECT ` + a.user()
}

// accounts are the accounts whose records the user sees: its own, and those of its teams
// and territories.
func (a *asked) accounts() string {
	return "SELECT a.id FROM " + a.q.records.Living("a", a.tenant(), a.accountObject()) + ` AND a.owner_id IN (` +
		a.own() + `)
		UNION ALL SELECT s.record_id FROM sharing_principal p CROSS JOIN sharing_share s
		WHERE s.tenant_id = p.tenant_id AND s.grantee = p.principal AND p.tenant_id = ` + a.tenant() +
		` AND p.user_id = ` + a.user() + ` AND s.model = ` + a.account() + ` AND s.cause <> 'rule'`
}

// many is the condition for statements that look at many records: each is held against
// sets.
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

// each is the condition for statements that look at few records: it looks for what gives
// access to each.
func (a *asked) each() string {
	parts := append([]string{`r.owner_id = ` + a.user(), `EXISTS (SELECT 1 FROM sharing_reach x
		WHERE x.tenant_id = ` + a.tenant() + ` AND x.owner_id = r.owner_id AND x.model IN (0, ` + a.model() +
		`) AND x.level >= ` + a.level() +
		` AND ` + a.has("x.principal") + `)`}, a.eachUnreached()...)
	return "(" + strings.Join(parts, " OR ") + ")"
}

// has is the condition that the user has a principal. Its principals are read once, and
// each is looked for among them: in a list of some hundred records that is half of the time.
// To be one of two conditions keeps both databases from looking for each in an index.
func (a *asked) has(principal string) string {
	return `(` + principal + ` IN (SELECT p.principal FROM sharing_principal p WHERE p.tenant_id = ` + a.tenant() +
		` AND p.user_id = ` + a.user() + `) OR ` + nothing + `)`
}

// eachUnreached is what gives access to a record beside its owner.
func (a *asked) eachUnreached() (parts []string) {
	if a.q.shares {
		parts = append(parts, `EXISTS (SELECT 1 FROM sharing_share s
			WHERE s.tenant_id = `+a.tenant()+` AND s.model = `+a.model()+` AND s.record_id = r.id AND s.level >= `+
			a.level()+` AND `+a.has("s.grantee")+`)`)
	}
	if a.q.cascade {
		parts = append(parts, `r.account_id <> '' AND (EXISTS (SELECT 1 FROM `+
			a.q.records.Living("a", a.tenant(), a.accountObject())+` AND a.id = r.account_id AND a.owner_id IN (`+
			a.own()+`))
			OR EXISTS (SELECT 1 FROM sharing_share s
			WHERE s.tenant_id = `+a.tenant()+` AND s.model = `+a.account()+
			` AND s.record_id = r.account_id AND s.cause <> 'rule' AND `+a.has("s.grantee")+`))`)
	}
	return parts
}
