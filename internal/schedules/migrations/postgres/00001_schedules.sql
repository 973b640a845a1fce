-- Schedules, and the outcome of each of their due instants. Instants are milliseconds since 1970.

-- +goose Up

-- body is the definition as JSON. next_at is the first due instant without an outcome (0: none comes), counted from
-- since on, and look_at is when somebody looks at the schedule (0: never). Who looks has it until held_until; whoever
-- changes a row makes its revision one more. execution_id is the last execution ('': none), started_at its start.
-- queued counts the instants that wait.
CREATE TABLE schedules_schedule (
	tenant_id    text   NOT NULL COLLATE "C",
	id           text   NOT NULL COLLATE "C",
	body         text   NOT NULL COLLATE "C",
	revision     bigint NOT NULL,
	paused_at    bigint NOT NULL,
	pause_reason text   NOT NULL COLLATE "C",
	since        bigint NOT NULL,
	next_at      bigint NOT NULL,
	look_at      bigint NOT NULL,
	held_until   bigint NOT NULL,
	execution_id text   NOT NULL COLLATE "C",
	started_at   bigint NOT NULL,
	queued       bigint NOT NULL,
	created_at   bigint NOT NULL,
	updated_at   bigint NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE INDEX schedules_schedule_look ON schedules_schedule (look_at, tenant_id);
CREATE INDEX schedules_schedule_due ON schedules_schedule (tenant_id, look_at);

-- A row is the outcome of the due instants from due_at to last_at. origin: 0 the schedule, 1 a backfill. outcome: 1
-- started, 2 skipped, 3 missed, 4 queued. overlapped is the execution that was active then.
CREATE TABLE schedules_run (
	tenant_id    text   NOT NULL COLLATE "C",
	schedule_id  text   NOT NULL COLLATE "C",
	due_at       bigint NOT NULL,
	origin       bigint NOT NULL,
	last_at      bigint NOT NULL,
	instants     bigint NOT NULL,
	outcome      bigint NOT NULL,
	reason       text   NOT NULL COLLATE "C",
	message      text   NOT NULL COLLATE "C",
	execution_id text   NOT NULL COLLATE "C",
	overlapped   text   NOT NULL COLLATE "C",
	decided_at   bigint NOT NULL,
	PRIMARY KEY (tenant_id, schedule_id, due_at, origin)
);
CREATE INDEX schedules_run_queued ON schedules_run (tenant_id, schedule_id, due_at) WHERE outcome = 4;
CREATE INDEX schedules_run_decided ON schedules_run (decided_at);
