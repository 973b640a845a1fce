-- What became of the outcomes of approvals, one row for each that has ended and had one.

-- +goose Up

-- version is the record's since; 0 with why it was refused. changed is 0 when the record had
-- these values already.
CREATE TABLE records_outcome (
	tenant_id   text    NOT NULL COLLATE "C",
	approval_id text    NOT NULL COLLATE "C",
	object      text    NOT NULL COLLATE "C",
	record_id   text    NOT NULL COLLATE "C",
	version     bigint  NOT NULL,
	changed     bigint  NOT NULL,
	refused     text    NOT NULL COLLATE "C",
	at          bigint  NOT NULL,
	PRIMARY KEY (tenant_id, approval_id)
);
