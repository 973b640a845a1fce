-- What operators decide about dead letters and replays.

-- +goose Up

-- decided_in is the bulk that decided about a dead letter last; empty: somebody did alone.
ALTER TABLE bus_dead ADD COLUMN decided_in TEXT NOT NULL DEFAULT '';

CREATE INDEX bus_replay_list ON bus_replay (tenant_id, created_at);

-- What requests were answered, by their keys.
CREATE TABLE bus_once (
	tenant   TEXT NOT NULL,
	endpoint TEXT NOT NULL,
	key      TEXT NOT NULL,
	hash     BLOB NOT NULL,
	members  TEXT NOT NULL,
	at       INTEGER NOT NULL,
	answer   TEXT NOT NULL,
	PRIMARY KEY (tenant, endpoint, key)
) WITHOUT ROWID;
CREATE INDEX bus_once_at ON bus_once (at);
