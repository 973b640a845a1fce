package inbound

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// The messages of the document.
const (
	msgNoTemplate    = "Workflow template not found."
	msgNoExternal    = "No external_event workflow template was found."
	msgNoMatch       = "No external_event workflow template matched event_name."
	msgNotExternal   = "Template step 1 must use trigger_kind=external_event."
	msgManyExternal  = "Multiple external_event templates found. Specify template_id."
	msgManyMatch     = "Multiple templates matched event_name. Specify template_id."
	msgNotExecutable = "external_event action is not executable in MVP: %s"
	msgYearMonth     = "Workflow event requires valid year/month."
	msgActive        = "A run is already active for this template and month."
)

func noTemplate(message string) *fault.Error {
	return fault.New(fault.NotFound, "TEMPLATE_NOT_FOUND", "%s", message).Because(fault.NoTemplate)
}

func unfitTemplate(message string) *fault.Error {
	return fault.New(fault.Conflict, "TEMPLATE_CONFLICT", "%s", message).Because(fault.UnfitTemplate)
}

// The ids are looked for by themselves: the index has them, and SQLite would else read
// all templates of the tenant, since it takes them to be few.
const (
	selectByAction = "SELECT " + templateColumns + ` FROM trigger_template WHERE tenant_id = $1 AND id IN
		(SELECT id FROM trigger_template WHERE tenant_id = $1 AND first_kind = 'external_event' AND first_action
		= $2 LIMIT 2)`
	selectExternal = "SELECT " + templateColumns + ` FROM trigger_template WHERE tenant_id = $1 AND id IN
		(SELECT id FROM trigger_template WHERE tenant_id = $1 AND first_kind = 'external_event' LIMIT 2)`
)

// resolve finds the template that a delivery is for.
func resolve(ctx context.Context, tx *sqldb.Tx, tenant string, d *Delivery) (Stored, error) {
	switch {
	case d.TemplateID != "":
		return byID(ctx, tx, tenant, d.TemplateID)
	case d.EventName == "":
		return only(ctx, tx, msgNoExternal, msgManyExternal, selectExternal, tenant)
	case !canonical.Name(d.EventName): // no action is called so
		return Stored{}, noTemplate(msgNoMatch)
	}
	return only(ctx, tx, msgNoMatch, msgManyMatch, selectByAction, tenant, d.EventName)
}

func byID(ctx context.Context, tx *sqldb.Tx, tenant, id string) (Stored, error) {
	if !canonical.Name(id) {
		return Stored{}, noTemplate(msgNoTemplate)
	}
	s, err := scanTemplate(tx.Row(ctx, selectTemplate, tenant, id))
	switch {
	case errors.Is(err, sqldb.ErrNoRow):
		return s, noTemplate(msgNoTemplate)
	case err != nil:
		return s, err
	case s.Steps[0].Kind != ExternalEvent:
		return s, unfitTemplate(msgNotExternal)
	}
	return s, nil
}

// only is the one template that a query finds.
func only(ctx context.Context, tx *sqldb.Tx, none, many, query string, args ...any) (Stored, error) {
	found, err := sqldb.Collect(ctx, tx, scanTemplate, query, args...)
	switch {
	case err != nil:
		return Stored{}, err
	case len(found) == 0:
		return Stored{}, noTemplate(none)
	case len(found) > 1:
		return Stored{}, unfitTemplate(many)
	}
	return found[0], nil
}

// plan is what a delivery is going to start.
type plan struct {
	Stored
	year, month int64
	url, notes  string
}

func (p *plan) action() string { return p.Steps[0].Action }

// settle decides what a delivery starts with its template: the delivery says, and the
// template where it does not, field by field.
func (t *Deliveries) settle(d *Delivery, s Stored) (plan, error) {
	p := plan{Stored: s, url: d.MFCloudURL, notes: d.Notes}
	if action := p.action(); !slices.Contains(t.cfg.Actions, action) {
		return p, fault.New(fault.Conflict, "UNSUPPORTED_ACTION", msgNotExecutable, action).Because(
			fault.UnsupportedAction)
	}
	year, month := d.Year.or(s.Year), d.Month.or(s.Month)
	if !year.Valid || !month.Valid || year.N < FirstYear || !validMonth(month.N) {
		return p, fault.New(fault.Invalid, "INVALID_YEAR_MONTH", "%s", msgYearMonth).Because(fault.RefusedYearMonth)
	}
	p.year, p.month = year.N, month.N
	p.url, p.notes = cmp.Or(p.url, s.MFCloudURL), cmp.Or(p.notes, s.Notes)
	return p, nil
}

// or is the number, or the template's where none is given.
func (n Number) or(template *int64) Number {
	if n.Given || template == nil {
		return n
	}
	return Number{Given: true, Valid: true, N: *template}
}
