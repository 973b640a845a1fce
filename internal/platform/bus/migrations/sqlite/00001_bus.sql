-- The tables of the event backbone. Instants are milliseconds since 1970; 0 means none.

-- +goose Up

-- Every event that was ever announced, for as long as it can be published again.
-- published_at is NULL until the stream has it.
CREATE TABLE outbox_events (
	id            INTEGER PRIMARY KEY AUTOINCREMENT,
	published_at  INTEGER,
	created_at    INTEGER NOT NULL,
	occurred_at   INTEGER NOT NULL,
	part          INTEGER NOT NULL,
	event_id      TEXT    NOT NULL,
	tenant_id     TEXT    NOT NULL,
	event_type    TEXT    NOT NULL,
	partition_key TEXT    NOT NULL,
	service       TEXT    NOT NULL,
	body          BLOB    NOT NULL
);
CREATE INDEX outbox_events_unpublished ON outbox_events (part, id) WHERE published_at IS NULL;
CREATE INDEX outbox_events_published ON outbox_events (part, published_at) WHERE published_at IS NOT NULL;

-- What each consumer has taken. day is that of the event, in days since 1970, so that
-- an event has one place and old days go as a whole.
CREATE TABLE processed_events (
	day       INTEGER NOT NULL,
	consumer  TEXT    NOT NULL,
	tenant_id TEXT    NOT NULL,
	event_id  TEXT    NOT NULL,
	PRIMARY KEY (day, consumer, tenant_id, event_id)
) WITHOUT ROWID;

-- The newest event of each key that a consumer has taken. It is kept for ever.
CREATE TABLE bus_applied (
	consumer      TEXT    NOT NULL,
	partition_key TEXT    NOT NULL,
	version       INTEGER NOT NULL,
	idx           INTEGER NOT NULL,
	event_id      TEXT    NOT NULL,
	PRIMARY KEY (consumer, partition_key)
) WITHOUT ROWID;

-- The last version of keys that have no record with a row of its own.
CREATE TABLE bus_key (
	partition_key TEXT    PRIMARY KEY,
	version       INTEGER NOT NULL
) WITHOUT ROWID;

-- Who does what. A higher epoch ends the right of whoever had a lower one.
CREATE TABLE bus_lease (
	name   TEXT    NOT NULL,
	part   INTEGER NOT NULL,
	epoch  INTEGER NOT NULL,
	holder TEXT    NOT NULL,
	until  INTEGER NOT NULL,
	PRIMARY KEY (name, part)
) WITHOUT ROWID;

-- How far a relay is: the last message that its stream acknowledged, and what must be
-- published again. stream_at is in nanoseconds. position is of a source that is read by
-- number. doubt is 1 when a reader has found a gap in the stream.
CREATE TABLE bus_relay (
	source       TEXT    NOT NULL,
	part         INTEGER NOT NULL,
	epoch        INTEGER NOT NULL,
	stream_at    INTEGER NOT NULL,
	last_seq     INTEGER NOT NULL,
	last_event   TEXT    NOT NULL,
	last_at      INTEGER NOT NULL,
	position     INTEGER NOT NULL,
	replay_pos   INTEGER NOT NULL,
	replay_to    INTEGER NOT NULL,
	replay_since INTEGER NOT NULL,
	doubt        INTEGER NOT NULL,
	PRIMARY KEY (source, part)
) WITHOUT ROWID;

-- Some of the messages that a stream acknowledged before the last one: what it still has
-- of them tells how much it has lost.
CREATE TABLE bus_trail (
	source TEXT    NOT NULL,
	part   INTEGER NOT NULL,
	seq    INTEGER NOT NULL,
	event  TEXT    NOT NULL,
	at     INTEGER NOT NULL,
	number INTEGER NOT NULL,
	PRIMARY KEY (source, part, seq)
) WITHOUT ROWID;

-- How far a reader is. Messages of a relay before min_relay are not looked at: they
-- come again.
CREATE TABLE bus_reader (
	consumer   TEXT    NOT NULL,
	part       INTEGER NOT NULL,
	stream     INTEGER NOT NULL,
	stream_at  INTEGER NOT NULL,
	seq        INTEGER NOT NULL,
	relayed_at INTEGER NOT NULL,
	source_id  INTEGER NOT NULL,
	min_relay  INTEGER NOT NULL,
	last_seq   INTEGER NOT NULL,
	last_event TEXT    NOT NULL,
	pending    INTEGER NOT NULL,
	at         INTEGER NOT NULL,
	applied    INTEGER NOT NULL,
	duplicate  INTEGER NOT NULL,
	stale      INTEGER NOT NULL,
	failed     INTEGER NOT NULL,
	PRIMARY KEY (consumer, part)
) WITHOUT ROWID;

