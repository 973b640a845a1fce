package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/client"
)

type recordCmd struct {
	Create  recordCreateCmd  `cmd:"" help:"Create a record."`
	Get     recordGetCmd     `cmd:"" help:"Show a record."`
	List    recordListCmd    `cmd:"" help:"List records."`
	Update  recordUpdateCmd  `cmd:"" help:"Change a record."`
	Delete  recordDeleteCmd  `cmd:"" help:"Delete a record."`
	History recordHistoryCmd `cmd:"" help:"Show the history of a record."`
	Convert recordConvertCmd `cmd:"" help:"Convert a lead into an account, a contact and an opportunity."`
}

type recordFields struct {
	Set   []string `sep:"none" placeholder:"FIELD=TEXT"`
	Owner string   `placeholder:"UUID" help:"Owner of the record: a user or a queue."`
}

func (f *recordFields) draft() (client.RecordDraft, error) {
	fields, err := setFields(f.Set)
	return client.RecordDraft{OwnerID: f.Owner, Fields: fields}, err
}

// setFields reads FIELD=TEXT and FIELD:=JSON.
func setFields(sets []string) (map[string]any, error) {
	fields := map[string]any{}
	for _, set := range sets {
		name, value, ok := strings.Cut(set, "=")
		if !ok {
			return nil, usage("--set must be FIELD=TEXT or FIELD:=JSON, not %q", set)
		}
		plain, raw := strings.CutSuffix(name, ":")
		if _, twice := fields[plain]; twice || plain == "" {
			return nil, usage("--set names %q twice, or nothing", plain)
		}
		fields[plain] = value
		if raw {
			var v any
			if err := json.Unmarshal([]byte(value), &v); err != nil {
				return nil, usage("--set %s:= must be JSON, such as 5, true or null, not %q", plain, value)
			}
			fields[plain] = v
		}
	}
	return fields, nil
}

type recordName struct {
	Object string `arg:"" enum:"${record_objects}" help:"What it is: ${enum}."`
	ID     string `arg:"" help:"Its id."`
}

func printRecord(p *printer, rec *client.Record) {
	pairs := []any{
		"ID", rec.ID, "Object", rec.Object, "Owner", named(rec.OwnerID), "Version", rec.RecordVersion,
		"Created",
		phrase{rec.CreatedAt, " by ", named(rec.CreatedBy)},
		"Updated",
		phrase{rec.UpdatedAt, " by ", named(rec.UpdatedBy)},
	}
	p.pairs(append(pairs, fieldPairs(rec.Fields)...)...)
}

// fieldPairs are the fields of a record by their names.
func fieldPairs(fields map[string]any) (pairs []any) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		pairs = append(pairs, name, named(shortly(fields[name])))
	}
	return pairs
}

// shortly is the value of a field as people read it.
func shortly(value any) string {
	if n, ok := value.(float64); ok {
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.6f", n), "0"), ".")
	}
	return fmt.Sprint(value)
}

type recordCreateCmd struct {
	Object string `arg:"" enum:"${record_objects}" help:"What to create: ${enum}."`
	recordFields
}

func (recordCreateCmd) Help() string {
	return `renga metadata describe OBJECT shows the fields.

Examples:
  renga record create Account --set Name=Acme --set Industry=Technology --set AnnualRevenue:=1200000
  renga record create Opportunity --set Name="Deal A" --set StageName=Qualification ` +
		`--set CloseDate=2026-02-28 --set Amount:=50000`
}

func (c *recordCreateCmd) Run(ctx context.Context, r *remote) error {
	draft, err := c.draft()
	if err != nil {
		return err
	}
	return show(r, printRecord)(r.Records.Create(ctx, c.Object, draft))
}

type recordGetCmd struct{ recordName }

func (recordGetCmd) Help() string {
	return `Examples:
  renga record get Account 0199c1a5-0000-7000-8000-0000000000a1
  renga record get Account 0199c1a5-0000-7000-8000-0000000000a1 -o json | jq .fields`
}

func (c *recordGetCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printRecord)(r.Records.Get(ctx, c.Object, c.ID))
}

type recordListCmd struct {
	Object string   `arg:"" enum:"${record_objects}" help:"What to list: ${enum}."`
	Where  []string `sep:"none" placeholder:"FIELD.OP=VALUE"`
	Sort   string   `placeholder:"FIELD.asc|desc,…" help:"Order; the default is that of creation."`
	paging
}

func (recordListCmd) Help() string {
	return `Examples:
  renga record list Opportunity --where IsClosed=false --where Amount.gte=10000 --sort CloseDate.asc
  renga record list Account --where Name.contains=acme -o json | jq -r '.items[].id'`
}

