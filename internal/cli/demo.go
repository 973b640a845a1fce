package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/demo"
	"renga.dev/renga/internal/platform/fault"
)

type demoCmd struct {
	Load demoLoadCmd `cmd:"" help:"Fill a tenant with the data of a sample company."`
}

type demoLoadCmd struct {
	Records int   `default:"10000" placeholder:"N" help:"How many records to create, 100 to 200000 (${default})."`
	Seed    int64 `default:"1" placeholder:"N" help:"Which data: the same seed gives the same (${default})."`
	Force   bool  `help:"Load it also into a tenant that has records of its own."`
}

func (demoLoadCmd) Help() string {
	return `It defines roles, users, groups, queues, permission sets, three custom fields, sharing rules and
territories, validation and workflow rules, a scheduled job, a graph and an approval process, and creates campaigns,
accounts, contacts, leads, opportunities and quotes with their owners, teams and members; some names are Japanese.
Then it lets them have a history: deals move through their stages and are won or lost, leads change hands and are
converted, discounts are submitted, approved, rejected and recalled. Campaigns become readable for everybody. The
rules act on all records of the tenant, also on those that are there already.

On a server with --auth jwt the subject of the token must be a user who may modify all records; in a tenant without
users it is made one. It is also given the permission set Finance of the demo.

It can be repeated, also after it was interrupted: what was created is not created again, and what was defined is as
it was. The dates lie around the day on which it was loaded first. It needs a server that has the keys of the first
time still (--key-retention).

Examples:
  renga demo load
  renga demo load --tenant 0199c1a4-0000-7000-8000-00000000d301 --records 1000 --seed 7`
}

func (c *demoLoadCmd) Validate() error {
	if c.Records < demo.MinRecords || c.Records > demo.MaxRecords {
		return fmt.Errorf("--records must be %d to %d", demo.MinRecords, demo.MaxRecords)
	}
	if c.Seed < 1 {
		return errors.New("--seed must be 1 or more")
	}
	return nil
}

func (c *demoLoadCmd) Run(ctx context.Context, r *remote) error {
	r = r.patient()
	l, err := demo.Prepare(ctx, r.Client, demo.Options{
		Seed: c.Seed, Records: c.Records, Now: r.now(), Subject: subjectOf(r.token), User: r.As, Force: c.Force,
	})
	if err == nil {
		bar := r.Bar("demo data", l.Steps())
		err = l.Run(ctx, bar.Set)
		bar.End()
	}
	if refused := (*demo.Error)(nil); errors.As(err, &refused) {
		return fault.New(fault.Invalid, refused.Code, "%s", refused.Message)
	}
	if err != nil {
		return err
	}
	return c.report(r.App, l)
}

// subjectOf is the subject of a token, "" when it has none. The server checks the token.
func subjectOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &claims) != nil {
		return ""
	}
	return claims.Subject
}

// report says what the tenant holds, and how to look at it.
func (c *demoLoadCmd) report(a *App, l *demo.Loader) error {
	counts := l.Counts()
	err := a.print(map[string]any{
		"seed": c.Seed, "records": c.Records, "date": l.Date(), "items": counts,
	}, func(p *printer) {
		columns("WHAT, COUNT", func(k *demo.Count) []any { return []any{k.What, k.Count} }).print(p, counts)
	})
	if account, user := l.Example(); err == nil && a.Output != "json" && account != "" {
		a.say("Who may see what follows in a moment; for example: renga sharing why Account %s --user %s", account,
			user)
	}
	return err
}
