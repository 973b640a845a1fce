package test

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// busLog is a table in the place of the engine's log: each row is a change of an execution.
// It is for SQLite, where rows are committed in the order of their numbers.
type busLog struct {
	db    *sqldb.DB
	model events.Event // what all its events look like
}

// executionCanceled is the event of a cancelled execution.
const executionCanceled = `{"eventId":"0198c0de-0015-7000-8000-000000015555","schemaVersion":1,
	"eventType":"ExecutionChanged",
"occurredAt":"2026-01-10T12:34:56.789Z","tenantId":"6f1c2b7e-3d44-4a55-9b0a-5f1e0c9d8a70",
"producer":{"service":"renga","instanceId":"pod-xyz"},
"correlationId":"order-4711",
"sequence":{"partitionKey":"Execution:6f1c2b7e-3d44-4a55-9b0a-5f1e0c9d8a70:0198c0de-0f00-7000-8000-000000aaaa01",
"recordVersion":"2026-01-10T12:34:56.789Z","index":0},"payload":{"executionId":"0198c0de-0f00-7000-8000-000000aaaa01",
"commitNo":3,"firstSeq":7,"lastSeq":9,
"events":[{"eventId":"0198c0de-0f02-7000-8000-000000bbbb02","executionId":"0198c0de-0f00-7000-8000-000000aaaa01",
"seq":9,"type":"EXECUTION_CANCELED",
"occurredAt":"2026-01-10T12:34:56.789Z","actor":{"kind":"user","id":"alice"},"correlationId":"order-4711",
"schemaVersion":1,
"payload":{"reason":"注文の取り消し","canceledAt":"2026-01-10T12:34:56.789Z"}}]}}`

// openBusLog takes a published event as the model.
func openBusLog(db *sqldb.DB) (*busLog, error) {
	model, err := events.ParseEvent([]byte(executionCanceled))
	return &busLog{db: db, model: model}, err
}

// After gives the messages of the rows behind a number.
func (l *busLog) After(ctx context.Context, number int64, limit int) (msgs []bus.Message, upto int64, err error) {
	err = l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		msgs, upto = nil, number
		for row, err := range tx.Query(ctx,
			"SELECT number, execution FROM test_log WHERE number > $1 ORDER BY number LIMIT $2", number, limit) {
			var execution int64
			if err == nil {
				err = row.Scan(&upto, &execution)
			}
			if err != nil {
				return err
			}
			msgs = append(msgs, l.message(upto, execution))
		}
		return nil
	})
	return msgs, upto, err
}

// message is that of a row. The same row always gives the same.
func (l *busLog) message(number, execution int64) bus.Message {
	e := l.model
	e.ID = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, "log", number)).String()
	e.Tenant = busTenant
	e.Key = events.RecordKey("Execution", busTenant, fmt.Sprint(execution))
	e.Version = canonical.Stamp(number)
	return bus.Message{
		Stream: events.Executions, ID: e.ID, Tenant: e.Tenant, Part: events.Partition(e.Key), Type: e.Type, Key: e.Key,
		OccurredAt: e.OccurredAt,
		Service:    e.Producer.Service, Body: e.AppendJSON(nil), Relay: bus.Relay{Source: number},
	}
}

// Before is the beginning: all rows are young.
func (l *busLog) Before(context.Context, canonical.Stamp) (int64, error) { return 0, nil }
