package client

import (
	"context"
	"iter"
	"time"
)

// Schedules starts graphs at the times of a clock.
type Schedules struct{ *transport }

// Put stores a schedule. created says that there was none with this id.
func (c Schedules) Put(
	ctx context.Context, id string, d ScheduleDefinition,
) (stored *StoredSchedule, created bool, err error) {
	return put[StoredSchedule](ctx, c.transport, pathOf("/schedules/{id}", id), d)
}

// PutSource stores a schedule that is JSON already.
func (c Schedules) PutSource(
	ctx context.Context, id string, source []byte,
) (stored *StoredSchedule, created bool, err error) {
	return put[StoredSchedule](ctx, c.transport, pathOf("/schedules/{id}", id), source)
}

// Get reads a schedule.
func (c Schedules) Get(ctx context.Context, id string) (*StoredSchedule, error) {
	return get[StoredSchedule](ctx, c.transport, pathOf("/schedules/{id}", id), nil)
}

// List reads a page of the schedules, by id.
func (c Schedules) List(ctx context.Context, at Paging) (*Page[StoredSchedule], error) {
	return list[StoredSchedule](ctx, c.transport, "/schedules", nil, at)
}

// All reads all schedules, by id.
func (c Schedules) All(ctx context.Context) iter.Seq2[StoredSchedule, error] {
	return all[StoredSchedule](ctx, c.transport, "/schedules", 1)
}

// Delete deletes a schedule; its executions go on, and its ledger is retained.
func (c Schedules) Delete(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("/schedules/{id}", id), "")
}

// Next reads so many of the instants at which a schedule comes next, 1 to 100; 0 is 5.
func (c Schedules) Next(ctx context.Context, id string, n int) ([]ScheduleTime, error) {
	times, err := get[scheduleTimes](ctx, c.transport, pathOf("/schedules/{id}/next", id),
		given(map[string]string{"n": number(n)}))
	if err != nil {
		return nil, err
	}
	return times.Items, nil
}

// ScheduleRunFilter is which rows of a ledger are wanted; the zero value is all.
type ScheduleRunFilter struct {
	Outcome  ScheduleOutcome
	From, To time.Time // of due instants; To is not among them
}

// Runs reads a page of the ledger of a schedule, the newest instants first.
func (c Schedules) Runs(
	ctx context.Context, id string, f ScheduleRunFilter, at Paging,
) (*Page[ScheduleRun], error) {
	return list[ScheduleRun](ctx, c.transport, pathOf("/schedules/{id}/runs", id), given(map[string]string{
		"outcome": string(f.Outcome), "from": instant(f.From), "to": instant(f.To),
	}), at)
}

// Pause lets a schedule start nothing until it is resumed.
func (c Schedules) Pause(ctx context.Context, id, reason string) (*StoredSchedule, error) {
	return c.PauseWithKey(ctx, "", id, reason)
}

// PauseWithKey is Pause under a key of the caller.
func (c Schedules) PauseWithKey(ctx context.Context, key, id, reason string) (*StoredSchedule, error) {
	s, _, err := post[*StoredSchedule](ctx, c.transport, pathOf("/schedules/{id}/pause", id), key,
		pauseSchedule{Reason: reason})
	return s, err
}

// Backfill lets the past instants of a window that have no execution wait for one. They are started one after the
// other.
func (c Schedules) Backfill(ctx context.Context, b BackfillSchedule) (*ScheduleBackfill, error) {
	done, _, err := post[*ScheduleBackfill](ctx, c.transport, pathOf("/schedules/{id}/backfill", b.ID), b.Key, b)
	return done, err
}

// CancelBackfill gives up the instants of backfills that wait; what was started goes on.
func (c Schedules) CancelBackfill(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("/schedules/{id}/backfill", id), "")
}

// Resume ends a pause.
func (c Schedules) Resume(ctx context.Context, id string) (*StoredSchedule, error) {
	return c.ResumeWithKey(ctx, "", id)
}

// ResumeWithKey is Resume under a key of the caller.
func (c Schedules) ResumeWithKey(ctx context.Context, key, id string) (*StoredSchedule, error) {
	s, _, err := post[*StoredSchedule](ctx, c.transport, pathOf("/schedules/{id}/resume", id), key, struct{}{})
	return s, err
}
