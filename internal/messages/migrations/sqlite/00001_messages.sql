-- Messages, and what became of them. Instants are milliseconds since 1970.

-- +goose Up

-- state: 1 kept, 2 resumed nodes, 3 started executions, 4 rejected, 5 expired. It leaves 1 once, at decided_at.
-- deliveries is a list as JSON.
CREATE TABLE messages_message (
	tenant_id      TEXT    NOT NULL,
	id             TEXT    NOT NULL,
	name           TEXT    NOT NULL,
	key            TEXT    NOT NULL,
	payload        TEXT    NOT NULL,
	state          INTEGER NOT NULL,
	deliveries     TEXT    NOT NULL,
	reason         TEXT    NOT NULL,
	sender         TEXT    NOT NULL,
	correlation_id TEXT    NOT NULL,
	received_at    INTEGER NOT NULL,
	expires_at     INTEGER NOT NULL,
	decided_at     INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE INDEX messages_message_kept ON messages_message (tenant_id, name, key, received_at, id) WHERE state = 1;
CREATE INDEX messages_message_due ON messages_message (expires_at) WHERE state = 1;
CREATE INDEX messages_message_decided ON messages_message (decided_at) WHERE state <> 1;
CREATE INDEX messages_message_received ON messages_message (tenant_id, received_at, id);
