-- A share knows who owns its record, so that records that somebody reaches by the owner
-- and by a share are counted once without looking at them.

-- +goose Up

ALTER TABLE sharing_share ADD COLUMN owner_id TEXT NOT NULL DEFAULT '';
UPDATE sharing_share SET owner_id = coalesce((SELECT r.owner_id FROM sharing_model m CROSS JOIN records_record r
	WHERE m.num = sharing_share.model AND r.tenant_id = sharing_share.tenant_id AND r.object = m.object AND r.id = sharing_share.record_id AND r.deleted_at = 0), '');
DELETE FROM sharing_share WHERE owner_id = '';
DROP INDEX sharing_share_grantee;
CREATE INDEX sharing_share_grantee ON sharing_share (tenant_id, model, grantee, record_id, level, cause, owner_id);

-- Whatever writes records, their shares follow in its transaction.
-- +goose StatementBegin
CREATE TRIGGER sharing_share_moved AFTER UPDATE OF owner_id ON records_record WHEN OLD.owner_id <> NEW.owner_id
BEGIN
	UPDATE sharing_share SET owner_id = NEW.owner_id WHERE tenant_id = NEW.tenant_id AND record_id = NEW.id AND model IN
		(SELECT num FROM sharing_model WHERE tenant_id = NEW.tenant_id AND object = NEW.object AND status < 3);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER sharing_share_gone AFTER UPDATE OF deleted_at ON records_record WHEN OLD.deleted_at = 0 AND NEW.deleted_at <> 0
BEGIN
	DELETE FROM sharing_share WHERE tenant_id = NEW.tenant_id AND record_id = NEW.id AND model IN
		(SELECT num FROM sharing_model WHERE tenant_id = NEW.tenant_id AND object = NEW.object AND status < 3);
END;
-- +goose StatementEnd
