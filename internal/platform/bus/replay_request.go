package bus

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Replay delivers a tenant's events of a range of time from the outbox to a consumer again. What it had applied has
// no second effect.
type Replay struct {
	ID        string
	Tenant    string
	Consumer  string
	From, To  canonical.Stamp // of the announcement: inclusive, exclusive
	Status    ReplayStatus
	Counts    ReplayCounts
	CreatedBy string
	CreatedAt canonical.Stamp
	EndedAt   canonical.Stamp
}

type ReplayCounts struct {
	Applied   int64 `json:"applied"`
	Duplicate int64 `json:"duplicate"`
	Stale     int64 `json:"stale"`
	Failed    int64 `json:"failed"`
}

// ReplayStatus is the state of a replay. The values are stored.
type ReplayStatus uint8

const (
	ReplayRunning ReplayStatus = iota
	ReplayDone
	ReplayStopped
)

func (s ReplayStatus) String() string { return [...]string{"RUNNING", "DONE", "STOPPED"}[s] }

// MaxReplays is how many replays of a tenant may run.
const MaxReplays = 10

type ReplayRequest struct {
	Tenant        string
	Consumer      string
	From, To      canonical.Stamp // To 0: now
	Actor         string
	CorrelationID string
	Idempotency   canonical.IdempotencyKey
}

type ReplayOrder struct {
	Tenant        string
	ID            string
	Actor         string
	CorrelationID string
	Idempotency   canonical.IdempotencyKey
}

// ReplayAnswer is stored with the idempotency key.
type ReplayAnswer struct {
	Replay        bool         `json:"-"` // a stored answer; nothing happened now
	ID            string       `json:"id"`
	Status        ReplayStatus `json:"status"`
	CorrelationID string       `json:"corr"`
	Key           string       `json:"key"`
	Refused       Guard        `json:"refused,omitempty"`
}

// StartReplay stores a replay, which the consumer's readers carry out.
func (b *Bus) StartReplay(ctx context.Context, r ReplayRequest) (ans ReplayAnswer, err error) {
	if err := b.replayable(r.Consumer); err != nil {
		return ans, err
	}
	ans, replay, err := once(ctx, b, "bus.replay", r.Tenant, &r.Idempotency,
		func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) (ReplayAnswer, error) {
			ans := ReplayAnswer{
				ID: uuid.Must(uuid.NewV7()).String(), CorrelationID: r.CorrelationID, Key: r.Idempotency.Key,
			}
			return ans, insertReplay(ctx, tx, &r, ans.ID, now)
		})
	ans.Replay = replay
	if err == nil {
		b.wakeReaders(r.Consumer)
	}
	return ans, err
}

// replayable refuses unknown consumers, and those of the engine's log, which is not in the outbox.
func (b *Bus) replayable(consumer string) error {
	i := slices.IndexFunc(b.cfg.Consumers, func(c Consumer) bool { return c.Name == consumer })
	switch {
	case i < 0:
		return fault.New(fault.NotFound, "CONSUMER_NOT_FOUND", "there is no consumer %.64q", consumer)
	case b.cfg.Consumers[i].Stream != events.Events:
		return fault.New(fault.Invalid, canonical.CodeInvalid,
			"%s takes the engine's own events, which are not in the outbox", consumer).
			With(map[string]string{"field": "consumer"})
	}
	return nil
}

func (b *Bus) wakeReaders(consumer string) {
	for part := range events.Partitions {
		b.wakes.wake(readerAssignment(consumer, part))
	}
}

// insertReplay writes a row per partition.
func insertReplay(ctx context.Context, tx *sqldb.Tx, r *ReplayRequest, id string, now canonical.Stamp) error {
	var running int
	err := tx.Row(ctx, "SELECT count(DISTINCT id) FROM bus_replay WHERE tenant_id = $1 AND status = 0",
		r.Tenant).Scan(&running)
	if err != nil {
		return err
	}
	if running >= MaxReplays {
		return fault.New(fault.TooLarge, "TOO_MANY_REPLAYS",
			"there are %d replays that run, the most that there may be; stop one or wait", running).
			With(map[string]int{"maxRunning": MaxReplays})
	}
	to := r.To
	if to == 0 {
		to = now + 1
	}
	place, err := positionAt(ctx, tx, r.From)
	if err != nil {
		return err
	}
	stmts := make([]sqldb.Stmt, events.Partitions)
	for part := range stmts {
		stmts[part] = sqldb.Stmt{
			Query: `INSERT INTO bus_replay (id, part, tenant_id, consumer, from_at, to_at, pos, status, applied,
				duplicate, stale, failed, created_by, created_at, ended_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0, 0, 0, $8, $9, 0)`,
			Args: []any{id, part, r.Tenant, r.Consumer, r.From, to, place, r.Actor, now},
		}
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	detail, _ := json.Marshal(map[string]string{"consumer": r.Consumer, "from": r.From.String(), "to": to.String()},
		json.Deterministic(true))
	return audit.Write(ctx, tx, audit.Entry{
		At: now, Tenant: r.Tenant, Actor: r.Actor, Action: "events.replay", Subject: id, CorrelationID: r.CorrelationID,
		Outcome: audit.Accepted, Detail: detail,
	})
}

// StopReplay ends a replay. Repeating it changes nothing.
func (b *Bus) StopReplay(ctx context.Context, o ReplayOrder) (ans ReplayAnswer, err error) {
	ans, replay, err := once(ctx, b, "bus.replay", o.Tenant, &o.Idempotency,
		func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) (ReplayAnswer, error) {
			return stopReplay(ctx, tx, &o, now)
		})
	ans.Replay = replay
	return ans, err
}

