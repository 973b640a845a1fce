-- How executions ended.

-- +goose Up

-- outcome is that of the Success, error_code why one failed; '' in rows that ended before these columns.
ALTER TABLE engine_execution ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
ALTER TABLE engine_execution ADD COLUMN error_code TEXT NOT NULL DEFAULT '';
CREATE INDEX engine_execution_outcome ON engine_execution (tenant, outcome, created_at) WHERE outcome <> '';
CREATE INDEX engine_execution_error ON engine_execution (tenant, error_code, created_at) WHERE error_code <> '';
