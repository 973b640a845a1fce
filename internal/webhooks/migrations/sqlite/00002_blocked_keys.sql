-- The keys whose deliveries wait for one that was refused, found in the same way by both databases.

-- +goose Up

DROP INDEX webhooks_delivery_blocked;
CREATE INDEX webhooks_delivery_refused ON webhooks_delivery (tenant_id, hook, key) WHERE state = 2;
CREATE INDEX webhooks_delivery_failed ON webhooks_delivery (tenant_id, hook, key) WHERE state = 4;
