-- What records are found by. Instants and versions are milliseconds since 1970; '' is no
-- id.

-- +goose Up

-- The number by which the tokens of a tenant begin.
CREATE TABLE search_tenant (
	num       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant_id text   NOT NULL COLLATE "C" UNIQUE
);

-- Which records are in the index. place says in which order they are found, together with
-- the id: the last change of the record. digest is that of the tokens, without those of
-- campaigns, which are a JSON array of ids.
CREATE TABLE search_doc (
	tenant_id  text     NOT NULL COLLATE "C",
	object     text     NOT NULL COLLATE "C",
	id         text     NOT NULL COLLATE "C",
	place      bigint   NOT NULL,
	version    bigint   NOT NULL,
	updated_at bigint   NOT NULL,
	digest     bigint   NOT NULL,
	campaigns  text     NOT NULL COLLATE "C",
	tokens     tsvector NOT NULL,
	PRIMARY KEY (tenant_id, object, id)
);
CREATE INDEX search_doc_place ON search_doc (tenant_id, place, id);
-- What is written waits in a list that every search reads, so that is kept short.
CREATE INDEX search_doc_tokens ON search_doc USING gin (tokens) WITH (fastupdate = on, gin_pending_list_limit = 256);

-- By which fields the records of an object are found: a JSON array of their names.
CREATE TABLE search_index (
	tenant_id text NOT NULL COLLATE "C",
	object    text NOT NULL COLLATE "C",
	fields    text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, object)
);

-- Rebuilds, of an object or ('') of all. status: 1 running, 2 done, 3 canceled. place_object
-- and place_id are the record up to which it got.
CREATE TABLE search_rebuild (
	num          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant_id    text   NOT NULL COLLATE "C",
	id           text   NOT NULL COLLATE "C",
	object       text   NOT NULL COLLATE "C",
	cause        text   NOT NULL COLLATE "C",
	status       bigint NOT NULL,
	execution    text   NOT NULL COLLATE "C",
	place_object text   NOT NULL COLLATE "C",
	place_id     text   NOT NULL COLLATE "C",
	processed    bigint NOT NULL,
	total        bigint NOT NULL,
	created_at   bigint NOT NULL,
	ended_at     bigint NOT NULL
);
CREATE UNIQUE INDEX search_rebuild_id ON search_rebuild (tenant_id, id);
CREATE INDEX search_rebuild_tenant ON search_rebuild (tenant_id, num);
CREATE INDEX search_rebuild_running ON search_rebuild (num) WHERE status = 1;

-- Requests for rebuilds that may be repeated, with their answers; see internal/once.
CREATE TABLE search_once (
	tenant   text    NOT NULL COLLATE "C",
	endpoint text    NOT NULL COLLATE "C",
	key      text    NOT NULL COLLATE "C",
	hash     bytea   NOT NULL,
	members  text    NOT NULL COLLATE "C",
	at       bigint  NOT NULL,
	answer   text    NOT NULL COLLATE "C",
	PRIMARY KEY (tenant, endpoint, key)
);
CREATE INDEX search_once_at ON search_once (at);
