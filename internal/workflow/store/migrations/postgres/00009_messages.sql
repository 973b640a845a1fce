-- The messages that waits ask for, and those that start graphs.

-- +goose Up

-- '' without any.
ALTER TABLE engine_wait ADD COLUMN message_name text NOT NULL COLLATE "C" DEFAULT '';
ALTER TABLE engine_wait ADD COLUMN message_key text NOT NULL COLLATE "C" DEFAULT '';
CREATE INDEX engine_wait_message ON engine_wait (tenant, message_name, message_key) WHERE message_name <> '';

-- The message that starts the newest version of a graph.
CREATE TABLE engine_subscription (
	tenant       text NOT NULL COLLATE "C",
	graph_id     text NOT NULL COLLATE "C",
	message_name text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant, graph_id)
);
CREATE INDEX engine_subscription_message ON engine_subscription (tenant, message_name, graph_id);
