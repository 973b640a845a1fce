package cli

import (
	"context"
	"fmt"
	"time"

	"renga.dev/renga/client"
)

type templateCmd struct {
	Apply  templateApplyCmd  `cmd:"" help:"Store templates."`
	List   templateListCmd   `cmd:"" help:"List templates."`
	Show   templateShowCmd   `cmd:"" help:"Show a template."`
	Delete templateDeleteCmd `cmd:"" help:"Delete a template; its runs go on."`
}

type templateApplyCmd struct {
	Files []string `name:"file" short:"f" required:"" placeholder:"FILE"`
	ID    string   `placeholder:"NAME" help:"Id of the template; ${file_id}"`
	eventAccess
}

func (templateApplyCmd) Help() string {
	return `A template names the steps that an event starts, one after the other: each is a Task in the queue of its
action. The first may be an external_event, which is what renga event send starts; later ones begin after the step
before (after_previous) or when somebody resumes the Wait in front of them (manual).

  {"name": "Monthly closing", "steps": [
    {"action": "mf_reconcile", "trigger_kind": "external_event", "timeout": "30m"},
    {"action": "month_close", "trigger_kind": "manual"}]}

Examples:
  renga template apply -f expense-close.json
  renga template apply -f expense-close.json -f payroll.json
  renga template apply --id expense-close -f - < template.json`
}

func (c *templateApplyCmd) Run(ctx context.Context, r *remote) error {
	t := columns("TEMPLATE, CHANGE, NAME, STARTED BY, STEPS", func(d *appliedFile[client.StoredTemplate]) []any {
		return []any{d.Stored.ID, d.Change, d.Stored.Name, d.Stored.Steps[0].TriggerKind, len(d.Stored.Steps)}
	})
	return applyFiles(ctx, r, "template", c.Files, c.ID, r.Templates, t, func(s *client.StoredTemplate) time.Time {
		return s.UpdatedAt
	})
}

type templateListCmd struct {
	paging
	eventAccess
}

func (templateListCmd) Help() string {
	return `Examples:
  renga template list
  renga template list -o json | jq -r '.items[].id'`
}

func (c *templateListCmd) Run(ctx context.Context, r *remote) error {
	const head = "TEMPLATE, NAME, STARTED BY, ACTION, STEPS, FOR, CHANGED"
	return tabulate(r, &c.paging, columns(head, func(t *client.StoredTemplate) []any {
		first := &t.Steps[0]
		return []any{t.ID, t.Name, first.TriggerKind, first.Action, len(t.Steps), monthOf(&t.Template), t.UpdatedAt}
	}))(r.Templates.List(ctx, c.at()))
}

// monthOf is what a template is for, as far as it says so.
func monthOf(t *client.Template) string {
	return listed(with("year ", number(t.Year)), with("month ", number(t.Month)))
}

type templateShowCmd struct {
	ID string `arg:"" help:"Id of the template."`
	eventAccess
}

func (templateShowCmd) Help() string {
	return `Examples:
  renga template show expense-close
  renga template show expense-close -o json`
}

func (c *templateShowCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printTemplate)(r.Templates.Get(ctx, c.ID))
}

func printTemplate(p *printer, t *client.StoredTemplate) {
	p.pairs(
		"template", t.ID, "name", t.Name, "for", monthOf(&t.Template), "url", t.MFCloudURL, "notes", t.Notes,
		"graph", fmt.Sprintf("template:%s, version %d", t.ID, t.GraphVersion), "created", t.CreatedAt,
		"changed", t.UpdatedAt,
	)
	var rows [][]any
	for i, s := range t.Steps {
		set := settings(&client.NodeSpec{Timeout: s.Timeout, Retry: s.Retry})
		rows = append(rows, []any{fmt.Sprintf("step-%d", i+1), s.Action, s.TriggerKind, set, s.Title})
	}
	p.section("NODE, ACTION, STARTED BY, SETTINGS, TITLE", rows)
}

type templateDeleteCmd struct {
	ID string `arg:"" help:"Id of the template."`
	eventAccess
}

func (templateDeleteCmd) Help() string {
	return `Events find it no more; its runs go on, and keys that started them are still known.

Examples:
  renga template delete expense-close`
}

func (c *templateDeleteCmd) Run(ctx context.Context, r *remote) error {
	if err := r.Templates.Delete(ctx, c.ID); err != nil {
		return err
	}
	return r.did(map[string]any{"id": c.ID, "deleted": true}, "Deleted template %s.", c.ID)
}
