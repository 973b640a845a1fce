package bus

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// handleTimeout limits a handler that is called alone. PostgreSQL lets a transaction idle for longer.
const handleTimeout = 4 * time.Second

// invoker calls the consumer's handlers with a time limit, recovers panics, and detects poison events.
type invoker struct {
	partition
	poison poisonDetector
}

// handleAll calls the batch handler if there is one. Which event was slow or panicked is then unknown; if it matters
// they are applied again one by one.
func (iv *invoker) handleAll(ctx context.Context, tx *sqldb.Tx, todo []*item) (err error) {
	if iv.consumer.HandleAll == nil || len(todo) < 2 {
		for _, it := range todo {
			if err := iv.handle(ctx, tx, &it.event); err != nil {
				return err
			}
		}
		return nil
	}
	batch := make([]*events.Event, len(todo))
	for i, it := range todo {
		batch[i] = &it.event
		if guilty := iv.poison.failureOf(it.event.ID); guilty != nil {
			return guilty
		}
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler panicked: %v", p) // it will again, alone
		}
	}()
	for _, e := range batch {
		iv.poison.noteCall(e.ID, 0)
	}
	err = iv.consumer.HandleAll(ctx, tx, batch)
	iv.bus.cfg.Passed("reader.handled")
	return err
}

func (iv *invoker) handle(ctx context.Context, tx *sqldb.Tx, e *events.Event) (err error) {
	defer iv.recovered("a handler of events panicked", e, &err)
	if guilty := iv.poison.failureOf(e.ID); guilty != nil {
		return guilty
	}
	began := time.Now()
	err = iv.consumer.Handle(ctx, tx, e)
	iv.poison.noteCall(e.ID, time.Since(began))
	iv.bus.cfg.Passed("reader.handled")
	return err
}

func (iv *invoker) handleSkipped(ctx context.Context, tx *sqldb.Tx, e *events.Event) (err error) {
	if iv.consumer.GivenUp == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	defer iv.recovered("a handler of skipped events panicked", e, &err)
	return iv.consumer.GivenUp(ctx, tx, e)
}

// recovered makes an error of a panic, and logs it. It must be deferred.
func (iv *invoker) recovered(message string, e *events.Event, err *error) {
	if p := recover(); p != nil {
		iv.bus.log.Error(message, "consumer", iv.consumer.Name, "eventType", e.Type, "stack", string(debug.Stack()))
		*err = fmt.Errorf("the handler panicked: %v", p)
	}
}
