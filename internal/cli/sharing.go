package cli

import (
	"context"
	"slices"

	"renga.dev/renga/client"
)

type sharingCmd struct {
	Why       sharingWhyCmd     `cmd:"" help:"Say who has access to a record, and why."`
	Models    sharingModelsCmd  `cmd:"" help:"List the sharing models and the progress of rebuilds."`
	Rebuild   sharingRebuildCmd `cmd:"" help:"Rebuild the sharing of an object."`
	Territory territoryCmd      `cmd:"" help:"Create territories, and assign users and accounts to them."`
}

type sharingWhyCmd struct {
	Object string `arg:"" help:"Name of the object."`
	ID     string `arg:"" help:"Id of the record."`
	User   string `placeholder:"USER" help:"Of this user alone, by id or subject, with every reason."`
}

func (sharingWhyCmd) Help() string {
	return `Without --user it lists to whom access is given: users, roles, groups, territories, permission sets,
everybody.

Examples:
  renga sharing why Account 0199c1a5-0000-7000-8000-0000000000a1
  renga sharing why Account 0199c1a5-0000-7000-8000-0000000000a1 --user mika`
}

func (c *sharingWhyCmd) Run(ctx context.Context, r *remote) error {
	user, err := r.userID(ctx, "--user", c.User)
	if err != nil {
		return err
	}
	return show(r, func(p *printer, all []client.RecordAccess) {
		var rows [][]any
		for _, one := range all {
			who := granteeText(one.Grantee)
			if len(one.Why) == 0 {
				rows = append(rows, []any{who, one.Access, "", "", ""})
			}
			for _, why := range one.Why {
				rows = append(rows, []any{who, why.Access, why.Cause, named(why.ID), granteeText(why.Via)})
			}
		}
		p.grid("WHO, ACCESS, CAUSE, ID, VIA", rows)
	})(r.Sharing.Explain(ctx, c.Object, c.ID, user))
}

func granteeText(g client.Grantee) phrase {
	if g.ID == "" {
		return phrase{g.Type}
	}
	return phrase{g.Type, " ", named(g.ID)}
}

type sharingModelsCmd struct {
	Object string `placeholder:"NAME" help:"Of this object only."`
	paging
}

func (sharingModelsCmd) Help() string {
	return `Examples:
  renga sharing models
  renga sharing models --object Account -o json`
}

func (c *sharingModelsCmd) Run(ctx context.Context, r *remote) error {
	const head = "OBJECT, VERSION, STATUS, OWD, RECORDS, EXECUTION"
	return tabulate(r, &c.paging, columns(head, func(m *client.SharingModel) []any {
		return []any{
			m.Object, m.Version, m.Status, m.OWD, outOf(m.RecordsProcessed, m.RecordsTotal), m.ExecutionID,
		}
	}))(r.Sharing.Models(ctx, c.Object, c.at()))
}

type sharingRebuildCmd struct {
	Object string `arg:"" help:"Name of the object."`
}

func (sharingRebuildCmd) Help() string {
	return `It is done in the background; until then the model in force stays so. Changes of rules and defaults start
one by themselves.

Examples:
  renga sharing rebuild Account`
}

func (c *sharingRebuildCmd) Run(ctx context.Context, r *remote) error {
	return show(r, func(p *printer, version int64) {
		p.line("Model %d of %s is being built; renga sharing models --object %s says how far it is.", version, c.Object,
			c.Object)
	})(r.Sharing.Rebuild(ctx, c.Object, ""))
}

type territoryCmd struct {
	Put      territoryPutCmd      `cmd:"" help:"Create or replace a territory."`
	List     territoryListCmd     `cmd:"" help:"List the territories."`
	Delete   territoryDeleteCmd   `cmd:"" help:"Delete a territory that nothing is in."`
	Assign   territoryAssignCmd   `cmd:"" help:"Assign users and accounts to a territory."`
	Unassign territoryUnassignCmd `cmd:"" help:"Take users and accounts out of a territory."`
}

type territoryPutCmd struct {
	ID     string `arg:"" help:"A UUID that you choose."`
	Name   string `required:"" placeholder:"TEXT" help:"Its name."`
	Parent string `placeholder:"ID" help:"The territory above; without it, it is at the top."`
	Access string `default:"Read" enum:"Read,Edit" help:"What its users have on its accounts: ${enum} (${default})."`
}

