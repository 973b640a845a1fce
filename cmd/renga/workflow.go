package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/store"
)

// The variables of the environment that workflow events are set up by, beside those of
// trigger.ParseRetention. They have no flags: a token does not belong on a command
// line, and the names are those of the document.
const (
	envEventToken  = "AX_WORKFLOW_EVENT_TOKEN"
	envEventTenant = "AX_WORKFLOW_EVENT_TENANT"
)

// workflowHelp explains them in the help of serve.
const workflowHelp = `Workflow events are set up by the environment:
  AX_WORKFLOW_EVENT_TOKEN             what senders of events have to show; without it everybody is let in
  AX_WORKFLOW_EVENT_TENANT            whose workflow events and templates are, with --auth jwt; a UUID (the default tenant)
  AX_WORKFLOW_EVENT_MAX_RECEIPTS      keys of events that are remembered for a tenant (1000)
  AX_WORKFLOW_EVENT_RECEIPT_TTL_DAYS  for so many days (90)
  AX_WORKFLOW_EVENT_ACTIONS           as --workflow-actions`

// workflow is how workflow events are set up.
type workflow struct {
	pass     *gate.EventToken
	config   inbound.Config // without what it works on
	warnings []string
}

// readWorkflow reads the environment. What would let in the wrong callers, or file
// events under the wrong tenant, is refused; a retention that cannot be used is the
// default.
func readWorkflow(getenv func(string) string, actions []string) (workflow, error) {
	w := workflow{}
	var err error
	if w.pass, err = gate.NewEventToken(getenv(envEventToken), getenv(envEventTenant)); err != nil {
		return w, fmt.Errorf("%s or %s: %w", envEventToken, envEventTenant, err)
	}
	for _, action := range actions {
		if action = strings.TrimSpace(action); action == "" {
			continue
		}
		if !wire.Name(action) {
			return w, fmt.Errorf("--workflow-actions: %q is no action: it must be 1 to %d letters, digits, dots, dashes or underscores", action, wire.MaxName)
		}
		w.config.Actions = append(w.config.Actions, action)
	}
	w.config.MaxReceipts, w.config.TTL, w.warnings = inbound.ParseRetention(getenv)
	return w, nil
}

// warn says what an operator should know.
func (w *workflow) warn(log *slog.Logger) {
	for _, warning := range w.warnings {
		log.Warn("a setting of workflow events cannot be used", "error", warning)
	}
	if w.pass.Open() {
		log.Warn("workflow events and templates are open to everybody who reaches this address; set " + envEventToken + " to change that")
	}
}

// receive lets workflow events start executions, and keeps the file of receipts, and that of
// entries which wait for the database, in the data folder.
func (c *core) receive(w workflow, dataDir string) {
	w.config.Engine, w.config.Active, w.config.Log = c.engine, store.Active, c.log
	w.config.Backlog = filepath.Join(dataDir, inbound.BacklogFile)
	c.trigger = inbound.New(c.db, w.config)
	c.receipts = filepath.Join(dataDir, filepath.FromSlash(inbound.ReceiptsFile))
}