func (c *recordListCmd) Run(ctx context.Context, r *remote) error {
	q := client.RecordQuery{Filters: map[string]string{}, Sort: c.Sort, Paging: c.at()}
	for _, filter := range c.Where {
		name, value, ok := strings.Cut(filter, "=")
		if _, twice := q.Filters[name]; !ok || twice {
			return usage("--where must be FIELD=VALUE or FIELD.OP=VALUE, each once, not %q", filter)
		}
		q.Filters[name] = value
	}
	return tabulate(r, &c.paging, columns("ID, NAME, VERSION, FIELDS", func(rec *client.Record) []any {
		var rest phrase
		for _, name := range slices.Sorted(maps.Keys(rec.Fields)) {
			if name == "Name" {
				continue
			}
			if len(rest) > 0 {
				rest = append(rest, " ")
			}
			rest = append(rest, name, "=", named(shortly(rec.Fields[name])))
		}
		name, _ := rec.Fields["Name"].(string)
		return []any{rec.ID, name, rec.RecordVersion, rest}
	}))(r.Records.List(ctx, c.Object, q))
}

// recordVersion is the version that somebody has seen.
type recordVersion struct {
	Version string `placeholder:"INSTANT"`
}

func (v *recordVersion) seen() string { return cmp.Or(v.Version, client.AnyVersion) }

type recordUpdateCmd struct {
	recordName
	recordFields
	recordVersion
}

func (recordUpdateCmd) Help() string {
	return `Examples:
  renga record update Opportunity 0199c1a5-0000-7000-8000-0000000000d1 --set StageName="Closed Won"
  renga record update Account 0199c1a5-0000-7000-8000-0000000000a1 --set Phone:=null --version 2026-01-10T12:34:56.789Z`
}

func (c *recordUpdateCmd) Run(ctx context.Context, r *remote) error {
	draft, err := c.draft()
	if err != nil {
		return err
	}
	return show(r, printRecord)(r.Records.Update(ctx, c.Object, c.ID, c.seen(), draft))
}

type recordDeleteCmd struct {
	recordName
	recordVersion
}

func (recordDeleteCmd) Help() string {
	return `A record that others name is not deleted.

Examples:
  renga record delete Account 0199c1a5-0000-7000-8000-0000000000a1`
}

func (c *recordDeleteCmd) Run(ctx context.Context, r *remote) error {
	if err := r.Records.Delete(ctx, c.Object, c.ID, c.seen()); err != nil {
		return err
	}
	return r.did(map[string]any{"object": c.Object, "id": c.ID, "deleted": true}, "deleted %s %s", c.Object, c.ID)
}

type recordHistoryCmd struct {
	recordName
	paging
}

func (recordHistoryCmd) Help() string {
	return `Examples:
  renga record history Opportunity 0199c1a5-0000-7000-8000-0000000000d1`
}

func (c *recordHistoryCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns("AT, ACTION, USER, CHANGES", func(e *client.RecordEntry) []any {
		var changes []string
		for _, change := range e.Changes {
			text := change.Field
			if change.New != nil {
				text += ": " + string(change.Old) + " → " + string(change.New)
			}
			changes = append(changes, text)
		}
		return []any{e.At, e.Action, named(e.UserID), strings.Join(changes, ", ")}
	}))(r.Records.History(ctx, c.Object, c.ID, c.at()))
}

type recordConvertCmd struct {
	ID          string   `arg:"" help:"Id of the lead."`
	Match       bool     `help:"Look for an account and a contact that fit before new ones are made."`
	Account     string   `placeholder:"UUID" help:"Account that it joins."`
	Contact     string   `placeholder:"UUID" help:"Contact that it joins."`
	Opportunity []string `sep:"none" placeholder:"FIELD=TEXT"`
	Owner       string   `placeholder:"UUID" help:"Owner of what is created; the default is that of the lead."`
}

func (recordConvertCmd) Help() string {
	return `Examples:
  renga record convert 0199c1a5-0000-7000-8000-0000000000e1 --match
  renga record convert 0199c1a5-0000-7000-8000-0000000000e1 ` +
		`--opportunity StageName=Qualification --opportunity CloseDate=2026-03-31`
}

func (c *recordConvertCmd) Run(ctx context.Context, r *remote) error {
	v := client.LeadConversion{OwnerID: c.Owner, AccountID: c.Account, ContactID: c.Contact, Match: c.Match}
	if len(c.Opportunity) > 0 {
		fields, err := setFields(c.Opportunity)
		if err != nil {
			return err
		}
		v.Opportunity = fields
	}
	return show(r, func(p *printer, done *client.ConvertedLead) {
		opportunity := ""
		if done.OpportunityID != nil {
			opportunity = *done.OpportunityID
		}
		p.pairs("Lead", done.Lead.ID, "Account", done.AccountID, "Contact", done.ContactID, "Opportunity", opportunity,
			"Created", strings.Join(done.Created, ", "))
	})(r.Records.ConvertLead(ctx, c.ID, v))
}
