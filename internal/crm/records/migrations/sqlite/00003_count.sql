-- How many living records of an object an owner has, so that totals are added up and not
-- counted. seq is always 0 here: there is one writer.

-- +goose Up

CREATE TABLE records_count (
	tenant_id TEXT    NOT NULL,
	object    TEXT    NOT NULL,
	owner_id  TEXT    NOT NULL,
	seq       INTEGER NOT NULL,
	n         INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, object, owner_id, seq)
) WITHOUT ROWID;
INSERT INTO records_count (tenant_id, object, owner_id, seq, n)
	SELECT tenant_id, object, owner_id, 0, count(*) FROM records_record WHERE deleted_at = 0 GROUP BY tenant_id, object, owner_id;

-- Whatever writes records, the counts follow in its transaction.
-- +goose StatementBegin
CREATE TRIGGER records_count_added AFTER INSERT ON records_record WHEN NEW.deleted_at = 0
BEGIN
	INSERT INTO records_count (tenant_id, object, owner_id, seq, n) VALUES (NEW.tenant_id, NEW.object, NEW.owner_id, 0, 1)
		ON CONFLICT (tenant_id, object, owner_id, seq) DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER records_count_changed AFTER UPDATE OF owner_id, deleted_at ON records_record
	WHEN OLD.owner_id <> NEW.owner_id OR OLD.deleted_at <> NEW.deleted_at
BEGIN
	UPDATE records_count SET n = n - 1
		WHERE tenant_id = OLD.tenant_id AND object = OLD.object AND owner_id = OLD.owner_id AND seq = 0 AND OLD.deleted_at = 0;
	INSERT INTO records_count (tenant_id, object, owner_id, seq, n) SELECT NEW.tenant_id, NEW.object, NEW.owner_id, 0, 1 WHERE NEW.deleted_at = 0
		ON CONFLICT (tenant_id, object, owner_id, seq) DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER records_count_gone AFTER DELETE ON records_record WHEN OLD.deleted_at = 0
BEGIN
	UPDATE records_count SET n = n - 1 WHERE tenant_id = OLD.tenant_id AND object = OLD.object AND owner_id = OLD.owner_id AND seq = 0;
END;
-- +goose StatementEnd

-- The records of an account can be told by owner without looking at their rows.
DROP INDEX records_record_account;
CREATE INDEX records_record_account ON records_record (tenant_id, account_id, object, id, owner_id, deleted_at) WHERE account_id <> '' AND deleted_at = 0;
