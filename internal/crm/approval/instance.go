package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Status is how far an approval is, and what somebody decided. The numbers are those in
// the tables.
type Status int64

// The statuses.
const (
	Pending Status = iota
	Approved
	Rejected
	Recalled
)

var statusNames = [...]string{"PENDING", "APPROVED", "REJECTED", "RECALLED"}

func (s Status) String() string { return statusNames[s] }

// MarshalText writes the word.
func (s Status) MarshalText() ([]byte, error) { return []byte(statusNames[s]), nil }

// UnmarshalText reads the word.
func (s *Status) UnmarshalText(text []byte) error {
	if i := slices.Index(statusNames[:], string(text)); i >= 0 {
		*s = Status(i)
		return nil
	}
	return fmt.Errorf("approval: %.32q is no status", text)
}

// stage is a step of a process as it was when a record was submitted.
type stage struct {
	Name      string         `json:"name"`
	Approvers []model.Member `json:"approvers"`
	Decide    string         `json:"decide"` // crm.ByAny, crm.ByAll
}

// instance is an approval.
type instance struct {
	id, object, recordID   string
	processID, processName string
	status                 Status
	at                     int // the stage that is open, or in which it ended
	stages                 []stage
	locked                 []string
	outcomes               model.Outcomes
	submittedBy            string
	submittedAt            canonical.Stamp
	comment                string
	recordVersion          canonical.Stamp // as it was submitted
	meets                  bool            // the process would take the record, as it was last looked at
	decidedBy              string          // with the three below: once it has ended
	decidedAt              canonical.Stamp
	decision               string // the comment
	execution              string
	correlationID          string
	version                canonical.Stamp

	votes    []vote   // of all stages
	deputies []deputy // of all stages
}

// vote is what was decided in the place of an approver.
type vote struct {
	stage    int
	approver string
	user     string
	decision Status
	comment  string
	at       canonical.Stamp
}

// deputy is who decides in the place of an approver.
type deputy struct {
	stage    int
	approver string
	user     string
	by       string
	comment  string
	at       canonical.Stamp
}

// open is the stage that waits.
func (a *instance) open() *stage { return &a.stages[a.at] }

// selectInstances goes on with a condition; the tenant is its first argument.
const selectInstances = `SELECT a.id, a.object, a.record_id, a.process_id, a.process_name, a.status, a.stage, a.stages,
	a.locked, a.submitted_by, a.submitted_at, a.comment, a.record_version, a.meets, a.decided_by, a.decided_at,
	a.decision_comment, a.execution, a.correlation_id, a.version, a.outcomes FROM approval_instance a
	WHERE a.tenant_id = $1 AND `

