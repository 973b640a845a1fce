-- Triggers, and what is remembered of their events. Instants are milliseconds since 1970.

-- +goose Up

-- A change of one counts as a change of templates (trigger_tenant). secret is the SHA-256 digest of what senders show,
-- '' when there is none.
CREATE TABLE trigger_definition (
	tenant_id  TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	body       TEXT    NOT NULL,
	secret     TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;

-- What a key has started. period is the day or the month for which it counts, '' when it counts by itself.
CREATE TABLE trigger_start (
	tenant_id       TEXT    NOT NULL,
	trigger_id      TEXT    NOT NULL,
	period          TEXT    NOT NULL,
	idempotency_key TEXT    NOT NULL,
	run_id          TEXT    NOT NULL,
	graph_id        TEXT    NOT NULL,
	at              INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, trigger_id, period, idempotency_key)
) WITHOUT ROWID;
CREATE INDEX trigger_start_at ON trigger_start (tenant_id, at);
