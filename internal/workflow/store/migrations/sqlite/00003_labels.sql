-- What executions are found by.

-- +goose Up

-- correlation_id is that of the creation, '' in rows that are older than this column. labels is a JSON
-- object, '' without any.
ALTER TABLE engine_execution ADD COLUMN correlation_id TEXT NOT NULL DEFAULT '';
ALTER TABLE engine_execution ADD COLUMN business_key TEXT NOT NULL DEFAULT '';
ALTER TABLE engine_execution ADD COLUMN labels TEXT NOT NULL DEFAULT '';
CREATE INDEX engine_execution_chain ON engine_execution (tenant, correlation_id, created_at) WHERE correlation_id <> '';
CREATE INDEX engine_execution_key ON engine_execution (tenant, business_key, created_at) WHERE business_key <> '';
-- One ACTIVE execution of a graph has a business key.
CREATE UNIQUE INDEX engine_execution_holder
	ON engine_execution (tenant, graph_id, business_key) WHERE status = 0 AND business_key <> '';

-- label is name=value.
CREATE TABLE engine_label (
	tenant     TEXT    NOT NULL,
	label      TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	execution  INTEGER NOT NULL,
	PRIMARY KEY (tenant, label, created_at, execution)
) WITHOUT ROWID;
