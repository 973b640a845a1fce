-- Approvals of records. Instants and versions are milliseconds since 1970; '' is no id.

-- +goose Up

-- status: 0 pending, 1 approved, 2 rejected, 3 recalled. stages and locked are JSON: the
-- steps of the process and its locked fields, as they were when it was submitted. stage
-- is the one that is open, or in which it ended. record_version is the record as it was
-- submitted; meets says whether the process would take it as it was last looked at.
-- version rises with every event.
CREATE TABLE approval_instance (
	tenant_id        text    NOT NULL COLLATE "C",
	id               text    NOT NULL COLLATE "C",
	object           text    NOT NULL COLLATE "C",
	record_id        text    NOT NULL COLLATE "C",
	process_id       text    NOT NULL COLLATE "C",
	process_name     text    NOT NULL COLLATE "C",
	status           bigint  NOT NULL,
	stage            bigint  NOT NULL,
	stages           text    NOT NULL COLLATE "C",
	locked           text    NOT NULL COLLATE "C",
	submitted_by     text    NOT NULL COLLATE "C",
	submitted_at     bigint  NOT NULL,
	comment          text    NOT NULL COLLATE "C",
	record_version   bigint  NOT NULL,
	meets            bigint  NOT NULL,
	decided_by       text    NOT NULL COLLATE "C",
	decided_at       bigint  NOT NULL,
	decision_comment text    NOT NULL COLLATE "C",
	execution        text    NOT NULL COLLATE "C",
	correlation_id   text    NOT NULL COLLATE "C",
	version          bigint  NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
-- A record has one approval that is pending.
CREATE UNIQUE INDEX approval_instance_pending ON approval_instance (tenant_id, object, record_id) WHERE status = 0;
CREATE UNIQUE INDEX approval_instance_execution ON approval_instance (tenant_id, execution);
CREATE INDEX approval_instance_newest ON approval_instance (tenant_id, submitted_at, id);
CREATE INDEX approval_instance_status ON approval_instance (tenant_id, status, submitted_at, id);
CREATE INDEX approval_instance_record ON approval_instance (tenant_id, record_id, submitted_at, id);
CREATE INDEX approval_instance_submitter ON approval_instance (tenant_id, submitted_by, submitted_at, id);

-- Whom the open stages of approvals wait for: User:, Role: and Group: as the step names
-- them, Deputy: for whom an approver has asked to decide.
CREATE TABLE approval_principal (
	tenant_id   text NOT NULL COLLATE "C",
	principal   text NOT NULL COLLATE "C",
	approval_id text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, principal, approval_id)
);
CREATE INDEX approval_principal_of ON approval_principal (tenant_id, approval_id);

-- What was decided in a stage in the place of an approver, by it or by its deputy.
CREATE TABLE approval_vote (
	tenant_id   text    NOT NULL COLLATE "C",
	approval_id text    NOT NULL COLLATE "C",
	stage       bigint  NOT NULL,
	approver_id text    NOT NULL COLLATE "C",
	user_id     text    NOT NULL COLLATE "C",
	decision    bigint  NOT NULL,
	comment     text    NOT NULL COLLATE "C",
	at          bigint  NOT NULL,
	PRIMARY KEY (tenant_id, approval_id, stage, approver_id)
);

-- Who decides in the place of an approver.
CREATE TABLE approval_deputy (
	tenant_id   text    NOT NULL COLLATE "C",
	approval_id text    NOT NULL COLLATE "C",
	stage       bigint  NOT NULL,
	approver_id text    NOT NULL COLLATE "C",
	user_id     text    NOT NULL COLLATE "C",
	given_by    text    NOT NULL COLLATE "C",
	comment     text    NOT NULL COLLATE "C",
	at          bigint  NOT NULL,
	PRIMARY KEY (tenant_id, approval_id, stage, approver_id)
);

-- Executions that ended and whose approvals nobody has looked at since.
CREATE TABLE approval_ended (
	tenant_id text NOT NULL COLLATE "C",
	execution text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, execution)
);

-- Tenants whose open stages have to be looked at: users, roles or permissions changed.
-- event is the last that said so.
CREATE TABLE approval_stale (
	tenant_id text NOT NULL COLLATE "C" PRIMARY KEY,
	event     text NOT NULL COLLATE "C"
);

-- Requests that may be repeated, with their answers; see internal/once.
CREATE TABLE approval_once (
	tenant   text    NOT NULL COLLATE "C",
	endpoint text    NOT NULL COLLATE "C",
	key      text    NOT NULL COLLATE "C",
	hash     bytea    NOT NULL,
	members  text    NOT NULL COLLATE "C",
	at       bigint  NOT NULL,
	answer   text    NOT NULL COLLATE "C",
	PRIMARY KEY (tenant, endpoint, key)
);
CREATE INDEX approval_once_at ON approval_once (at);