func stopReplay(ctx context.Context, tx *sqldb.Tx, o *ReplayOrder, now canonical.Stamp) (ReplayAnswer, error) {
	ans := ReplayAnswer{ID: o.ID, Status: ReplayStopped, CorrelationID: o.CorrelationID, Key: o.Idempotency.Key}
	n, err := tx.Exec(ctx, `UPDATE bus_replay SET status = 2, ended_at = $3
		WHERE id = $1 AND tenant_id = $2 AND status = 0`, o.ID, o.Tenant, now)
	if err != nil {
		return ans, err
	}
	found, err := findReplay(ctx, tx, o.Tenant, o.ID)
	if err != nil || found.Status == ReplayStopped && n == 0 {
		return ans, err
	}
	e := audit.Entry{
		At: now, Tenant: o.Tenant, Actor: o.Actor, Action: "events.replay.stop", Subject: o.ID,
		CorrelationID: o.CorrelationID, Outcome: audit.Accepted,
	}
	if found.Status == ReplayDone {
		ans.Status, ans.Refused = ReplayDone, GuardReplayRun
		ans.Refused.refuse(&e)
	}
	return ans, audit.Write(ctx, tx, e)
}

// A replay runs while one of its partitions does, and is stopped if one is.
const replayColumns = `id, tenant_id, consumer, from_at, to_at, created_by, created_at,
	CASE WHEN min(status) = 0 THEN 0 ELSE max(status) END, CASE WHEN min(status) = 0 THEN 0 ELSE max(ended_at) END,
	CAST(sum(applied) AS bigint), CAST(sum(duplicate) AS bigint), CAST(sum(stale) AS bigint),
	CAST(sum(failed) AS bigint)`

const replayGroup = " GROUP BY id, tenant_id, consumer, from_at, to_at, created_by, created_at"

func scanReplay(row *sqldb.Row) (r Replay, err error) {
	err = row.Scan(&r.ID, &r.Tenant, &r.Consumer, &r.From, &r.To, &r.CreatedBy, &r.CreatedAt, &r.Status, &r.EndedAt,
		&r.Counts.Applied, &r.Counts.Duplicate, &r.Counts.Stale, &r.Counts.Failed)
	return r, err
}

func findReplay(ctx context.Context, tx *sqldb.Tx, tenant, id string) (Replay, error) {
	r, err := scanReplay(tx.Row(ctx, "SELECT "+replayColumns+" FROM bus_replay WHERE id = $1 AND tenant_id = $2"+
		replayGroup, id, tenant))
	if errors.Is(err, sqldb.ErrNoRow) {
		return r, fault.New(fault.NotFound, "REPLAY_NOT_FOUND", "there is no replay %.64q", id)
	}
	return r, err
}

func (b *Bus) Replay(ctx context.Context, tenant, id string) (r Replay, err error) {
	err = b.read(ctx, "bus.replay", func(ctx context.Context, tx *sqldb.Tx) error {
		r, err = findReplay(ctx, tx, tenant, id)
		return err
	})
	return r, err
}

// Replays is a page of a tenant's replays, newest first, and their number.
func (b *Bus) Replays(ctx context.Context, tenant string, offset, limit int) (page []Replay, total int, err error) {
	err = b.read(ctx, "bus.replays", func(ctx context.Context, tx *sqldb.Tx) error {
		err := tx.Row(ctx, "SELECT count(DISTINCT id) FROM bus_replay WHERE tenant_id = $1", tenant).Scan(&total)
		if err != nil {
			return err
		}
		page, err = sqldb.Collect(ctx, tx, scanReplay, "SELECT "+replayColumns+" FROM bus_replay WHERE tenant_id = $1"+
			replayGroup+" ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3", tenant, limit, offset)
		return err
	})
	return page, total, err
}
