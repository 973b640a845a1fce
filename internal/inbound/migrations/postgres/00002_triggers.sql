-- Triggers, and what is remembered of their events. Instants are milliseconds since 1970.

-- +goose Up

-- A change of one counts as a change of templates (trigger_tenant). secret is the SHA-256 digest of what senders show,
-- '' when there is none.
CREATE TABLE trigger_definition (
	tenant_id  text    NOT NULL COLLATE "C",
	id         text    NOT NULL COLLATE "C",
	body       text    NOT NULL COLLATE "C",
	secret     text    NOT NULL COLLATE "C",
	created_at bigint  NOT NULL,
	updated_at bigint  NOT NULL,
	PRIMARY KEY (tenant_id, id)
);

-- What a key has started. period is the day or the month for which it counts, '' when it counts by itself.
CREATE TABLE trigger_start (
	tenant_id       text    NOT NULL COLLATE "C",
	trigger_id      text    NOT NULL COLLATE "C",
	period          text    NOT NULL COLLATE "C",
	idempotency_key text    NOT NULL COLLATE "C",
	run_id          text    NOT NULL COLLATE "C",
	graph_id        text    NOT NULL COLLATE "C",
	at              bigint  NOT NULL,
	PRIMARY KEY (tenant_id, trigger_id, period, idempotency_key)
);
CREATE INDEX trigger_start_at ON trigger_start (tenant_id, at);
