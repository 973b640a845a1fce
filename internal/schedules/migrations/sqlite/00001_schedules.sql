-- Schedules, and the outcome of each of their due instants. Instants are milliseconds since 1970.

-- +goose Up

-- body is the definition as JSON. next_at is the first due instant without an outcome (0: none comes), counted from
-- since on, and look_at is when somebody looks at the schedule (0: never). Who looks has it until held_until; whoever
-- changes a row makes its revision one more. execution_id is the last execution ('': none), started_at its start.
-- queued counts the instants that wait.
CREATE TABLE schedules_schedule (
	tenant_id    TEXT    NOT NULL,
	id           TEXT    NOT NULL,
	body         TEXT    NOT NULL,
	revision     INTEGER NOT NULL,
	paused_at    INTEGER NOT NULL,
	pause_reason TEXT    NOT NULL,
	since        INTEGER NOT NULL,
	next_at      INTEGER NOT NULL,
	look_at      INTEGER NOT NULL,
	held_until   INTEGER NOT NULL,
	execution_id TEXT    NOT NULL,
	started_at   INTEGER NOT NULL,
	queued       INTEGER NOT NULL,
	created_at   INTEGER NOT NULL,
	updated_at   INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE INDEX schedules_schedule_look ON schedules_schedule (look_at, tenant_id);
CREATE INDEX schedules_schedule_due ON schedules_schedule (tenant_id, look_at);

-- A row is the outcome of the due instants from due_at to last_at. origin: 0 the schedule, 1 a backfill. outcome: 1
-- started, 2 skipped, 3 missed, 4 queued. overlapped is the execution that was active then.
CREATE TABLE schedules_run (
	tenant_id    TEXT    NOT NULL,
	schedule_id  TEXT    NOT NULL,
	due_at       INTEGER NOT NULL,
	origin       INTEGER NOT NULL,
	last_at      INTEGER NOT NULL,
	instants     INTEGER NOT NULL,
	outcome      INTEGER NOT NULL,
	reason       TEXT    NOT NULL,
	message      TEXT    NOT NULL,
	execution_id TEXT    NOT NULL,
	overlapped   TEXT    NOT NULL,
	decided_at   INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, schedule_id, due_at, origin)
) WITHOUT ROWID;
CREATE INDEX schedules_run_queued ON schedules_run (tenant_id, schedule_id, due_at) WHERE outcome = 4;
CREATE INDEX schedules_run_decided ON schedules_run (decided_at);
