package main

import (
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/records"
)

// automate puts automation over the records.
func (c *core) automate(models *metadata.Models) {
	c.automation = automation.New(c.db, automation.Config{Models: models, Records: records.Reads{}, Writer: c.records, Engine: c.engine, Approvers: c.deciders, Log: c.log})
	c.beside = append(c.beside, c.automation.Run)
}
