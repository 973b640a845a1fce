-- Records and what belongs to them. Instants and versions are milliseconds since 1970;
-- '' is no id.

-- +goose Up

-- fields is a JSON object of the fields that are not empty. name, account_id and
-- opportunity_id are what lookups need of it: the account of a quote is that of its
-- opportunity. version rises with every change, also of a team or a member; updated_at
-- is the last change of the record itself. deleted_at is 0 as long as the record lives.
CREATE TABLE records_record (
	tenant_id      TEXT    NOT NULL,
	object         TEXT    NOT NULL,
	id             TEXT    NOT NULL,
	owner_id       TEXT    NOT NULL,
	name           TEXT    NOT NULL,
	account_id     TEXT    NOT NULL,
	opportunity_id TEXT    NOT NULL,
	fields         TEXT    NOT NULL,
	version        INTEGER NOT NULL,
	created_at     INTEGER NOT NULL,
	created_by     TEXT    NOT NULL,
	updated_at     INTEGER NOT NULL,
	updated_by     TEXT    NOT NULL,
	deleted_at     INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, object, id)
);
CREATE INDEX records_record_owner ON records_record (tenant_id, object, owner_id, id) WHERE deleted_at = 0;
CREATE INDEX records_record_name ON records_record (tenant_id, object, name, id) WHERE deleted_at = 0;
CREATE INDEX records_record_account ON records_record (tenant_id, account_id, object, id) WHERE account_id <> '' AND deleted_at = 0;
CREATE INDEX records_record_opportunity ON records_record (tenant_id, opportunity_id, id) WHERE opportunity_id <> '' AND deleted_at = 0;

-- Which living record names which: a field of object, id has the value to_id.
CREATE TABLE records_reference (
	tenant_id TEXT NOT NULL,
	to_id     TEXT NOT NULL,
	object    TEXT NOT NULL,
	field     TEXT NOT NULL,
	id        TEXT NOT NULL,
	PRIMARY KEY (tenant_id, to_id, object, field, id)
) WITHOUT ROWID;

-- What was done to a record, one row a change. changes is JSON: [{field, old, new}],
-- without the values of what was sensitive then.
CREATE TABLE records_history (
	tenant_id TEXT    NOT NULL,
	object    TEXT    NOT NULL,
	record_id TEXT    NOT NULL,
	version   INTEGER NOT NULL,
	at        INTEGER NOT NULL,
	user_id   TEXT    NOT NULL,
	action    TEXT    NOT NULL,
	changes   TEXT    NOT NULL,
	PRIMARY KEY (tenant_id, object, record_id, version)
);

-- The teams of accounts and opportunities.
CREATE TABLE records_team (
	tenant_id TEXT    NOT NULL,
	object    TEXT    NOT NULL,
	record_id TEXT    NOT NULL,
	user_id   TEXT    NOT NULL,
	team_role TEXT    NOT NULL,
	access    TEXT    NOT NULL,
	added_at  INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, object, record_id, user_id)
) WITHOUT ROWID;
CREATE INDEX records_team_user ON records_team (tenant_id, user_id, object, record_id);

-- The members of campaigns: leads and contacts.
CREATE TABLE records_member (
	tenant_id     TEXT    NOT NULL,
	campaign_id   TEXT    NOT NULL,
	member_type   TEXT    NOT NULL,
	member_id     TEXT    NOT NULL,
	status        TEXT    NOT NULL,
	has_responded INTEGER NOT NULL,
	added_at      INTEGER NOT NULL,
	updated_at    INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, campaign_id, member_type, member_id)
) WITHOUT ROWID;
CREATE INDEX records_member_of ON records_member (tenant_id, member_type, member_id, campaign_id);

-- Fields that an approval keeps as they are, until it is decided. fields is a JSON array
-- of their names.
CREATE TABLE records_lock (
	tenant_id   TEXT    NOT NULL,
	object      TEXT    NOT NULL,
	record_id   TEXT    NOT NULL,
	approval_id TEXT    NOT NULL,
	fields      TEXT    NOT NULL,
	at          INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, object, record_id, approval_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX records_lock_approval ON records_lock (tenant_id, approval_id);

-- Requests that may be repeated, with their answers; see internal/once.
CREATE TABLE records_once (
	tenant   TEXT    NOT NULL,
	endpoint TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	hash     BLOB    NOT NULL,
	members  TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	answer   TEXT    NOT NULL,
	PRIMARY KEY (tenant, endpoint, key)
) WITHOUT ROWID;
CREATE INDEX records_once_at ON records_once (at);
