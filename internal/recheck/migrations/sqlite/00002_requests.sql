-- Requests to check strategies again. Instants are milliseconds since 1970.

-- +goose Up

-- body is what was asked for: window, reason, params, trace_id. Its items are checked in
-- batches of batch_size; batch is the number of the one that execution runs, from 1. It has
-- no execution when nothing runs and all that did is written down. status is 0 queued,
-- 1 running, 2 succeeded, 3 failed, 4 partial, 5 canceled; a canceled one may have an
-- execution for a moment longer.
CREATE TABLE pdca_request (
	tenant_id      TEXT    NOT NULL,
	id             TEXT    NOT NULL,
	status         INTEGER NOT NULL,
	dry_run        INTEGER NOT NULL,
	body           TEXT    NOT NULL,
	total          INTEGER NOT NULL,
	batch_size     INTEGER NOT NULL,
	batch          INTEGER NOT NULL,
	execution      TEXT    NOT NULL,
	actor          TEXT    NOT NULL,
	correlation_id TEXT    NOT NULL,
	created_at     INTEGER NOT NULL,
	updated_at     INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX pdca_request_execution ON pdca_request (tenant_id, execution) WHERE execution <> '';
CREATE INDEX pdca_request_ended ON pdca_request (updated_at) WHERE execution = '';

-- n counts from 1. status is 0 queued, 1 running, 2 succeeded, 3 failed, 4 canceled,
-- 5 planned. Of the batch that runs it is the execution that knows.
CREATE TABLE pdca_item (
	tenant_id  TEXT    NOT NULL,
	request_id TEXT    NOT NULL,
	n          INTEGER NOT NULL,
	strategy   TEXT    NOT NULL,
	status     INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, request_id, n)
) WITHOUT ROWID;

-- What came of an item: a JSON object each, or ''.
CREATE TABLE pdca_result (
	tenant_id  TEXT    NOT NULL,
	request_id TEXT    NOT NULL,
	n          INTEGER NOT NULL,
	result     TEXT    NOT NULL,
	error      TEXT    NOT NULL,
	PRIMARY KEY (tenant_id, request_id, n)
);

-- Executions of batches that have ended, written with their end, until what came of them
-- is written down.
CREATE TABLE pdca_ended (
	tenant_id TEXT NOT NULL,
	execution TEXT NOT NULL,
	PRIMARY KEY (tenant_id, execution)
) WITHOUT ROWID;

CREATE TABLE pdca_artifact (
	tenant_id  TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	request_id TEXT    NOT NULL,
	strategy   TEXT    NOT NULL,
	name       TEXT    NOT NULL,
	media_type TEXT    NOT NULL,
	content    BLOB    NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE INDEX pdca_artifact_request ON pdca_artifact (tenant_id, request_id);

-- What URLs of artifacts are signed with: one row, made by whoever needs it first.
CREATE TABLE pdca_signing (
	n      INTEGER NOT NULL PRIMARY KEY,
	secret BLOB    NOT NULL
);

-- The answers that are remembered with idempotency keys; hash is SHA-256.
CREATE TABLE pdca_key (
	tenant   TEXT    NOT NULL,
	endpoint TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	hash     BLOB    NOT NULL,
	members  TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	answer   TEXT    NOT NULL,
	PRIMARY KEY (tenant, endpoint, key)
) WITHOUT ROWID;
CREATE INDEX pdca_key_at ON pdca_key (at);
