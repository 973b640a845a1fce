package schedules

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Schedule is a schedule and how far it is.
type Schedule struct {
	ID string `json:"id"`
	Definition
	Paused      bool            `json:"paused"`
	PausedAt    canonical.Stamp `json:"pausedAt,omitzero"`
	PauseReason string          `json:"pauseReason,omitzero"`
	NextAt      canonical.Stamp `json:"nextAt,omitzero"` // 0: it never comes again
	ExecutionID string          `json:"executionId,omitzero"`
	StartedAt   canonical.Stamp `json:"startedAt,omitzero"` // of that execution
	Queued      int             `json:"queued"`             // instants that wait, also those of backfills
	CreatedAt   canonical.Stamp `json:"createdAt"`
	UpdatedAt   canonical.Stamp `json:"updatedAt"`
}

// row is a schedule as it is stored.
type row struct {
	Schedule
	body     string
	revision int64
	since    canonical.Stamp // from when on its instants have outcomes
	look     canonical.Stamp
	held     canonical.Stamp
}

const rowColumns = "id, body, revision, paused_at, pause_reason, since, next_at, look_at, held_until, execution_id, " +
	"started_at, queued, created_at, updated_at"

const (
	selectRow  = "SELECT " + rowColumns + " FROM schedules_schedule WHERE tenant_id = $1 AND id = $2"
	selectRows = "SELECT " + rowColumns + " FROM schedules_schedule WHERE tenant_id = $1 ORDER BY id LIMIT $2 OFFSET $3"
	countRows  = "SELECT count(*) FROM schedules_schedule WHERE tenant_id = $1"
)

func scanRow(from *sqldb.Row) (r row, err error) {
	err = from.Scan(&r.ID, &r.body, &r.revision, &r.PausedAt, &r.PauseReason, &r.since, &r.NextAt, &r.look, &r.held,
		&r.ExecutionID, &r.StartedAt, &r.Queued, &r.CreatedAt, &r.UpdatedAt)
	if err != nil {
		return r, err
	}
	r.Paused = r.PausedAt > 0
	return r, json.Unmarshal([]byte(r.body), &r.Definition)
}

func scanSchedule(from *sqldb.Row) (Schedule, error) {
	r, err := scanRow(from)
	return r.Schedule, err
}

// lock reads a schedule and holds it until the transaction ends; found says that there is one.
func lock(ctx context.Context, tx *sqldb.Tx, tenant, id string) (r row, found bool, err error) {
	r, err = scanRow(tx.Row(ctx, selectRow+forUpdate(tx, ""), tenant, id))
	if errors.Is(err, sqldb.ErrNoRow) {
		return r, false, nil
	}
	return r, err == nil, err
}

// insert is the statement that stores a new schedule, unless somebody else has just stored one.
func (r *row) insert(tenant string) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "INSERT INTO schedules_schedule (tenant_id, " + rowColumns +
			") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)" +
			" ON CONFLICT (tenant_id, id) DO NOTHING",
		Args: r.args(tenant),
	}
}

// update is the statement that stores a schedule whose row is locked. Whoever decided about the row as it was before
// notices by the revision.
func (r *row) update(tenant string) sqldb.Stmt {
	r.revision++
	return sqldb.Stmt{
		Query: `UPDATE schedules_schedule SET body = $3, revision = $4, paused_at = $5, pause_reason = $6, since = $7,
			next_at = $8, look_at = $9, held_until = $10, execution_id = $11, started_at = $12, queued = $13,
			created_at = $14, updated_at = $15 WHERE tenant_id = $1 AND id = $2`,
		Args: r.args(tenant),
	}
}

func (r *row) args(tenant string) []any {
	return []any{
		tenant, r.ID, r.body, r.revision, r.PausedAt, r.PauseReason, r.since, r.NextAt, r.look, r.held, r.ExecutionID,
		r.StartedAt, r.Queued, r.CreatedAt, r.UpdatedAt,
	}
}

// unknown says that there is no such schedule.
func unknown(id string) error {
	return fault.New(fault.NotFound, "SCHEDULE_NOT_FOUND",
		"there is no schedule %.80q; store it with PUT /schedules/{id}", id)
}
