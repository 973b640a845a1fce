-- The messages that waits ask for, and those that start graphs.

-- +goose Up

-- '' without any.
ALTER TABLE engine_wait ADD COLUMN message_name TEXT NOT NULL DEFAULT '';
ALTER TABLE engine_wait ADD COLUMN message_key TEXT NOT NULL DEFAULT '';
CREATE INDEX engine_wait_message ON engine_wait (tenant, message_name, message_key) WHERE message_name <> '';

-- The message that starts the newest version of a graph.
CREATE TABLE engine_subscription (
	tenant       TEXT NOT NULL,
	graph_id     TEXT NOT NULL,
	message_name TEXT NOT NULL,
	PRIMARY KEY (tenant, graph_id)
) WITHOUT ROWID;
CREATE INDEX engine_subscription_message ON engine_subscription (tenant, message_name, graph_id);
