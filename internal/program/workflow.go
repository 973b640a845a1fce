package program

import (
	"fmt"
	"log/slog"
	"strings"

	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
)

// The variables of the environment that workflow events are set up by, beside those of
// inbound.ParseRetention. They have no flags: a token does not belong on a command
// line, and the names are those of the document.
const (
	envEventToken  = "AX_WORKFLOW_EVENT_TOKEN"
	envEventTenant = "AX_WORKFLOW_EVENT_TENANT"
)

// workflowHelp explains them in the help of serve.
const workflowHelp = `Workflow events are set up by the environment:
  AX_WORKFLOW_EVENT_TOKEN             what senders of events have to show; without it everybody is let in, with
                                      --auth jwt who has a token with the scope workflow:read or workflow:write
  AX_WORKFLOW_EVENT_TENANT            UUID of the tenant of workflow events and templates, with --auth jwt
                                      (the default tenant)
  AX_WORKFLOW_EVENT_MAX_RECEIPTS      keys of events that are remembered for a tenant (1000)
  AX_WORKFLOW_EVENT_RECEIPT_TTL_DAYS  for so many days (90)
  AX_WORKFLOW_EVENT_ACTIONS           as --workflow-actions`

// readWorkflow reads the environment. What would let in the wrong callers, or file
// events under the wrong tenant, is refused; a retention that cannot be used is the
// default.
func readWorkflow(
	getenv func(string) string, actions []string, open bool,
) (pass *gate.EventToken, cfg inbound.Config, warnings []string, err error) {
	if pass, err = gate.NewEventToken(getenv(envEventToken), getenv(envEventTenant), open); err != nil {
		return nil, cfg, nil, fmt.Errorf("%s or %s: %w", envEventToken, envEventTenant, err)
	}
	for _, action := range actions {
		if action = strings.TrimSpace(action); action == "" {
			continue
		}
		if !canonical.Name(action) {
			return nil, cfg, nil, fmt.Errorf("--workflow-actions: %q is no action: "+
				"it must be 1 to %d letters, digits, dots, dashes or underscores", action, canonical.MaxName)
		}
		cfg.Actions = append(cfg.Actions, action)
	}
	cfg.MaxReceipts, cfg.TTL, warnings = inbound.ParseRetention(getenv)
	return pass, cfg, warnings, nil
}

// warnWorkflow says what an operator should know of how workflow events are set up.
func warnWorkflow(log *slog.Logger, pass *gate.EventToken, mode gate.Mode, warnings []string) {
	for _, warning := range warnings {
		log.Warn("a setting of workflow events cannot be used", "error", warning)
	}
	if pass.Open(mode) {
		log.Warn("workflow events and templates are open to everybody who reaches this address; set " + envEventToken +
			" to change that")
	}
}
