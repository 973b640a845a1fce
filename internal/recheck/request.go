package recheck

import (
	"context"
	"errors"
	"regexp"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// request is a row of pdca_request.
type request struct {
	id            string
	status        Status
	dryRun        bool
	brief         brief
	total         int
	batchSize     int
	batch         int    // the one that runs, from 1
	execution     string // that runs it; "": none does
	actor         string
	correlationID string
	createdAt     canonical.Stamp
	updatedAt     canonical.Stamp
}

// ulidForm is what the ids of requests and artifacts are like; no other reaches the
// database.
var ulidForm = regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}$`)

const (
	requestColumns = "id, status, dry_run, body, total, batch_size, batch, execution, actor, correlation_id, " +
		"created_at, updated_at"

	selectRequest     = "SELECT " + requestColumns + " FROM pdca_request WHERE tenant_id = $1 AND id = $2"
	selectByExecution = "SELECT " + requestColumns +
		" FROM pdca_request WHERE tenant_id = $1 AND execution = $2 AND execution <> ''"
)

func scanRequest(row *sqldb.Row) (q request, err error) {
	var body string
	var dry int64
	err = row.Scan(&q.id, &q.status, &dry, &body, &q.total, &q.batchSize, &q.batch, &q.execution, &q.actor,
		&q.correlationID, &q.createdAt, &q.updatedAt)
	if err == nil {
		q.dryRun = dry != 0
		err = json.Unmarshal([]byte(body), &q.brief)
	}
	return q, err
}

// find is a request of a tenant. lock holds it until the transaction ends.
func find(ctx context.Context, tx *sqldb.Tx, tenant, id, lock string) (request, error) {
	if !ulidForm.MatchString(id) {
		return request{}, fault.New(fault.NotFound, "", "there is no request %.64q", id)
	}
	q, err := scanRequest(tx.Row(ctx, selectRequest+lock, tenant, id))
	if errors.Is(err, sqldb.ErrNoRow) {
		err = fault.New(fault.NotFound, "", "there is no request %.64q", id)
	}
	return q, err
}

// insert is the statement that stores a new request.
func (q *request) insert(tenant string) (sqldb.Stmt, error) {
	body, err := json.Marshal(&q.brief)
	dry := 0
	if q.dryRun {
		dry = 1
	}
	return sqldb.Stmt{
		Query: `INSERT INTO pdca_request (tenant_id, ` + requestColumns + `)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		Args: []any{
			tenant, q.id, int64(q.status), dry, string(body), q.total, q.batchSize, q.batch, q.execution,
			q.actor, q.correlationID, int64(q.createdAt), int64(q.updatedAt),
		},
	}, err
}

// update is the statement that stores what can change.
func (q *request) update(tenant string) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "UPDATE pdca_request SET status = $3, batch = $4, execution = $5, updated_at = $6 WHERE tenant_id = " +
			"$1 AND id = $2",
		Args: []any{tenant, q.id, int64(q.status), q.batch, q.execution, int64(q.updatedAt)},
	}
}

// span is the numbers of the items of the batch that runs: those above low, up to high.
func (q *request) span() (low, high int) {
	low = (q.batch - 1) * q.batchSize
	return low, min(low+q.batchSize, q.total)
}

// insertItems stores the items of a request.
var insertItems = sqldb.NewInsert("pdca_item (tenant_id, request_id, n, strategy, status)", "",
	"text", "text", "bigint", "text", "bigint")

const selectSpan = "SELECT strategy FROM pdca_item WHERE tenant_id = $1 AND request_id = $2 AND n > $3 AND n <= $4 " +
	"ORDER BY n"

// strategiesOf are the strategies of the items above low, up to high.
func strategiesOf(ctx context.Context, tx *sqldb.Tx, tenant, id string, low, high int) ([]string, error) {
	return sqldb.Collect(ctx, tx, sqldb.Column[string], selectSpan, tenant, id, low, high)
}
