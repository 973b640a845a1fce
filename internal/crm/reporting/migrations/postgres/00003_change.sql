-- The last changes of what is counted of opportunities, so that a process can keep it in
-- memory and still answer with what a transaction sees.

-- +goose Up

-- One row for each transaction that changed some. num is 1, 2, 3 … in the order of the
-- commits, stamp tells the row from any other that had its number, ids is a JSON array.
CREATE TABLE reporting_change (
	tenant_id text   NOT NULL COLLATE "C",
	num       bigint NOT NULL,
	stamp     text   NOT NULL COLLATE "C",
	ids       text   NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, num)
);
