-- Requests to check strategies again. Instants are milliseconds since 1970.

-- +goose Up

-- body is what was asked for: window, reason, params, trace_id. Its items are checked in
-- batches of batch_size; batch is the number of the one that execution runs, from 1. It has
-- no execution when nothing runs and all that did is written down. status is 0 queued,
-- 1 running, 2 succeeded, 3 failed, 4 partial, 5 canceled; a canceled one may have an
-- execution for a moment longer.
CREATE TABLE pdca_request (
	tenant_id      text   NOT NULL COLLATE "C",
	id             text   NOT NULL COLLATE "C",
	status         bigint NOT NULL,
	dry_run        bigint NOT NULL,
	body           text   NOT NULL COLLATE "C",
	total          bigint NOT NULL,
	batch_size     bigint NOT NULL,
	batch          bigint NOT NULL,
	execution      text   NOT NULL COLLATE "C",
	actor          text   NOT NULL COLLATE "C",
	correlation_id text   NOT NULL COLLATE "C",
	created_at     bigint NOT NULL,
	updated_at     bigint NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX pdca_request_execution ON pdca_request (tenant_id, execution) WHERE execution <> '';
CREATE INDEX pdca_request_ended ON pdca_request (updated_at) WHERE execution = '';

-- n counts from 1. status is 0 queued, 1 running, 2 succeeded, 3 failed, 4 canceled,
-- 5 planned. Of the batch that runs it is the execution that knows.
CREATE TABLE pdca_item (
	tenant_id  text   NOT NULL COLLATE "C",
	request_id text   NOT NULL COLLATE "C",
	n          bigint NOT NULL,
	strategy   text   NOT NULL COLLATE "C",
	status     bigint NOT NULL,
	PRIMARY KEY (tenant_id, request_id, n)
);

-- What came of an item: a JSON object each, or ''.
CREATE TABLE pdca_result (
	tenant_id  text   NOT NULL COLLATE "C",
	request_id text   NOT NULL COLLATE "C",
	n          bigint NOT NULL,
	result     text   NOT NULL COLLATE "C",
	error      text   NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, request_id, n)
);

-- Executions of batches that have ended, written with their end, until what came of them
-- is written down.
CREATE TABLE pdca_ended (
	tenant_id text NOT NULL COLLATE "C",
	execution text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, execution)
);

CREATE TABLE pdca_artifact (
	tenant_id  text   NOT NULL COLLATE "C",
	id         text   NOT NULL COLLATE "C",
	request_id text   NOT NULL COLLATE "C",
	strategy   text   NOT NULL COLLATE "C",
	name       text   NOT NULL COLLATE "C",
	media_type text   NOT NULL COLLATE "C",
	content    bytea  NOT NULL,
	created_at bigint NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE INDEX pdca_artifact_request ON pdca_artifact (tenant_id, request_id);

-- What URLs of artifacts are signed with: one row, made by whoever needs it first.
CREATE TABLE pdca_signing (
	n      bigint NOT NULL PRIMARY KEY,
	secret bytea  NOT NULL
);

-- The answers that are remembered with idempotency keys; hash is SHA-256.
CREATE TABLE pdca_key (
	tenant   text   NOT NULL COLLATE "C",
	endpoint text   NOT NULL COLLATE "C",
	key      text   NOT NULL COLLATE "C",
	hash     bytea  NOT NULL,
	members  text   NOT NULL COLLATE "C",
	at       bigint NOT NULL,
	answer   text   NOT NULL COLLATE "C",
	PRIMARY KEY (tenant, endpoint, key)
);
CREATE INDEX pdca_key_at ON pdca_key (at);
