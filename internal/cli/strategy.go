package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/client"
)

type strategyCmd struct {
	Apply strategyApplyCmd `cmd:"" help:"Register strategies, or change them."`
	List  strategyListCmd  `cmd:"" help:"List strategies."`
}

type strategyApplyCmd struct {
	Files []string `name:"file" short:"f" required:"" placeholder:"FILE"`
	ID    string   `placeholder:"NAME"`
}

func (strategyApplyCmd) Help() string {
	return `A strategy has a name and may have tags. What checks find out (health, last_checked_at, metrics) stays as
it is, unless the file says otherwise. With --auth jwt this needs a token of the audience pdca with the scope
pdca:admin.

  {"name": "Mean reversion M1", "tags": ["daily", "priority"]}

Examples:
  renga strategy apply -f strat.meanrev.m1.json
  renga strategy apply --id strat.meanrev.m1 -f - < strategy.json
  renga strategy apply -f all.json          # [{"id": "strat.meanrev.m1", "name": …}, …]`
}

type strategySource struct {
	file, id string
	raw      []byte
}

type appliedStrategy struct {
	File   string `json:"file"`
	Change string `json:"change"` // created, stored
	*client.Strategy
}

func (c *strategyApplyCmd) Run(ctx context.Context, r *remote) error {
	sources, err := readAll(r.App, c.Files, func(name string, raw []byte) ([]strategySource, error) {
		return readStrategies(name, raw, c.ID)
	})
	if err != nil {
		return err
	}
	if c.ID != "" && len(sources) > 1 {
		return usage("--id names one strategy, and there are %d", len(sources))
	}
	t := columns("STRATEGY, CHANGE, NAME, TAGS, HEALTH", func(d *appliedStrategy) []any {
		return []any{d.ID, d.Change, d.Name, strings.Join(d.Tags, ", "), d.Health}
	})
	return storeAll(r.App, "stored", sources, func(s strategySource) (appliedStrategy, error) {
		stored, created, err := r.Strategies.PutSource(ctx, s.id, s.raw)
		one := appliedStrategy{s.file, "stored", stored}
		if created {
			one.Change = "created"
		}
		return one, inSource(s.file+": "+s.id, err)
	}, t)
}

// readStrategies splits a file into its strategies and settles their ids.
func readStrategies(file string, raw []byte, id string) (sources []strategySource, err error) {
	if len(raw) == 0 {
		return nil, usage("%s is empty", file)
	}
	many := jsontext.Value(raw).Kind() == '['
	values, err := oneOrMany(file, raw)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		var said struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(value, &said); err != nil {
			return nil, usage("%s: strategy %d is no JSON object with an id that is a string", file, i+1)
		}
		one := strategySource{file, cmp.Or(id, said.ID), value}
		if one.id == "" && !many && file != "-" {
			one.id = stem(file)
		}
		if one.id == "" {
			return nil, usage("%s: strategy %d has no id: give it a member id, or --id if it is the only one", file,
				i+1)
		}
		sources = append(sources, one)
	}
	return sources, nil
}

type strategyListCmd struct {
	Text   string          `name:"search" short:"q" placeholder:"TEXT"`
	Tag    []string        `placeholder:"TAG" help:"Has one of these tags. ${repeat}"`
	Health []client.Health `placeholder:"HEALTH" enum:"healthy,degraded,unknown"`
	Sort   string          `placeholder:"FIELD"`
	paging
}

func (strategyListCmd) Help() string {
	return `With --auth jwt this needs a token of the audience pdca.gui with the scope pdca:read.

Examples:
  renga strategy list --health degraded --health unknown --tag daily
  renga strategy list -q meanrev --sort last_checked_at.asc
  renga strategy list -o json | jq -r '.items[].id'`
}

func (c *strategyListCmd) Run(ctx context.Context, r *remote) error {
	filter := client.StrategyFilter{Text: c.Text, TagsAny: c.Tag, Health: c.Health, Sort: c.Sort}
	return tabulate(r, &c.paging, columns(
		"STRATEGY, NAME, TAGS, HEALTH, CHECKED", func(s *client.Strategy) []any {
			var checked any = "never"
			if s.LastCheckedAt != nil {
				checked = *s.LastCheckedAt
			}
			return []any{s.ID, s.Name, strings.Join(s.Tags, ", "), s.Health, checked}
		},
	))(r.Strategies.List(ctx, filter, c.at()))
}
