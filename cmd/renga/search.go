package main

import (
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/search"
)

// openSearch puts search over records and sharing.
func (c *core) openSearch(models *metadata.Models) {
	c.search = search.New(c.db, search.Config{
		Models: models, Records: records.Reads{}, Visible: c.sharing, Engine: c.engine, Worker: c.name, KeyRetention: c.keep, Log: c.log,
	})
	c.beside = append(c.beside, c.search.Run)
}