func (territoryPutCmd) Help() string {
	return `Examples:
  renga sharing territory put 0199c1a4-0000-7000-8000-000000000071 --name Japan
  renga sharing territory put 0199c1a4-0000-7000-8000-000000000072 --name "Japan - West" ` +
		`--parent 0199c1a4-0000-7000-8000-000000000071 --access Edit`
}

func (c *territoryPutCmd) Run(ctx context.Context, r *remote) error {
	return show(r, func(p *printer, t *client.Territory) {
		p.line("Territory %s: %s, %s.", t.ID, t.Name, t.Access)
	})(r.Territories.Put(ctx, client.Territory{ID: c.ID, Name: c.Name, ParentID: c.Parent, Access: c.Access}))
}

type territoryListCmd struct{ paging }

func (territoryListCmd) Help() string {
	return `Examples:
  renga sharing territory list
  renga sharing territory list --page-size 100 -o json`
}

func (c *territoryListCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns("ID, NAME, ACCESS, PARENT", func(t *client.Territory) []any {
		return []any{t.ID, t.Name, t.Access, named(t.ParentID)}
	}))(r.Territories.List(ctx, c.at()))
}

type territoryDeleteCmd struct {
	ID string `arg:"" help:"Its id."`
}

func (territoryDeleteCmd) Help() string {
	return `Examples:
  renga sharing territory delete 0199c1a4-0000-7000-8000-000000000072`
}

func (c *territoryDeleteCmd) Run(ctx context.Context, r *remote) error {
	if err := r.Territories.Delete(ctx, c.ID); err != nil {
		return err
	}
	return r.did(map[string]any{"id": c.ID, "deleted": true}, "Deleted territory %s.", c.ID)
}

// assignments are what is assigned to a territory or taken out.
type assignments struct {
	ID       string   `arg:"" help:"Id of the territory."`
	Users    []string `name:"user" placeholder:"USER" help:"A user, by id or subject; may be given several times."`
	Accounts []string `name:"account" placeholder:"ID" help:"An account; may be given several times."`
}

type territoryAssignCmd struct{ assignments }

type territoryUnassignCmd struct{ assignments }

func (territoryAssignCmd) Help() string {
	return `Examples:
  renga sharing territory assign 0199c1a4-0000-7000-8000-000000000072 --user 0199c1a4-0000-7000-8000-000000000021
  renga sharing territory assign 0199c1a4-0000-7000-8000-000000000072 --account 0199c1a5-0000-7000-8000-0000000000a1`
}

func (c *territoryAssignCmd) Run(ctx context.Context, r *remote) error { return c.run(ctx, r, true) }

func (territoryUnassignCmd) Help() string {
	return `Examples:
  renga sharing territory unassign 0199c1a4-0000-7000-8000-000000000072 --user 0199c1a4-0000-7000-8000-000000000021`
}

func (c *territoryUnassignCmd) Run(ctx context.Context, r *remote) error { return c.run(ctx, r, false) }

func (c *assignments) run(ctx context.Context, r *remote, on bool) error {
	if len(c.Users)+len(c.Accounts) == 0 {
		return usage("say what: --user or --account is missing")
	}
	users := slices.Clone(c.Users)
	for i, user := range users {
		id, err := r.userID(ctx, "--user", user)
		if err != nil {
			return err
		}
		users[i] = id
	}
	done := 0
	for _, some := range []struct {
		of  client.TerritoryMember
		ids []string
	}{{client.TerritoryUsers, users}, {client.TerritoryAccounts, c.Accounts}} {
		for _, id := range some.ids {
			if err := r.Territories.Assign(ctx, c.ID, some.of, id, on); err != nil {
				if done > 0 {
					r.say("done before this failed: %d", done)
				}
				return err
			}
			done++
		}
	}
	word := "Assigned"
	if !on {
		word = "Took out"
	}
	return r.print(map[string]any{"territory": c.ID, "assigned": on, "count": done}, func(p *printer) {
		p.line("%s %d.", word, done)
	})
}
