package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/platform/fault"
)

// demoCmd is `renga demo`.
type demoCmd struct {
	Load demoLoadCmd `cmd:"" help:"Fill a tenant with the data of a sample company."`
}

// How many records demo data may have.
const (
	minDemo = 100
	maxDemo = 200_000
)

// demoLoadCmd is `renga demo load`.
type demoLoadCmd struct {
	Records int   `default:"10000" placeholder:"N" help:"How many records to create, 100 to 200000 (${default})."`
	Seed    int64 `default:"1" placeholder:"N" help:"Which data: the same seed gives the same (${default})."`
	Force   bool  `help:"Load it also into a tenant that has records of its own."`
}

// Help shows examples.
func (demoLoadCmd) Help() string {
	return `It defines roles, users, groups, queues, permission sets, three custom fields, sharing rules and territories, validation and
workflow rules, a scheduled job, a graph and an approval process, and creates campaigns, accounts, contacts, leads, opportunities and quotes
with their owners, teams and members; some names are Japanese. Then it lets them have a history: deals move through their stages and are won
or lost, leads change hands and are converted, discounts are submitted, approved, rejected and recalled. Campaigns become readable for
everybody. The rules act on all records of the tenant, also on those that are there already.

On a server with --auth jwt the subject of the token must be a user who may modify all records; in a tenant without users it is
made one. It is also given the permission set Finance of the demo.

It can be repeated, also after it was interrupted: what was created is not created again, and what was defined is as it
was. The dates lie around the day on which it was loaded first. It needs a server that has the keys of the first time still
(--key-retention).

Examples:
  renga demo load
  renga demo load --tenant 0199c1a4-0000-7000-8000-00000000d301 --records 1000 --seed 7`
}

// Validate refuses numbers that are none.
func (c *demoLoadCmd) Validate() error {
	if c.Records < minDemo || c.Records > maxDemo {
		return fmt.Errorf("--records must be %d to %d", minDemo, maxDemo)
	}
	if c.Seed < 1 {
		return errors.New("--seed must be 1 or more")
	}
	return nil
}

// Run loads the data.
func (c *demoLoadCmd) Run(ctx context.Context, a *App) error {
	r, err := a.connect(client.DefaultRetryFor)
	if err != nil {
		return err
	}
	day, err := c.dated(ctx, r)
	if err != nil {
		return err
	}
	d := newDemo(c.Seed, c.Records, day)
	bar := a.Bar("demo data", d.steps())
	l := &demoLoad{company: d, remote: r, bar: bar, ids: map[string][]string{}}
	err = l.run(ctx)
	bar.End()
	if err != nil {
		return err
	}
	return c.report(a, l)
}

// dated is the day that the data lies around: today, or that of the data that is there. It
// refuses a tenant that holds something else.
func (c *demoLoadCmd) dated(ctx context.Context, r *remote) (time.Time, error) {
	today := r.app.now().UTC().Truncate(24 * time.Hour)
	marker := newDemo(c.Seed, minDemo, today).marker()
	found, err := r.Metadata.Get(ctx, marker.kind, marker.id)
	if err == nil {
		var body struct {
			Description string `json:"description"`
		}
		if err := json.Unmarshal(found.Body, &body); err != nil {
			return today, err
		}
		_, size, day, ok := readMarker(body.Description)
		switch {
		case !ok:
			return today, usage("the permission set %s does not say any more when the demo data was loaded; choose "+
				"another --seed", marker.id)
		case size != c.Records:
			return today, usage("the tenant has demo data of seed %d with %d records: repeat it with --records %d, "+
				"or choose another --seed", c.Seed, size, size)
		}
		return day, nil
	}
	if !errors.Is(err, client.ErrNotFound) {
		return today, err
	}
	page, err := r.Records.List(ctx, "Account", client.RecordQuery{})
	if err != nil {
		if err = r.register(ctx, newDemo(c.Seed, minDemo, today), err); err == nil {
			page, err = r.Records.List(ctx, "Account", client.RecordQuery{})
		}
	}
	if err == nil && page.Total > 0 && !c.Force {
		return today, fault.New(fault.Invalid, "TENANT_NOT_EMPTY",
			"the tenant has %d accounts; choose another with --tenant, or say --force", page.Total)
	}
	return today, err
}

// loadedKind is how much there is of something.
type loadedKind struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// report says what the tenant holds, and how to look at it.
func (c *demoLoadCmd) report(a *App, l *demoLoad) error {
	counts := l.counts()
	err := a.Answer(map[string]any{
		"seed": c.Seed, "records": c.Records, "date": l.day.Format(dayLayout),
		"items": counts,
	}, func() error {
		var rows [][]string
		for _, k := range counts {
			rows = append(rows, []string{k.What, fmt.Sprint(k.Count)})
		}
		return a.grid([]string{"WHAT", "COUNT"}, rows)
	})
	if err == nil && a.Output != "json" && len(l.placed) > 0 {
		p := l.placed[0]
		a.say("Who may see what follows in a moment; for example: renga sharing why Account %s --user %s",
			l.ids["Account"][p.account], l.reps[regions[l.records["Account"][p.account].region].code][1])
	}
	return err
}
