package main

import (
	"context"
	"fmt"
	"os"

	"github.com/google/uuid"

	"renga.dev/renga/internal/bus"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// busLog is a table in the place of the engine's log: each row is a change of an execution.
// It is for SQLite, where rows are committed in the order of their numbers.
type busLog struct {
	db    *sqldb.DB
	model wire.Event // what all its events look like
}

// openBusLog takes the published event as the model.
func openBusLog(db *sqldb.DB) (*busLog, error) {
	text, err := os.ReadFile("../../internal/wire/testdata/events/" + wire.ExecutionChanged + ".json")
	if err != nil {
		return nil, err
	}
	model, err := wire.ParseEvent(text)
	return &busLog{db: db, model: model}, err
}

// After gives the messages of the rows behind a number.
func (l *busLog) After(ctx context.Context, number int64, limit int) (msgs []bus.Message, upto int64, err error) {
	err = l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		msgs, upto = nil, number
		for row, err := range tx.Query(ctx, "SELECT number, execution FROM test_log WHERE number > $1 ORDER BY number LIMIT $2", number, limit) {
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
	e.Key = wire.RecordKey("Execution", busTenant, fmt.Sprint(execution))
	e.Version = wire.Stamp(number)
	return bus.Message{
		Stream: wire.Executions, ID: e.ID, Tenant: e.Tenant, Part: wire.Partition(e.Key), Type: e.Type, Key: e.Key, OccurredAt: e.OccurredAt,
		Service: e.Producer.Service, Body: e.AppendJSON(nil), Relay: bus.Relay{Source: number},
	}
}

// Before is the beginning: all rows are young.
func (l *busLog) Before(context.Context, wire.Stamp) (int64, error) { return 0, nil }
