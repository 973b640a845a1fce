-- What operators decide about dead letters and replays.

-- +goose Up

-- decided_in is the bulk that decided about a dead letter last; empty: somebody did alone.
ALTER TABLE bus_dead ADD COLUMN decided_in text COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX bus_replay_list ON bus_replay (tenant_id, created_at);

-- What requests were answered, by their keys.
CREATE TABLE bus_once (
	tenant   text COLLATE "C" NOT NULL,
	endpoint text COLLATE "C" NOT NULL,
	key      text COLLATE "C" NOT NULL,
	hash     bytea NOT NULL,
	members  text COLLATE "C" NOT NULL,
	at       bigint NOT NULL,
	answer   text COLLATE "C" NOT NULL,
	PRIMARY KEY (tenant, endpoint, key)
);
CREATE INDEX bus_once_at ON bus_once (at);