const (
	selectInstance    = selectInstances + "a.id = $2"
	selectByExecution = selectInstances + "a.execution = $2"
	selectPending     = `SELECT id FROM approval_instance
		WHERE tenant_id = $1 AND object = $2 AND record_id = $3 AND status = 0`

	insertInstance = `INSERT INTO approval_instance (tenant_id, id, object, record_id, process_id, process_name,
		status, stage, stages, locked, submitted_by, submitted_at, comment, record_version, meets, decided_by,
		decided_at, decision_comment, execution, correlation_id, version, outcomes)
		VALUES ($1, $2, $3, $4, $5, $6, 0, 0, $7, $8, $9, $10, $11, $12, 1, '', 0, '', $13, $14, $15, $16)`
	updateInstance = `UPDATE approval_instance SET status = $3, stage = $4, decided_by = $5, decided_at = $6,
		decision_comment = $7, version = $8 WHERE tenant_id = $1 AND id = $2`
	insertPrincipal = "INSERT INTO approval_principal (tenant_id, principal, approval_id) VALUES ($1, $2, $3) ON " +
		"CONFLICT (tenant_id, principal, approval_id) DO NOTHING"
	deletePrincipals = "DELETE FROM approval_principal WHERE tenant_id = $1 AND approval_id = $2"

	insertVote = `INSERT INTO approval_vote (tenant_id, approval_id, stage, approver_id, user_id, decision, comment, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	putDeputy = `INSERT INTO approval_deputy
		(tenant_id, approval_id, stage, approver_id, user_id, given_by, comment, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant_id, approval_id, stage, approver_id) DO UPDATE SET
		user_id = excluded.user_id, given_by = excluded.given_by, comment = excluded.comment, at = excluded.at`
	deleteDeputy = "DELETE FROM approval_deputy WHERE tenant_id = $1 AND approval_id = $2 AND stage = $3 AND " +
		"approver_id = $4"

	selectVotes = `SELECT approval_id, stage, approver_id, user_id, decision, comment, at FROM approval_vote
		WHERE tenant_id = %s AND %s ORDER BY approval_id, stage, at, approver_id`
	selectDeputies = `SELECT approval_id, stage, approver_id, user_id, given_by, comment, at FROM approval_deputy
		WHERE tenant_id = %s AND %s ORDER BY approval_id, stage, approver_id`
)

func scanInstance(row *sqldb.Row) (a instance, err error) {
	var stages, locked, outcomes string
	var meets int64
	err = row.Scan(&a.id, &a.object, &a.recordID, &a.processID, &a.processName, &a.status, &a.at, &stages, &locked,
		&a.submittedBy, &a.submittedAt, &a.comment, &a.recordVersion, &meets, &a.decidedBy, &a.decidedAt, &a.decision,
		&a.execution, &a.correlationID, &a.version, &outcomes)
	if err != nil {
		return a, err
	}
	a.meets = meets != 0
	return a, errors.Join(json.Unmarshal([]byte(stages), &a.stages), json.Unmarshal([]byte(locked), &a.locked),
		json.Unmarshal([]byte(outcomes), &a.outcomes))
}

// instances are those that a statement selects, without their votes.
func instances(ctx context.Context, tx *sqldb.Tx, query string, args ...any) ([]instance, error) {
	return sqldb.Collect(ctx, tx, scanInstance, query, args...)
}

// loaded are those that a statement selects, with their votes.
func loaded(ctx context.Context, tx *sqldb.Tx, tenant, query string, args ...any) ([]*instance, error) {
	found, err := instances(ctx, tx, query, args...)
	if err != nil {
		return nil, err
	}
	all := make([]*instance, len(found))
	for i := range found {
		all[i] = &found[i]
	}
	return all, load(ctx, tx, tenant, all...)
}

// noApproval says that there is none, or none that the caller may know of.
func noApproval(id string) error {
	return fault.New(fault.NotFound, CodeNotFound, "there is no approval %.64q", id)
}

// find is an approval of a tenant with its votes. lock holds it until the transaction ends.
func find(ctx context.Context, tx *sqldb.Tx, tenant, id, lock string) (*instance, error) {
	a, err := scanInstance(tx.Row(ctx, selectInstance+lock, tenant, id))
	if errors.Is(err, sqldb.ErrNoRow) {
		return nil, noApproval(id)
	}
	if err != nil {
		return nil, err
	}
	return &a, load(ctx, tx, tenant, &a)
}

// load reads who has decided in some approvals, and who decides for whom, with one statement for
// each.
func load(ctx context.Context, tx *sqldb.Tx, tenant string, all ...*instance) error {
	if len(all) == 0 {
		return nil
	}
	byID, ids := make(map[string]*instance, len(all)), make([]string, len(all))
	for i, a := range all {
		byID[a.id], ids[i] = a, a.id
	}
	of := func(query string, each func(row *sqldb.Row) error) sqldb.Stmt {
		var b sqldb.Binds
		query = fmt.Sprintf(query, b.Add(tenant), b.OneOf(tx, "approval_id", ids))
		return sqldb.Stmt{Query: query, Args: b.Args(), Row: each}
	}
	return tx.Batch(ctx,
		of(selectVotes, func(row *sqldb.Row) error {
			var id string
			var v vote
			if err := row.Scan(&id, &v.stage, &v.approver, &v.user, &v.decision, &v.comment, &v.at); err != nil {
				return err
			}
			byID[id].votes = append(byID[id].votes, v)
			return nil
		}),
		of(selectDeputies, func(row *sqldb.Row) error {
			var id string
			var d deputy
			if err := row.Scan(&id, &d.stage, &d.approver, &d.user, &d.by, &d.comment, &d.at); err != nil {
				return err
			}
			byID[id].deputies = append(byID[id].deputies, d)
			return nil
		}))
}

// insert is the statements that store a new approval.
func (a *instance) insert(tenant string) ([]sqldb.Stmt, error) {
	stages, err := json.Marshal(a.stages)
	if err != nil {
		return nil, err
	}
	outcomes, err := json.Marshal(a.outcomes, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	locked, err := json.Marshal(a.locked)
	return append([]sqldb.Stmt{{Query: insertInstance, Args: []any{
		tenant, a.id, a.object, a.recordID, a.processID, a.processName, string(stages), string(locked), a.submittedBy,
		a.submittedAt, a.comment, a.recordVersion, a.execution, a.correlationID, a.version, string(outcomes),
	}}}, a.principals(tenant)...), err
}

// principals are the statements that store whom the open stage waits for.
func (a *instance) principals(tenant string) []sqldb.Stmt {
	stmts := []sqldb.Stmt{{Query: deletePrincipals, Args: []any{tenant, a.id}}}
	if a.status != Pending {
		return stmts
	}
	for _, who := range a.open().Approvers {
		stmts = append(stmts, sqldb.Stmt{Query: insertPrincipal, Args: []any{tenant, who.Type + ":" + who.ID, a.id}})
	}
	for _, d := range a.deputies {
		if d.stage == a.at {
			stmts = append(stmts, sqldb.Stmt{Query: insertPrincipal, Args: []any{tenant, deputyOf + d.user, a.id}})
		}
	}
	return stmts
}

// update is the statement that stores what can change.
func (a *instance) update(tenant string) sqldb.Stmt {
	return sqldb.Stmt{Query: updateInstance, Args: []any{
		tenant, a.id, int64(a.status), a.at, a.decidedBy, a.decidedAt, a.decision, a.version,
	}}
}

// deputyOf begins the principal of somebody who decides in the place of an approver.
const deputyOf = "Deputy:"

// principalsOf are all that an open stage can wait for a user by, but for the places of
// others.
func principalsOf(m *model.Model, user string) []string {
	all := []string{model.TypeUser + ":" + user}
	if u := m.User(user); u != nil && u.RoleID != "" {
		all = append(all, model.TypeRole+":"+u.RoleID)
	}
	for _, group := range m.GroupsOf(user) {
		all = append(all, model.TypeGroup+":"+group)
	}
	for _, of := range m.ReportsOf(user) {
		all = append(all, model.TypeManager+":"+of)
	}
	return all
}
