-- Records and what belongs to them. Instants and versions are milliseconds since 1970;
-- '' is no id.

-- +goose Up

-- fields is a JSON object of the fields that are not empty. name, account_id and
-- opportunity_id are what lookups need of it: the account of a quote is that of its
-- opportunity. version rises with every change, also of a team or a member; updated_at
-- is the last change of the record itself. deleted_at is 0 as long as the record lives.
CREATE TABLE records_record (
	tenant_id      text    NOT NULL COLLATE "C",
	object         text    NOT NULL COLLATE "C",
	id             text    NOT NULL COLLATE "C",
	owner_id       text    NOT NULL COLLATE "C",
	name           text    NOT NULL COLLATE "C",
	account_id     text    NOT NULL COLLATE "C",
	opportunity_id text    NOT NULL COLLATE "C",
	fields         text    NOT NULL COLLATE "C",
	version        bigint  NOT NULL,
	created_at     bigint  NOT NULL,
	created_by     text    NOT NULL COLLATE "C",
	updated_at     bigint  NOT NULL,
	updated_by     text    NOT NULL COLLATE "C",
	deleted_at     bigint  NOT NULL,
	PRIMARY KEY (tenant_id, object, id)
) WITH (fillfactor = 70);
CREATE INDEX records_record_owner ON records_record (tenant_id, object, owner_id, id) WHERE deleted_at = 0;
CREATE INDEX records_record_name ON records_record (tenant_id, object, name, id) WHERE deleted_at = 0;
CREATE INDEX records_record_account ON records_record (tenant_id, account_id, object, id) WHERE account_id <> '' AND deleted_at = 0;
CREATE INDEX records_record_opportunity ON records_record (tenant_id, opportunity_id, id) WHERE opportunity_id <> '' AND deleted_at = 0;

-- Which living record names which: a field of object, id has the value to_id.
CREATE TABLE records_reference (
	tenant_id text NOT NULL COLLATE "C",
	to_id     text NOT NULL COLLATE "C",
	object    text NOT NULL COLLATE "C",
	field     text NOT NULL COLLATE "C",
	id        text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, to_id, object, field, id)
);

-- What was done to a record, one row a change. changes is JSON: [{field, old, new}],
-- without the values of what was sensitive then.
CREATE TABLE records_history (
	tenant_id text    NOT NULL COLLATE "C",
	object    text    NOT NULL COLLATE "C",
	record_id text    NOT NULL COLLATE "C",
	version   bigint  NOT NULL,
	at        bigint  NOT NULL,
	user_id   text    NOT NULL COLLATE "C",
	action    text    NOT NULL COLLATE "C",
	changes   text    NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, object, record_id, version)
);

-- The teams of accounts and opportunities.
CREATE TABLE records_team (
	tenant_id text    NOT NULL COLLATE "C",
	object    text    NOT NULL COLLATE "C",
	record_id text    NOT NULL COLLATE "C",
	user_id   text    NOT NULL COLLATE "C",
	team_role text    NOT NULL COLLATE "C",
	access    text    NOT NULL COLLATE "C",
	added_at  bigint  NOT NULL,
	PRIMARY KEY (tenant_id, object, record_id, user_id)
);
CREATE INDEX records_team_user ON records_team (tenant_id, user_id, object, record_id);

-- The members of campaigns: leads and contacts.
CREATE TABLE records_member (
	tenant_id     text    NOT NULL COLLATE "C",
	campaign_id   text    NOT NULL COLLATE "C",
	member_type   text    NOT NULL COLLATE "C",
	member_id     text    NOT NULL COLLATE "C",
	status        text    NOT NULL COLLATE "C",
	has_responded boolean NOT NULL,
	added_at      bigint  NOT NULL,
	updated_at    bigint  NOT NULL,
	PRIMARY KEY (tenant_id, campaign_id, member_type, member_id)
);
CREATE INDEX records_member_of ON records_member (tenant_id, member_type, member_id, campaign_id);

-- Fields that an approval keeps as they are, until it is decided. fields is a JSON array
-- of their names.
CREATE TABLE records_lock (
	tenant_id   text    NOT NULL COLLATE "C",
	object      text    NOT NULL COLLATE "C",
	record_id   text    NOT NULL COLLATE "C",
	approval_id text    NOT NULL COLLATE "C",
	fields      text    NOT NULL COLLATE "C",
	at          bigint  NOT NULL,
	PRIMARY KEY (tenant_id, object, record_id, approval_id)
);
CREATE UNIQUE INDEX records_lock_approval ON records_lock (tenant_id, approval_id);

-- Requests that may be repeated, with their answers; see internal/once.
CREATE TABLE records_once (
	tenant   text    NOT NULL COLLATE "C",
	endpoint text    NOT NULL COLLATE "C",
	key      text    NOT NULL COLLATE "C",
	hash     bytea   NOT NULL,
	members  text    NOT NULL COLLATE "C",
	at       bigint  NOT NULL,
	answer   text    NOT NULL COLLATE "C",
	PRIMARY KEY (tenant, endpoint, key)
);
CREATE INDEX records_once_at ON records_once (at);
