-- What is counted of records, and the counts. Instants and versions are milliseconds since
-- 1970, amounts hundredths; '' is no id, and no value.

-- +goose Up

-- One row for each living opportunity. status is open, won or lost, month that in which it
-- closes ('2026-02').
CREATE TABLE reporting_opportunity (
	tenant_id   text   NOT NULL COLLATE "C",
	id          text   NOT NULL COLLATE "C",
	version     bigint NOT NULL,
	owner_id    text   NOT NULL COLLATE "C",
	stage       text   NOT NULL COLLATE "C",
	status      text   NOT NULL COLLATE "C",
	category    text   NOT NULL COLLATE "C",
	month       text   NOT NULL COLLATE "C",
	campaign_id text   NOT NULL COLLATE "C",
	amount      bigint NOT NULL,
	weighted    bigint NOT NULL,
	PRIMARY KEY (tenant_id, id)
);

-- One row for each living lead. month is that of its creation; converted is no, yes, or
-- opportunity when it became one.
CREATE TABLE reporting_lead (
	tenant_id text   NOT NULL COLLATE "C",
	id        text   NOT NULL COLLATE "C",
	version   bigint NOT NULL,
	owner_id  text   NOT NULL COLLATE "C",
	source    text   NOT NULL COLLATE "C",
	month     text   NOT NULL COLLATE "C",
	converted text   NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, id)
);

-- One row for each member of a campaign. responded is yes or no; owner_id and converted
-- are those of a lead.
CREATE TABLE reporting_member (
	tenant_id   text   NOT NULL COLLATE "C",
	campaign_id text   NOT NULL COLLATE "C",
	member_type text   NOT NULL COLLATE "C",
	member_id   text   NOT NULL COLLATE "C",
	responded   text   NOT NULL COLLATE "C",
	owner_id    text   NOT NULL COLLATE "C",
	converted   text   NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, campaign_id, member_type, member_id)
);
CREATE INDEX reporting_member_of ON reporting_member (tenant_id, member_type, member_id, campaign_id);

-- One row for each approval. submitted_at is 0 while only its decision is known, decision
-- is '' while it is open.
CREATE TABLE reporting_approval (
	tenant_id    text   NOT NULL COLLATE "C",
	id           text   NOT NULL COLLATE "C",
	object       text   NOT NULL COLLATE "C",
	record_id    text   NOT NULL COLLATE "C",
	submitted_by text   NOT NULL COLLATE "C",
	submitted_at bigint NOT NULL,
	decision     text   NOT NULL COLLATE "C",
	decided_at   bigint NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE INDEX reporting_approval_object ON reporting_approval (tenant_id, object, record_id);

-- How many there are of each kind, by owner; owner_id '' is all owners together. What k1 to
-- k3 are is for each cube to say. An amount is hi * 1,000,000,000 + lo hundredths: no sum
-- of amounts is too large.
CREATE TABLE reporting_count (
	tenant_id   text   NOT NULL COLLATE "C",
	cube        text   NOT NULL COLLATE "C",
	owner_id    text   NOT NULL COLLATE "C",
	k1          text   NOT NULL COLLATE "C",
	k2          text   NOT NULL COLLATE "C",
	k3          text   NOT NULL COLLATE "C",
	n           bigint NOT NULL,
	amount_hi   bigint NOT NULL,
	amount_lo   bigint NOT NULL,
	weighted_hi bigint NOT NULL,
	weighted_lo bigint NOT NULL,
	PRIMARY KEY (tenant_id, cube, owner_id, k1, k2, k3)
);
