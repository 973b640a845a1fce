-- The requests that may be repeated, of all services, with their answers.
--
-- Each service had a table of its own for them. Their rows move here, and the tables go. A database that
-- has only some services gets the tables of the others first, which are empty.

-- +goose Up

-- hash is the SHA-256 of the canonical body, members has a short digest of each of its top-level members,
-- answer is what is given again. Instants are milliseconds since 1970.
CREATE TABLE idempotency_request (
	tenant   text   NOT NULL COLLATE "C",
	service  text   NOT NULL COLLATE "C",
	endpoint text   NOT NULL COLLATE "C",
	key      text   NOT NULL COLLATE "C",
	hash     bytea  NOT NULL,
	members  text   NOT NULL COLLATE "C",
	at       bigint NOT NULL,
	answer   text   NOT NULL COLLATE "C",
	PRIMARY KEY (tenant, service, endpoint, key)
);

CREATE TABLE IF NOT EXISTS records_once (
	tenant text, endpoint text, key text, hash bytea, members text, at bigint, answer text
);
INSERT INTO idempotency_request (tenant, service, endpoint, key, hash, members, at, answer)
	SELECT tenant, 'records', endpoint, key, hash, members, at, answer FROM records_once;
DROP TABLE records_once;

CREATE TABLE IF NOT EXISTS sharing_once (
	tenant text, endpoint text, key text, hash bytea, members text, at bigint, answer text
);
INSERT INTO idempotency_request (tenant, service, endpoint, key, hash, members, at, answer)
	SELECT tenant, 'sharing', endpoint, key, hash, members, at, answer FROM sharing_once;
DROP TABLE sharing_once;

CREATE TABLE IF NOT EXISTS search_once (
	tenant text, endpoint text, key text, hash bytea, members text, at bigint, answer text
);
INSERT INTO idempotency_request (tenant, service, endpoint, key, hash, members, at, answer)
	SELECT tenant, 'search', endpoint, key, hash, members, at, answer FROM search_once;
DROP TABLE search_once;

CREATE TABLE IF NOT EXISTS reporting_once (
	tenant text, endpoint text, key text, hash bytea, members text, at bigint, answer text
);
INSERT INTO idempotency_request (tenant, service, endpoint, key, hash, members, at, answer)
	SELECT tenant, 'reporting', endpoint, key, hash, members, at, answer FROM reporting_once;
DROP TABLE reporting_once;

CREATE TABLE IF NOT EXISTS approval_once (
	tenant text, endpoint text, key text, hash bytea, members text, at bigint, answer text
);
INSERT INTO idempotency_request (tenant, service, endpoint, key, hash, members, at, answer)
	SELECT tenant, 'approval', endpoint, key, hash, members, at, answer FROM approval_once;
DROP TABLE approval_once;

CREATE TABLE IF NOT EXISTS bus_once (
	tenant text, endpoint text, key text, hash bytea, members text, at bigint, answer text
);
INSERT INTO idempotency_request (tenant, service, endpoint, key, hash, members, at, answer)
	SELECT tenant, 'bus', endpoint, key, hash, members, at, answer FROM bus_once;
DROP TABLE bus_once;

CREATE TABLE IF NOT EXISTS bulk_key (
	tenant text, endpoint text, key text, hash bytea, members text, at bigint, answer text
);
INSERT INTO idempotency_request (tenant, service, endpoint, key, hash, members, at, answer)
	SELECT tenant, 'bulk', endpoint, key, hash, members, at, answer FROM bulk_key;
DROP TABLE bulk_key;

CREATE TABLE IF NOT EXISTS pdca_key (
	tenant text, endpoint text, key text, hash bytea, members text, at bigint, answer text
);
INSERT INTO idempotency_request (tenant, service, endpoint, key, hash, members, at, answer)
	SELECT tenant, 'recheck', endpoint, key, hash, members, at, answer FROM pdca_key;
DROP TABLE pdca_key;

-- Retention deletes by it; made last, so that the rows above do not pay for it one by one.
CREATE INDEX idempotency_request_at ON idempotency_request (at);
