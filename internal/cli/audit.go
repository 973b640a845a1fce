package cli

import (
	"context"
	"strings"

	"renga.dev/renga/client"
)

type auditCmd struct {
	List   auditListCmd   `cmd:"" help:"List the entries of the audit log, newest first."`
	Export auditExportCmd `cmd:"" help:"Export all entries as lines of JSON, oldest first."`
}

type auditFilter struct {
	Action  string `placeholder:"ACTION" help:"Only this action, such as dlq.skip."`
	Actor   string `placeholder:"NAME" help:"Only what this user did."`
	Subject string `placeholder:"ID" help:"Only what was done to this."`
	From    string `placeholder:"TIME" help:"At or after: ${time}."`
	To      string `placeholder:"TIME" help:"Before."`
}

func (c *auditFilter) filter(a *App) (f client.AuditFilter, err error) {
	f = client.AuditFilter{Action: c.Action, Actor: c.Actor, Subject: c.Subject}
	f.From, f.To, err = a.times("--from", c.From, "--to", c.To)
	return f, err
}

type auditListCmd struct {
	auditFilter
	paging
}

func (auditListCmd) Help() string {
	return `Who did what, to what, why, and with which outcome, refusals too. A list goes back 50,000 entries; older
ones are reached with --to.

Examples:
  renga audit list --from 24h
  renga audit list --action dlq.skip --actor mika
  renga audit list --subject 0199c1a3-dead-7000-8000-000000000001 -o json`
}

func (c *auditListCmd) Run(ctx context.Context, r *remote) error {
	f, err := c.filter(r.App)
	if err != nil {
		return err
	}
	const head = "TIME, BY, ACTION, SUBJECT, OUTCOME, REASON, CORRELATION, WHAT"
	return tabulate(r, &c.paging, columns(head, func(e *client.AuditEntry) []any {
		return []any{
			e.At, e.Actor, e.Action, auditSubject(e.Subject), e.Outcome + with(": ", e.ReasonCode), e.Reason,
			e.CorrelationID, members(e.Detail),
		}
	}))(r.Audit.List(ctx, f, c.at()))
}

// auditSubject is what an entry is about: an id, or its kind and its id.
func auditSubject(text string) any {
	if kind, id, two := strings.Cut(text, " "); two {
		return phrase{kind + " ", named(id)}
	}
	return named(text)
}
