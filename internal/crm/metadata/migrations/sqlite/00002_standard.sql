-- Which standard definitions a tenant began with (crm.Standard): 1 has personal fields
-- that are sensitive. Tenants that are here already keep 0; those to come have 1, also
-- without a row. Tenants that have records only are noted by the tables of records.

-- +goose Up

ALTER TABLE metadata_tenant ADD COLUMN standard INTEGER NOT NULL DEFAULT 1;
UPDATE metadata_tenant SET standard = 0;
