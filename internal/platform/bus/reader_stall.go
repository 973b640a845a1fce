package bus

import (
	"context"
	"time"
)

// stall is a time without progress. Its begin and end are logged, not every try.
type stall struct{ began time.Time }

func (r *reader) stalled(ctx context.Context, err error) {
	who := []any{"consumer", r.consumer.Name, "partition", r.lease.part}
	switch {
	case ctx.Err() != nil:
	case r.stall.began.IsZero():
		r.stall.began = time.Now()
		r.bus.log.Warn("reader of events was interrupted", append(who, "error", err)...)
	default:
		r.bus.log.Debug("reader of events is interrupted still", append(who, "error", err)...)
	}
}

func (r *reader) resumed() {
	if r.stall.began.IsZero() {
		return
	}
	r.bus.log.Info("reader of events goes on", "consumer", r.consumer.Name, "partition", r.lease.part,
		"ms", time.Since(r.stall.began).Milliseconds())
	r.stall = stall{}
}