-- Keys that wait: for another try of their head (state 0), or for somebody's decision
-- about it (state 1).
CREATE TABLE bus_lane (
	consumer      TEXT    NOT NULL,
	partition_key TEXT    NOT NULL,
	part          INTEGER NOT NULL,
	tenant_id     TEXT    NOT NULL,
	state         INTEGER NOT NULL,
	attempt       INTEGER NOT NULL,
	next_at       INTEGER NOT NULL,
	since         INTEGER NOT NULL,
	next_n        INTEGER NOT NULL,
	last_version  INTEGER NOT NULL,
	last_idx      INTEGER NOT NULL,
	errors        TEXT    NOT NULL,
	PRIMARY KEY (consumer, partition_key)
) WITHOUT ROWID;
CREATE INDEX bus_lane_due ON bus_lane (consumer, part, state, next_at);

-- The events of keys that wait, in their order. dead is the number of the dead letter
-- that is driven again, 0 for all others.
CREATE TABLE bus_parked (
	consumer      TEXT    NOT NULL,
	partition_key TEXT    NOT NULL,
	n             INTEGER NOT NULL,
	event_id      TEXT    NOT NULL,
	event_type    TEXT    NOT NULL,
	at            INTEGER NOT NULL,
	version       INTEGER NOT NULL,
	idx           INTEGER NOT NULL,
	dead          INTEGER NOT NULL,
	body          BLOB    NOT NULL,
	PRIMARY KEY (consumer, partition_key, n)
) WITHOUT ROWID;

-- The dead letters. status: 0 OPEN, 1 REDRIVING, 2 SKIPPING, 3 APPLIED, 4 SKIPPED,
-- 5 STALE, 6 DUPLICATE.
CREATE TABLE bus_dead (
	num             INTEGER PRIMARY KEY AUTOINCREMENT,
	id              TEXT    NOT NULL,
	tenant_id       TEXT    NOT NULL,
	consumer        TEXT    NOT NULL,
	part            INTEGER NOT NULL,
	status          INTEGER NOT NULL,
	partition_key   TEXT    NOT NULL,
	event_id        TEXT    NOT NULL,
	event_type      TEXT    NOT NULL,
	version         INTEGER NOT NULL,
	idx             INTEGER NOT NULL,
	reason_class    TEXT    NOT NULL,
	reason_code     TEXT    NOT NULL,
	retry_advice    TEXT    NOT NULL,
	error           TEXT    NOT NULL,
	attempts        INTEGER NOT NULL,
	errors          TEXT    NOT NULL,
	first_failed_at INTEGER NOT NULL,
	dead_at         INTEGER NOT NULL,
	redrive_at      INTEGER NOT NULL,
	decided_by      TEXT    NOT NULL,
	decided_at      INTEGER NOT NULL,
	reason          TEXT    NOT NULL,
	ended_at        INTEGER NOT NULL,
	body            BLOB    NOT NULL
);
CREATE UNIQUE INDEX bus_dead_id ON bus_dead (id);
CREATE INDEX bus_dead_list ON bus_dead (tenant_id, status, num);
CREATE INDEX bus_dead_key ON bus_dead (consumer, partition_key, event_id);
CREATE INDEX bus_dead_decided ON bus_dead (consumer, part, status) WHERE status IN (1, 2);
CREATE INDEX bus_dead_ended ON bus_dead (ended_at) WHERE ended_at > 0;
CREATE INDEX bus_dead_auto ON bus_dead (consumer, part, redrive_at) WHERE status = 0 AND redrive_at > 0;

-- Ranges of time that a consumer is to get again, from the outbox. status: 0 RUNNING,
-- 1 DONE, 2 STOPPED. One row per partition.
CREATE TABLE bus_replay (
	id         TEXT    NOT NULL,
	part       INTEGER NOT NULL,
	tenant_id  TEXT    NOT NULL,
	consumer   TEXT    NOT NULL,
	from_at    INTEGER NOT NULL,
	to_at      INTEGER NOT NULL,
	pos        INTEGER NOT NULL,
	status     INTEGER NOT NULL,
	applied    INTEGER NOT NULL,
	duplicate  INTEGER NOT NULL,
	stale      INTEGER NOT NULL,
	failed     INTEGER NOT NULL,
	created_by TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	ended_at   INTEGER NOT NULL,
	PRIMARY KEY (id, part)
) WITHOUT ROWID;
CREATE INDEX bus_replay_work ON bus_replay (consumer, part) WHERE status = 0;
