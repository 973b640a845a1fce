-- Messages, and what became of them. Instants are milliseconds since 1970.

-- +goose Up

-- state: 1 kept, 2 resumed nodes, 3 started executions, 4 rejected, 5 expired. It leaves 1 once, at decided_at.
-- deliveries is a list as JSON.
CREATE TABLE messages_message (
	tenant_id      text   NOT NULL COLLATE "C",
	id             text   NOT NULL COLLATE "C",
	name           text   NOT NULL COLLATE "C",
	key            text   NOT NULL COLLATE "C",
	payload        text   NOT NULL COLLATE "C",
	state          bigint NOT NULL,
	deliveries     text   NOT NULL COLLATE "C",
	reason         text   NOT NULL COLLATE "C",
	sender         text   NOT NULL COLLATE "C",
	correlation_id text   NOT NULL COLLATE "C",
	received_at    bigint NOT NULL,
	expires_at     bigint NOT NULL,
	decided_at     bigint NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE INDEX messages_message_kept ON messages_message (tenant_id, name, key, received_at, id) WHERE state = 1;
CREATE INDEX messages_message_due ON messages_message (expires_at) WHERE state = 1;
CREATE INDEX messages_message_decided ON messages_message (decided_at) WHERE state <> 1;
CREATE INDEX messages_message_received ON messages_message (tenant_id, received_at, id);
