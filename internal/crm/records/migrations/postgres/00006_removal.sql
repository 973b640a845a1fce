-- Deleted records whose team or members are yet to be removed, some at a time, with the
-- events that say so. A record is here only when it had many.

-- +goose Up

CREATE TABLE records_removal (
	tenant_id      text NOT NULL COLLATE "C",
	object         text NOT NULL COLLATE "C",
	record_id      text NOT NULL COLLATE "C",
	correlation_id text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, object, record_id)
);
