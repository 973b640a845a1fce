-- Templates, and what is remembered of deliveries. Instants are milliseconds since 1970.

-- +goose Up

-- Who decides about a tenant holds its row. receipts is the number of the last
-- receipt; templates counts changes of templates.
CREATE TABLE trigger_tenant (
	tenant_id text   NOT NULL COLLATE "C" PRIMARY KEY,
	receipts  bigint NOT NULL,
	templates bigint NOT NULL
);

-- A run is of version graph_version of the template's graph.
CREATE TABLE trigger_template (
	tenant_id     text   NOT NULL COLLATE "C",
	id            text   NOT NULL COLLATE "C",
	body          text   NOT NULL COLLATE "C",
	first_kind    text   NOT NULL COLLATE "C",
	first_action  text   NOT NULL COLLATE "C",
	graph_version bigint NOT NULL,
	created_at    bigint NOT NULL,
	updated_at    bigint NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE INDEX trigger_template_first ON trigger_template (tenant_id, first_kind, first_action);

-- What a key has started. n counts a tenant's receipts without a gap.
CREATE TABLE trigger_receipt (
	tenant_id       text   NOT NULL COLLATE "C",
	idempotency_key text   NOT NULL COLLATE "C",
	n               bigint NOT NULL,
	run_id          text   NOT NULL COLLATE "C",
	template_id     text   NOT NULL COLLATE "C",
	template_name   text   NOT NULL COLLATE "C",
	action          text   NOT NULL COLLATE "C",
	year            bigint NOT NULL,
	month           bigint NOT NULL,
	at              bigint NOT NULL,
	PRIMARY KEY (tenant_id, idempotency_key)
);
CREATE UNIQUE INDEX trigger_receipt_n ON trigger_receipt (tenant_id, n);

-- The newest run of a template for a month.
CREATE TABLE trigger_month (
	tenant_id   text   NOT NULL COLLATE "C",
	template_id text   NOT NULL COLLATE "C",
	year        bigint NOT NULL,
	month       bigint NOT NULL,
	run_id      text   NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, template_id, year, month)
);

-- How the deliveries of a month ended: how many entries the audit log has of each
-- kind. month is that of their instant in UTC: '2026-02'.
CREATE TABLE trigger_tally (
	tenant_id    text   NOT NULL COLLATE "C",
	month        text   NOT NULL COLLATE "C",
	status       text   NOT NULL COLLATE "C",
	reason_class text   NOT NULL COLLATE "C",
	reason_code  text   NOT NULL COLLATE "C",
	retry_advice text   NOT NULL COLLATE "C",
	duplicate    text   NOT NULL COLLATE "C",
	n            bigint NOT NULL,
	PRIMARY KEY (tenant_id, month, status, reason_class, reason_code, retry_advice, duplicate)
);
