package schedules

import (
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// Outcome is what became of due instants. The numbers are stored.
type Outcome int64

// The outcomes.
const (
	Started Outcome = 1 // an execution was started
	Skipped Outcome = 2 // none, for a reason
	Missed  Outcome = 3 // none: nobody decided about them within the catch-up window
	Queued  Outcome = 4 // one will be, when the active one has ended
)

var outcomes = [...]string{Started: "STARTED", Skipped: "SKIPPED", Missed: "MISSED", Queued: "QUEUED"}

func (o Outcome) String() string { return outcomes[o] }

// MarshalText writes the word.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(outcomes[o]), nil }

// ParseOutcome is an outcome by its word.
func ParseOutcome(word string) (Outcome, bool) {
	at := slices.Index(outcomes[:], word)
	return Outcome(at), at >= int(Started)
}

// Origin is what made an instant due. The numbers are stored.
type Origin int64

// The origins.
const (
	BySchedule Origin = 0
	ByBackfill Origin = 1
)

// MarshalText writes the word.
func (o Origin) MarshalText() ([]byte, error) {
	return []byte([...]string{BySchedule: "schedule", ByBackfill: "backfill"}[o]), nil
}

// The reasons of Skipped.
const (
	Overlapping = "OVERLAP"    // the execution started last was still active
	Superseded  = "SUPERSEDED" // a newer instant was due as well when somebody looked
	Paused      = "PAUSED"     // the schedule was paused
	QueueFull   = "QUEUE_FULL" // MaxQueued instants were waiting
	Refused     = "REFUSED"    // the execution could not be started; the message says why
	Changed     = "CHANGED"    // it waited, and the schedule was changed to another policy
	Deleted     = "DELETED"    // it waited, and the schedule was deleted
	Canceled    = "CANCELED"   // it waited, and the backfill was cancelled
)

// Run is a row of the ledger: the outcome of one due instant, or of several that follow each other.
type Run struct {
	DueAt       canonical.Stamp `json:"dueAt"`
	LastAt      canonical.Stamp `json:"lastAt"`
	Instants    int64           `json:"instants"`
	Origin      Origin          `json:"origin"`
	Outcome     Outcome         `json:"outcome"`
	Reason      string          `json:"reason,omitzero"`
	Message     string          `json:"message,omitzero"`
	ExecutionID string          `json:"executionId,omitzero"`
	// Overlapped is the execution that was active: with Started it was cancelled for this one.
	Overlapped string          `json:"overlapped,omitzero"`
	DecidedAt  canonical.Stamp `json:"decidedAt"`
}

const runColumns = "due_at, last_at, instants, origin, outcome, reason, message, execution_id, overlapped, decided_at"

func scanRun(row *sqldb.Row) (r Run, err error) {
	err = row.Scan(&r.DueAt, &r.LastAt, &r.Instants, &r.Origin, &r.Outcome, &r.Reason, &r.Message, &r.ExecutionID,
		&r.Overlapped, &r.DecidedAt)
	return r, err
}

var insertRuns = sqldb.NewInsert("schedules_run (tenant_id, schedule_id, "+runColumns+")", "", "text", "text",
	"bigint", "bigint", "bigint", "bigint", "bigint", "text", "text", "text", "text", "bigint")

func (r *Run) values(tenant, id string) []any {
	return []any{
		tenant, id, r.DueAt, r.LastAt, r.Instants, r.Origin, r.Outcome, r.Reason, r.Message, r.ExecutionID,
		r.Overlapped, r.DecidedAt,
	}
}
