-- Approvals of records. Instants and versions are milliseconds since 1970; '' is no id.

-- +goose Up

-- status: 0 pending, 1 approved, 2 rejected, 3 recalled. stages and locked are JSON: the
-- steps of the process and its locked fields, as they were when it was submitted. stage
-- is the one that is open, or in which it ended. record_version is the record as it was
-- submitted; meets says whether the process would take it as it was last looked at.
-- version rises with every event.
CREATE TABLE approval_instance (
	tenant_id        TEXT    NOT NULL,
	id               TEXT    NOT NULL,
	object           TEXT    NOT NULL,
	record_id        TEXT    NOT NULL,
	process_id       TEXT    NOT NULL,
	process_name     TEXT    NOT NULL,
	status           INTEGER NOT NULL,
	stage            INTEGER NOT NULL,
	stages           TEXT    NOT NULL,
	locked           TEXT    NOT NULL,
	submitted_by     TEXT    NOT NULL,
	submitted_at     INTEGER NOT NULL,
	comment          TEXT    NOT NULL,
	record_version   INTEGER NOT NULL,
	meets            INTEGER NOT NULL,
	decided_by       TEXT    NOT NULL,
	decided_at       INTEGER NOT NULL,
	decision_comment TEXT    NOT NULL,
	execution        TEXT    NOT NULL,
	correlation_id   TEXT    NOT NULL,
	version          INTEGER NOT NULL,
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
	tenant_id   TEXT NOT NULL,
	principal   TEXT NOT NULL,
	approval_id TEXT NOT NULL,
	PRIMARY KEY (tenant_id, principal, approval_id)
) WITHOUT ROWID;
CREATE INDEX approval_principal_of ON approval_principal (tenant_id, approval_id);

-- What was decided in a stage in the place of an approver, by it or by its deputy.
CREATE TABLE approval_vote (
	tenant_id   TEXT    NOT NULL,
	approval_id TEXT    NOT NULL,
	stage       INTEGER NOT NULL,
	approver_id TEXT    NOT NULL,
	user_id     TEXT    NOT NULL,
	decision    INTEGER NOT NULL,
	comment     TEXT    NOT NULL,
	at          INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, approval_id, stage, approver_id)
) WITHOUT ROWID;

-- Who decides in the place of an approver.
CREATE TABLE approval_deputy (
	tenant_id   TEXT    NOT NULL,
	approval_id TEXT    NOT NULL,
	stage       INTEGER NOT NULL,
	approver_id TEXT    NOT NULL,
	user_id     TEXT    NOT NULL,
	given_by    TEXT    NOT NULL,
	comment     TEXT    NOT NULL,
	at          INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, approval_id, stage, approver_id)
) WITHOUT ROWID;

-- Executions that ended and whose approvals nobody has looked at since.
CREATE TABLE approval_ended (
	tenant_id TEXT NOT NULL,
	execution TEXT NOT NULL,
	PRIMARY KEY (tenant_id, execution)
) WITHOUT ROWID;

-- Tenants whose open stages have to be looked at: users, roles or permissions changed.
-- event is the last that said so.
CREATE TABLE approval_stale (
	tenant_id TEXT NOT NULL PRIMARY KEY,
	event     TEXT NOT NULL
) WITHOUT ROWID;

-- Requests that may be repeated, with their answers; see internal/once.
CREATE TABLE approval_once (
	tenant   TEXT    NOT NULL,
	endpoint TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	hash     BLOB    NOT NULL,
	members  TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	answer   TEXT    NOT NULL,
	PRIMARY KEY (tenant, endpoint, key)
) WITHOUT ROWID;
CREATE INDEX approval_once_at ON approval_once (at);
