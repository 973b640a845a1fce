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
	tenant_id         text NOT NULL COLLATE "C",
	id                text NOT NULL COLLATE "C",
	hook              text NOT NULL COLLATE "C",
	body              text NOT NULL COLLATE "C",
	headers           text NOT NULL COLLATE "C",
	state             bigint NOT NULL,
	reason            text NOT NULL COLLATE "C",
	since             bigint NOT NULL,
	strikes           bigint NOT NULL,
	success_at        bigint NOT NULL,
	secret            bytea NOT NULL,
	seed              bytea NOT NULL,
	old_secret        bytea NOT NULL,
	old_seed          bytea NOT NULL,
	old_until         bigint NOT NULL,
	last_seq          bigint NOT NULL,
	open_count        bigint NOT NULL,
	missed_at         bigint NOT NULL,
	look_at           bigint NOT NULL,
	held_until        bigint NOT NULL,
	holder            text NOT NULL COLLATE "C",
	recover_since     bigint NOT NULL,
	recover_place     bigint NOT NULL,
	recover_planned   bigint NOT NULL,
	recover_ended_at  bigint NOT NULL,
	created_at        bigint NOT NULL,
	updated_at        bigint NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE INDEX webhooks_webhook_look ON webhooks_webhook (look_at, tenant_id);

-- The events that are sent, once for all webhooks of their tenant, as they are sent.
CREATE TABLE webhooks_event (
	tenant_id  text NOT NULL COLLATE "C",
	event_id   text NOT NULL COLLATE "C",
	body       bytea NOT NULL,
	planned_at bigint NOT NULL,
	PRIMARY KEY (tenant_id, event_id)
);
CREATE INDEX webhooks_event_planned ON webhooks_event (planned_at);

-- A delivery is an event for a webhook. state: 1 waiting, 2 retrying, 3 delivered, 4 failed, 5 skipped. The other columns
-- after due_at are about the last try.
CREATE TABLE webhooks_delivery (
	tenant_id  text NOT NULL COLLATE "C",
	hook       text NOT NULL COLLATE "C",
	seq        bigint NOT NULL,
	event_id   text NOT NULL COLLATE "C",
	event_type text NOT NULL COLLATE "C",
	key        text NOT NULL COLLATE "C",
	size       bigint NOT NULL,
	planned_at bigint NOT NULL,
	state      bigint NOT NULL,
	attempts   bigint NOT NULL,
	tries      bigint NOT NULL,
	due_at     bigint NOT NULL,
	tried_at   bigint NOT NULL,
	took       bigint NOT NULL,
	status     bigint NOT NULL,
	error      text NOT NULL COLLATE "C",
	answer     text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, hook, seq)
);
CREATE UNIQUE INDEX webhooks_delivery_event ON webhooks_delivery (tenant_id, event_id, hook);
CREATE INDEX webhooks_delivery_waiting ON webhooks_delivery (tenant_id, hook, seq) WHERE state = 1;
CREATE INDEX webhooks_delivery_retrying ON webhooks_delivery (tenant_id, hook, due_at) WHERE state = 2;
CREATE INDEX webhooks_delivery_blocked ON webhooks_delivery (tenant_id, hook, key) WHERE state IN (2, 4);
CREATE INDEX webhooks_delivery_planned ON webhooks_delivery (planned_at);

-- The tries of deliveries that did not succeed.
CREATE TABLE webhooks_attempt (
	tenant_id text NOT NULL COLLATE "C",
	hook      text NOT NULL COLLATE "C",
	seq       bigint NOT NULL,
	attempt   bigint NOT NULL,
	tried_at  bigint NOT NULL,
	took      bigint NOT NULL,
	status    bigint NOT NULL,
	error     text NOT NULL COLLATE "C",
	answer    text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, hook, seq, attempt)
);
CREATE INDEX webhooks_attempt_tried ON webhooks_attempt (tried_at);
