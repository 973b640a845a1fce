-- The strategies that are checked again. Instants are milliseconds since 1970.

-- +goose Up

-- Who changes a tenant's strategies holds its row. revision is the number of the last
-- change; strategies is how many there are.
CREATE TABLE pdca_tenant (
	tenant_id  TEXT    NOT NULL PRIMARY KEY,
	revision   INTEGER NOT NULL,
	strategies INTEGER NOT NULL
) WITHOUT ROWID;

-- tags is a JSON array in the order of code points, metrics a canonical JSON object.
-- last_checked_at is null as long as nobody has checked it. revision is that of its last change.
CREATE TABLE pdca_strategy (
	tenant_id       TEXT    NOT NULL,
	id              TEXT    NOT NULL,
	name            TEXT    NOT NULL,
	tags            TEXT    NOT NULL,
	health          TEXT    NOT NULL,
	last_checked_at INTEGER,
	metrics         TEXT    NOT NULL,
	revision        INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX pdca_strategy_revision ON pdca_strategy (tenant_id, revision);
