package bus

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// DeadLetter is an event that a consumer could not apply.
type DeadLetter struct {
	ID            string
	Tenant        string
	Consumer      string
	Part          int
	Status        Status
	Key           string // partitionKey
	EventID       string
	EventType     string
	Version       canonical.Stamp
	Index         int
	ReasonClass   fault.ReasonClass
	ReasonCode    string
	RetryAdvice   fault.RetryAdvice
	Error         string // last
	Attempts      int
	FirstFailedAt canonical.Stamp
	DeadAt        canonical.Stamp
	RedriveAt     canonical.Stamp // automatically; 0: never
	DecidedBy     string          // "": no decision, or unknown
	DecidedAt     canonical.Stamp
	DecidedIn     string // bulk of the last decision
	Reason        string // of the decision
	EndedAt       canonical.Stamp
	Num           int64 // in the order of first deaths
}

func (l *DeadLetter) version() keyVersion { return keyVersion{l.Version, l.Index, l.EventID} }

func Statuses() []string { return statusNames[:] }

func ParseStatus(name string) (Status, bool) {
	i := slices.Index(statusNames[:], name)
	return Status(max(i, 0)), i >= 0
}

const deadColumns = `num, id, tenant_id, consumer, part, status, partition_key, event_id, event_type, version, idx,
	reason_class, reason_code, retry_advice, error, attempts, first_failed_at, dead_at, redrive_at,
	decided_by, decided_at, decided_in, reason, ended_at`

// scanDead reads deadColumns and more.
func scanDead(row *sqldb.Row, more ...any) (l DeadLetter, err error) {
	err = row.Scan(append([]any{
		&l.Num, &l.ID, &l.Tenant, &l.Consumer, &l.Part, &l.Status, &l.Key, &l.EventID, &l.EventType, &l.Version,
		&l.Index,
		&l.ReasonClass, &l.ReasonCode, &l.RetryAdvice, &l.Error, &l.Attempts, &l.FirstFailedAt, &l.DeadAt, &l.RedriveAt,
		&l.DecidedBy, &l.DecidedAt, &l.DecidedIn, &l.Reason, &l.EndedAt,
	}, more...)...)
	return l, err
}

const selectDead = "SELECT " + deadColumns + ", errors, body FROM bus_dead WHERE id = $1 AND tenant_id = $2"

type deadBody struct {
	failures []Failure
	body     []byte
}

func findDead(ctx context.Context, tx *sqldb.Tx, tenant, id string) (l DeadLetter, b deadBody, err error) {
	var history string
	l, err = scanDead(tx.Row(ctx, selectDead, id, tenant), &history, &b.body)
	if errors.Is(err, sqldb.ErrNoRow) {
		return l, b, deadNotFound(id)
	}
	if err == nil && history != "" {
		err = json.Unmarshal([]byte(history), &b.failures)
	}
	return l, b, err
}

func deadNotFound(id string) error {
	return fault.New(fault.NotFound, "DEAD_LETTER_NOT_FOUND", "there is no dead letter %.64q", id)
}
