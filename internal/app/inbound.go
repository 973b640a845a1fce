package app

import (
	"path/filepath"

	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/workflow/store"
)

// openInbound lets workflow events start executions. Entries that wait for the database are in a file
// of the data folder.
func (a *App) openInbound() {
	cfg := a.cfg.Inbound
	cfg.Engine, cfg.Active, cfg.Log = a.Engine, store.Active, a.log
	cfg.Backlog = filepath.Join(a.cfg.DataDir, inbound.BacklogFile)
	a.Inbound = inbound.New(a.DB, cfg)
}
