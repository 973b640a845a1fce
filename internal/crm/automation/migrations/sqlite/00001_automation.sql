-- What rules and jobs do. Instants and versions are milliseconds since 1970; '' is no id.

-- +goose Up

-- What was done, one row an action: for one event, an action of a rule is done once for a
-- record. event_id is the event, or the firing of a job. source: rule, job or event.
-- outcome: 1 done, 2 pending, 3 failed, 4 there was nothing to do. result is the task, the
-- execution, the version of the record, or how many were told. input, tries and retry_at are of
-- a graph that is to be started.
CREATE TABLE automation_run (
	tenant_id  TEXT    NOT NULL,
	event_id   TEXT    NOT NULL,
	rule_id    TEXT    NOT NULL,
	action_key TEXT    NOT NULL,
	record_id  TEXT    NOT NULL,
	at         INTEGER NOT NULL,
	event_type TEXT    NOT NULL,
	source     TEXT    NOT NULL,
	rule_name  TEXT    NOT NULL,
	type       TEXT    NOT NULL,
	object     TEXT    NOT NULL,
	depth      INTEGER NOT NULL,
	outcome    INTEGER NOT NULL,
	result     TEXT    NOT NULL,
	error      TEXT    NOT NULL,
	graph_id   TEXT    NOT NULL,
	input      TEXT    NOT NULL,
	tries      INTEGER NOT NULL,
	retry_at   INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, event_id, rule_id, action_key, record_id)
) WITHOUT ROWID;
CREATE INDEX automation_run_list ON automation_run (tenant_id, at);
CREATE INDEX automation_run_record ON automation_run (tenant_id, record_id, at);
CREATE INDEX automation_run_rule ON automation_run (tenant_id, rule_id, at);
CREATE INDEX automation_run_failed ON automation_run (tenant_id, at) WHERE outcome = 3;
CREATE INDEX automation_run_pending ON automation_run (retry_at) WHERE outcome = 2;
CREATE INDEX automation_run_old ON automation_run (at) WHERE outcome <> 2;

-- Why a record has a version: an action made it. The event of that version is depth steps
-- behind the first one; actions were done on the way, and chain says which.
CREATE TABLE automation_cause (
	tenant_id TEXT    NOT NULL,
	object    TEXT    NOT NULL,
	record_id TEXT    NOT NULL,
	version   INTEGER NOT NULL,
	depth     INTEGER NOT NULL,
	actions   INTEGER NOT NULL,
	chain     TEXT    NOT NULL,
	at        INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, object, record_id, version)
) WITHOUT ROWID;
CREATE INDEX automation_cause_old ON automation_cause (at);

-- What users are told.
CREATE TABLE automation_note (
	tenant_id  TEXT    NOT NULL,
	user_id    TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	at         INTEGER NOT NULL,
	message    TEXT    NOT NULL,
	object     TEXT    NOT NULL,
	record_id  TEXT    NOT NULL,
	source     TEXT    NOT NULL,
	rule_id    TEXT    NOT NULL,
	action_key TEXT    NOT NULL,
	event_id   TEXT    NOT NULL,
	read_at    INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, user_id, id)
) WITHOUT ROWID;
CREATE INDEX automation_note_unread ON automation_note (tenant_id, user_id, id) WHERE read_at = 0;
CREATE INDEX automation_note_old ON automation_note (at);

-- What users are to do. assignee is a type, a colon and an id: whoever is meant by it may
-- complete the task. due_on is a date. done_at is 0 as long as it is open.
CREATE TABLE automation_task (
	tenant_id  TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	assignee   TEXT    NOT NULL,
	at         INTEGER NOT NULL,
	message    TEXT    NOT NULL,
	due_on     TEXT    NOT NULL,
	object     TEXT    NOT NULL,
	record_id  TEXT    NOT NULL,
	source     TEXT    NOT NULL,
	rule_id    TEXT    NOT NULL,
	action_key TEXT    NOT NULL,
	event_id   TEXT    NOT NULL,
	done_at    INTEGER NOT NULL,
	done_by    TEXT    NOT NULL,
	PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE INDEX automation_task_open ON automation_task (tenant_id, assignee, due_on, id) WHERE done_at = 0;
CREATE INDEX automation_task_done ON automation_task (tenant_id, assignee, done_at, id) WHERE done_at > 0;
CREATE INDEX automation_task_old ON automation_task (done_at) WHERE done_at > 0;

-- Who asked for an approval, until it is decided.
CREATE TABLE automation_approval (
	tenant_id    TEXT    NOT NULL,
	approval_id  TEXT    NOT NULL,
	submitted_by TEXT    NOT NULL,
	at           INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, approval_id)
) WITHOUT ROWID;
CREATE INDEX automation_approval_old ON automation_approval (at);

-- When jobs come. next_at was made of cron and time_zone; 0: never. fired_at is the time of
-- the last firing, missed how many were left out before it; while it is running, place is the
-- record up to which it got.
CREATE TABLE automation_job (
	tenant_id  TEXT    NOT NULL,
	job_id     TEXT    NOT NULL,
	cron       TEXT    NOT NULL,
	time_zone  TEXT    NOT NULL,
	next_at    INTEGER NOT NULL,
	fired_at   INTEGER NOT NULL,
	missed     INTEGER NOT NULL,
	started_at INTEGER NOT NULL,
	ended_at   INTEGER NOT NULL,
	running    INTEGER NOT NULL,
	place      TEXT    NOT NULL,
	seen       INTEGER NOT NULL,
	matched    INTEGER NOT NULL,
	failed     INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, job_id)
) WITHOUT ROWID;
CREATE INDEX automation_job_due ON automation_job (next_at) WHERE next_at > 0 AND running = 0;
CREATE INDEX automation_job_running ON automation_job (started_at) WHERE running = 1;
