-- What became of the outcomes of approvals, one row for each that has ended and had one.

-- +goose Up

-- version is the record's since; 0 with why it was refused. changed is 0 when the record had
-- these values already.
CREATE TABLE records_outcome (
	tenant_id   TEXT    NOT NULL,
	approval_id TEXT    NOT NULL,
	object      TEXT    NOT NULL,
	record_id   TEXT    NOT NULL,
	version     INTEGER NOT NULL,
	changed     INTEGER NOT NULL,
	refused     TEXT    NOT NULL,
	at          INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, approval_id)
) WITHOUT ROWID;
