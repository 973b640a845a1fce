-- What rules and jobs do. Instants and versions are milliseconds since 1970; '' is no id.

-- +goose Up

-- What was done, one row an action: for one event, an action of a rule is done once for a
-- record. event_id is the event, or the firing of a job. source: rule, job or event.
-- outcome: 1 done, 2 pending, 3 failed, 4 there was nothing to do. result is the task, the
-- execution, the version of the record, or how many were told. input, tries and retry_at are of
-- a graph that is to be started.
CREATE TABLE automation_run (
	tenant_id  text    NOT NULL COLLATE "C",
	event_id   text    NOT NULL COLLATE "C",
	rule_id    text    NOT NULL COLLATE "C",
	action_key text    NOT NULL COLLATE "C",
	record_id  text    NOT NULL COLLATE "C",
	at         bigint  NOT NULL,
	event_type text    NOT NULL COLLATE "C",
	source     text    NOT NULL COLLATE "C",
	rule_name  text    NOT NULL COLLATE "C",
	type       text    NOT NULL COLLATE "C",
	object     text    NOT NULL COLLATE "C",
	depth      bigint  NOT NULL,
	outcome    bigint  NOT NULL,
	result     text    NOT NULL COLLATE "C",
	error      text    NOT NULL COLLATE "C",
	graph_id   text    NOT NULL COLLATE "C",
	input      text    NOT NULL COLLATE "C",
	tries      bigint  NOT NULL,
	retry_at   bigint  NOT NULL,
	PRIMARY KEY (tenant_id, event_id, rule_id, action_key, record_id)
);
CREATE INDEX automation_run_list ON automation_run (tenant_id, at);
CREATE INDEX automation_run_record ON automation_run (tenant_id, record_id, at);
CREATE INDEX automation_run_rule ON automation_run (tenant_id, rule_id, at);
CREATE INDEX automation_run_failed ON automation_run (tenant_id, at) WHERE outcome = 3;
CREATE INDEX automation_run_pending ON automation_run (retry_at) WHERE outcome = 2;
CREATE INDEX automation_run_old ON automation_run (at) WHERE outcome <> 2;

-- Why a record has a version: an action made it. The event of that version is depth steps
-- behind the first one; actions were done on the way, and chain says which.
CREATE TABLE automation_cause (
	tenant_id text    NOT NULL COLLATE "C",
	object    text    NOT NULL COLLATE "C",
	record_id text    NOT NULL COLLATE "C",
	version   bigint  NOT NULL,
	depth     bigint  NOT NULL,
	actions   bigint  NOT NULL,
	chain     text    NOT NULL COLLATE "C",
	at        bigint  NOT NULL,
	PRIMARY KEY (tenant_id, object, record_id, version)
);
CREATE INDEX automation_cause_old ON automation_cause (at);

-- What users are told.
CREATE TABLE automation_note (
	tenant_id  text    NOT NULL COLLATE "C",
	user_id    text    NOT NULL COLLATE "C",
	id         text    NOT NULL COLLATE "C",
	at         bigint  NOT NULL,
	message    text    NOT NULL COLLATE "C",
	object     text    NOT NULL COLLATE "C",
	record_id  text    NOT NULL COLLATE "C",
	source     text    NOT NULL COLLATE "C",
	rule_id    text    NOT NULL COLLATE "C",
	action_key text    NOT NULL COLLATE "C",
	event_id   text    NOT NULL COLLATE "C",
	read_at    bigint  NOT NULL,
	PRIMARY KEY (tenant_id, user_id, id)
);
CREATE INDEX automation_note_unread ON automation_note (tenant_id, user_id, id) WHERE read_at = 0;
CREATE INDEX automation_note_old ON automation_note (at);

-- What users are to do. assignee is a type, a colon and an id: whoever is meant by it may
-- complete the task. due_on is a date. done_at is 0 as long as it is open.
CREATE TABLE automation_task (
	tenant_id  text    NOT NULL COLLATE "C",
	id         text    NOT NULL COLLATE "C",
	assignee   text    NOT NULL COLLATE "C",
	at         bigint  NOT NULL,
	message    text    NOT NULL COLLATE "C",
	due_on     text    NOT NULL COLLATE "C",
	object     text    NOT NULL COLLATE "C",
	record_id  text    NOT NULL COLLATE "C",
	source     text    NOT NULL COLLATE "C",
	rule_id    text    NOT NULL COLLATE "C",
	action_key text    NOT NULL COLLATE "C",
	event_id   text    NOT NULL COLLATE "C",
	done_at    bigint  NOT NULL,
	done_by    text    NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, id)
);
CREATE INDEX automation_task_open ON automation_task (tenant_id, assignee, due_on, id) WHERE done_at = 0;
CREATE INDEX automation_task_done ON automation_task (tenant_id, assignee, done_at, id) WHERE done_at > 0;
CREATE INDEX automation_task_old ON automation_task (done_at) WHERE done_at > 0;

-- Who asked for an approval, until it is decided.
CREATE TABLE automation_approval (
	tenant_id    text    NOT NULL COLLATE "C",
	approval_id  text    NOT NULL COLLATE "C",
	submitted_by text    NOT NULL COLLATE "C",
	at           bigint  NOT NULL,
	PRIMARY KEY (tenant_id, approval_id)
);
CREATE INDEX automation_approval_old ON automation_approval (at);

-- When jobs come. next_at was made of cron and time_zone; 0: never. fired_at is the time of
-- the last firing, missed how many were left out before it; while it is running, place is the
-- record up to which it got.
CREATE TABLE automation_job (
	tenant_id  text    NOT NULL COLLATE "C",
	job_id     text    NOT NULL COLLATE "C",
	cron       text    NOT NULL COLLATE "C",
	time_zone  text    NOT NULL COLLATE "C",
	next_at    bigint  NOT NULL,
	fired_at   bigint  NOT NULL,
	missed     bigint  NOT NULL,
	started_at bigint  NOT NULL,
	ended_at   bigint  NOT NULL,
	running    bigint  NOT NULL,
	place      text    NOT NULL COLLATE "C",
	seen       bigint  NOT NULL,
	matched    bigint  NOT NULL,
	failed     bigint  NOT NULL,
	PRIMARY KEY (tenant_id, job_id)
);
CREATE INDEX automation_job_due ON automation_job (next_at) WHERE next_at > 0 AND running = 0;
CREATE INDEX automation_job_running ON automation_job (started_at) WHERE running = 1;
