-- What an approval writes into its record when it ends.

-- +goose Up

-- JSON: the fields by how it ends, as the process said when it was submitted.
ALTER TABLE approval_instance ADD COLUMN outcomes TEXT NOT NULL DEFAULT '{}';
