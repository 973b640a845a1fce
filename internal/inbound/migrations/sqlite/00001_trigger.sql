-- Templates, and what is remembered of deliveries. Instants are milliseconds since 1970.

-- +goose Up

-- Who decides about a tenant holds its row. receipts is the number of the last
-- receipt; templates counts changes of templates.
CREATE TABLE trigger_tenant (
	tenant_id TEXT    NOT NULL PRIMARY KEY,
	receipts  INTEGER NOT NULL,
	templates INTEGER NOT NULL
) WITHOUT ROWID;

-- A run is of version graph_version of the template's graph.
CREATE TABLE trigger_template (
	tenant_id     TEXT    NOT NULL,
	id            TEXT    NOT NULL,
	body          TEXT    NOT NULL,
	first_kind    TEXT    NOT NULL,
	first_action  TEXT    NOT NULL,
	graph_version INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,
	updated_at    INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE INDEX trigger_template_first ON trigger_template (tenant_id, first_kind, first_action);

-- What a key has started. n counts a tenant's receipts without a gap.
CREATE TABLE trigger_receipt (
	tenant_id       TEXT    NOT NULL,
	idempotency_key TEXT    NOT NULL,
	n               INTEGER NOT NULL,
	run_id          TEXT    NOT NULL,
	template_id     TEXT    NOT NULL,
	template_name   TEXT    NOT NULL,
	action          TEXT    NOT NULL,
	year            INTEGER NOT NULL,
	month           INTEGER NOT NULL,
	at              INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, idempotency_key)
) WITHOUT ROWID;
CREATE UNIQUE INDEX trigger_receipt_n ON trigger_receipt (tenant_id, n);

-- The newest run of a template for a month.
CREATE TABLE trigger_month (
	tenant_id   TEXT    NOT NULL,
	template_id TEXT    NOT NULL,
	year        INTEGER NOT NULL,
	month       INTEGER NOT NULL,
	run_id      TEXT    NOT NULL,
	PRIMARY KEY (tenant_id, template_id, year, month)
) WITHOUT ROWID;

-- How the deliveries of a month ended: how many entries the audit log has of each
-- kind. month is that of their instant in UTC: '2026-02'.
CREATE TABLE trigger_tally (
	tenant_id    TEXT    NOT NULL,
	month        TEXT    NOT NULL,
	status       TEXT    NOT NULL,
	reason_class TEXT    NOT NULL,
	reason_code  TEXT    NOT NULL,
	retry_advice TEXT    NOT NULL,
	duplicate    TEXT    NOT NULL,
	n            INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, month, status, reason_class, reason_code, retry_advice, duplicate)
) WITHOUT ROWID;
