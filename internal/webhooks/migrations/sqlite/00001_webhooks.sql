-- Webhooks, and what is sent to them. Instants are milliseconds since 1970; 0 is never.

-- +goose Up

-- hook names the rows of one life of a webhook: one that is made again under its id has another. body is the definition
-- as JSON, without headers, which may be secret. state: 1 active, 2 parked, 3 paused, 4 disabled; strikes are the rounds
-- that failed since the last success. secret and seed sign, old_secret and old_seed too until old_until. last_seq is the
-- number of the newest delivery, open_count how many are not DELIVERED or SKIPPED; missed_at is since when deliveries
-- are not planned, since there are too many. look_at is when somebody looks at the webhook, who then has it until
-- held_until. recover_since is set while deliveries are recovered, recover_place how far in the outbox (-1: at its
-- start).
CREATE TABLE webhooks_webhook (
	tenant_id         TEXT    NOT NULL,
	id                TEXT    NOT NULL,
	hook              TEXT    NOT NULL,
	body              TEXT    NOT NULL,
	headers           TEXT    NOT NULL,
	state             INTEGER NOT NULL,
	reason            TEXT    NOT NULL,
	since             INTEGER NOT NULL,
	strikes           INTEGER NOT NULL,
	success_at        INTEGER NOT NULL,
	secret            BLOB    NOT NULL,
	seed              BLOB    NOT NULL,
	old_secret        BLOB    NOT NULL,
	old_seed          BLOB    NOT NULL,
	old_until         INTEGER NOT NULL,
	last_seq          INTEGER NOT NULL,
	open_count        INTEGER NOT NULL,
	missed_at         INTEGER NOT NULL,
	look_at           INTEGER NOT NULL,
	held_until        INTEGER NOT NULL,
	holder            TEXT    NOT NULL,
	recover_since     INTEGER NOT NULL,
	recover_place     INTEGER NOT NULL,
	recover_planned   INTEGER NOT NULL,
	recover_ended_at  INTEGER NOT NULL,
	created_at        INTEGER NOT NULL,
	updated_at        INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE INDEX webhooks_webhook_look ON webhooks_webhook (look_at, tenant_id);

-- The events that are sent, once for all webhooks of their tenant, as they are sent.
CREATE TABLE webhooks_event (
	tenant_id  TEXT    NOT NULL,
	event_id   TEXT    NOT NULL,
	body       BLOB    NOT NULL,
	planned_at INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, event_id)
);
CREATE INDEX webhooks_event_planned ON webhooks_event (planned_at);

-- A delivery is an event for a webhook. state: 1 waiting, 2 retrying, 3 delivered, 4 failed, 5 skipped. The other columns
-- after due_at are about the last try.
CREATE TABLE webhooks_delivery (
	tenant_id  TEXT    NOT NULL,
	hook       TEXT    NOT NULL,
	seq        INTEGER NOT NULL,
	event_id   TEXT    NOT NULL,
	event_type TEXT    NOT NULL,
	key        TEXT    NOT NULL,
	size       INTEGER NOT NULL,
	planned_at INTEGER NOT NULL,
	state      INTEGER NOT NULL,
	attempts   INTEGER NOT NULL,
	tries      INTEGER NOT NULL,
	due_at     INTEGER NOT NULL,
	tried_at   INTEGER NOT NULL,
	took       INTEGER NOT NULL,
	status     INTEGER NOT NULL,
	error      TEXT    NOT NULL,
	answer     TEXT    NOT NULL,
	PRIMARY KEY (tenant_id, hook, seq)
);
CREATE UNIQUE INDEX webhooks_delivery_event ON webhooks_delivery (tenant_id, event_id, hook);
CREATE INDEX webhooks_delivery_waiting ON webhooks_delivery (tenant_id, hook, seq) WHERE state = 1;
CREATE INDEX webhooks_delivery_retrying ON webhooks_delivery (tenant_id, hook, due_at) WHERE state = 2;
CREATE INDEX webhooks_delivery_blocked ON webhooks_delivery (tenant_id, hook, key) WHERE state IN (2, 4);
CREATE INDEX webhooks_delivery_planned ON webhooks_delivery (planned_at);

-- The tries of deliveries that did not succeed.
CREATE TABLE webhooks_attempt (
	tenant_id TEXT    NOT NULL,
	hook      TEXT    NOT NULL,
	seq       INTEGER NOT NULL,
	attempt   INTEGER NOT NULL,
	tried_at  INTEGER NOT NULL,
	took      INTEGER NOT NULL,
	status    INTEGER NOT NULL,
	error     TEXT    NOT NULL,
	answer    TEXT    NOT NULL,
	PRIMARY KEY (tenant_id, hook, seq, attempt)
) WITHOUT ROWID;
CREATE INDEX webhooks_attempt_tried ON webhooks_attempt (tried_at);
