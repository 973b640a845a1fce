-- Reminders of nodes that wait.

-- +goose Up

-- reminders is how many there were, remind_at when the next one comes; 0: none does.
ALTER TABLE engine_wait ADD COLUMN reminders INTEGER NOT NULL DEFAULT 0;
ALTER TABLE engine_wait ADD COLUMN remind_at INTEGER NOT NULL DEFAULT 0;
