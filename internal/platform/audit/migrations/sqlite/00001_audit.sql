-- The audit log. Instants are milliseconds since 1970.

-- +goose Up

-- What somebody did, or tried to do. Rows are added and, past their time, deleted;
-- nothing changes them.
CREATE TABLE audit_log (
	num            INTEGER PRIMARY KEY AUTOINCREMENT,
	id             TEXT    NOT NULL,
	at             INTEGER NOT NULL,
	tenant_id      TEXT    NOT NULL,
	actor          TEXT    NOT NULL,
	action         TEXT    NOT NULL,
	subject        TEXT    NOT NULL,
	correlation_id TEXT    NOT NULL,
	outcome        TEXT    NOT NULL,
	reason         TEXT    NOT NULL,
	reason_class   TEXT    NOT NULL,
	reason_code    TEXT    NOT NULL,
	retry_advice   TEXT    NOT NULL,
	detail         TEXT    NOT NULL
);
CREATE INDEX audit_log_list ON audit_log (tenant_id, at, num);
CREATE INDEX audit_log_action ON audit_log (tenant_id, action, at, num);
CREATE INDEX audit_log_subject ON audit_log (tenant_id, subject, at, num);
CREATE INDEX audit_log_actor ON audit_log (tenant_id, actor, at, num);

-- +goose StatementBegin
CREATE TRIGGER audit_log_stays BEFORE UPDATE ON audit_log
BEGIN
	SELECT RAISE(ABORT, 'the audit log is only added to');
END;
-- +goose StatementEnd
