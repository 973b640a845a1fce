-- Deleted records whose team or members are yet to be removed, some at a time, with the
-- events that say so. A record is here only when it had many.

-- +goose Up

CREATE TABLE records_removal (
	tenant_id      TEXT NOT NULL,
	object         TEXT NOT NULL,
	record_id      TEXT NOT NULL,
	correlation_id TEXT NOT NULL,
	PRIMARY KEY (tenant_id, object, record_id)
) WITHOUT ROWID;
