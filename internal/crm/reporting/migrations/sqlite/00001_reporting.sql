-- What is counted of records, and the counts. Instants and versions are milliseconds since
-- 1970, amounts hundredths; '' is no id, and no value.

-- +goose Up

-- One row for each living opportunity. status is open, won or lost, month that in which it
-- closes ('2026-02').
CREATE TABLE reporting_opportunity (
	tenant_id   TEXT    NOT NULL,
	id          TEXT    NOT NULL,
	version     INTEGER NOT NULL,
	owner_id    TEXT    NOT NULL,
	stage       TEXT    NOT NULL,
	status      TEXT    NOT NULL,
	category    TEXT    NOT NULL,
	month       TEXT    NOT NULL,
	campaign_id TEXT    NOT NULL,
	amount      INTEGER NOT NULL,
	weighted    INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;

-- One row for each living lead. month is that of its creation; converted is no, yes, or
-- opportunity when it became one.
CREATE TABLE reporting_lead (
	tenant_id TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	version   INTEGER NOT NULL,
	owner_id  TEXT    NOT NULL,
	source    TEXT    NOT NULL,
	month     TEXT    NOT NULL,
	converted TEXT    NOT NULL,
	PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;

-- One row for each member of a campaign. responded is yes or no; owner_id and converted
-- are those of a lead.
CREATE TABLE reporting_member (
	tenant_id   TEXT NOT NULL,
	campaign_id TEXT NOT NULL,
	member_type TEXT NOT NULL,
	member_id   TEXT NOT NULL,
	responded   TEXT NOT NULL,
	owner_id    TEXT NOT NULL,
	converted   TEXT NOT NULL,
	PRIMARY KEY (tenant_id, campaign_id, member_type, member_id)
) WITHOUT ROWID;
CREATE INDEX reporting_member_of ON reporting_member (tenant_id, member_type, member_id, campaign_id);

-- One row for each approval. submitted_at is 0 while only its decision is known, decision
-- is '' while it is open.
CREATE TABLE reporting_approval (
	tenant_id    TEXT    NOT NULL,
	id           TEXT    NOT NULL,
	object       TEXT    NOT NULL,
	record_id    TEXT    NOT NULL,
	submitted_by TEXT    NOT NULL,
	submitted_at INTEGER NOT NULL,
	decision     TEXT    NOT NULL,
	decided_at   INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE INDEX reporting_approval_object ON reporting_approval (tenant_id, object, record_id);

-- How many there are of each kind, by owner; owner_id '' is all owners together. What k1 to
-- k3 are is for each cube to say. An amount is hi * 1,000,000,000 + lo hundredths: no sum
-- of amounts is too large.
CREATE TABLE reporting_count (
	tenant_id   TEXT    NOT NULL,
	cube        TEXT    NOT NULL,
	owner_id    TEXT    NOT NULL,
	k1          TEXT    NOT NULL,
	k2          TEXT    NOT NULL,
	k3          TEXT    NOT NULL,
	n           INTEGER NOT NULL,
	amount_hi   INTEGER NOT NULL,
	amount_lo   INTEGER NOT NULL,
	weighted_hi INTEGER NOT NULL,
	weighted_lo INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, cube, owner_id, k1, k2, k3)
) WITHOUT ROWID;
