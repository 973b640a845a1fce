package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"renga.dev/renga/client"
)

type graphApplyCmd struct {
	Files []string `arg:"" name:"file" help:"Graphs in YAML or JSON; - is standard input."`
	ID    string   `placeholder:"NAME" help:"Id of the graph; ${file_id}"`
}

func (graphApplyCmd) Help() string {
	return `Registers graphs. A graph whose content changed becomes a new version; executions keep the version they
were created with. All files are checked before the first one is sent.

Examples:
  renga graph apply order.yaml
  renga graph apply graphs/*.yaml
  renga graph apply --id order - < order.yaml`
}

type applied struct {
	File   string `json:"file"`
	Change string `json:"change"` // created, changed, unchanged; registered when that is unknown
	client.GraphVersion
}

func (c *graphApplyCmd) Run(ctx context.Context, r *remote) error {
	if err := oneID("graph", c.ID, c.Files); err != nil {
		return err
	}
	var files []graphFile
	for _, name := range c.Files {
		f, err := r.graph(name, c.ID)
		if err != nil {
			return err
		}
		if _, err := f.graph.Compile(f.id, 1); err != nil {
			return inFile(name, err)
		}
		files = append(files, f)
	}
	return storeAll(r.App, "registered", files, func(f graphFile) (applied, error) { return r.apply(ctx, f) },
		columns("GRAPH, VERSION, CHANGE, DIGEST", func(d *applied) []any {
			return []any{d.GraphID, d.Version, d.Change, d.Digest}
		}))
}

// storeAll stores what files hold and prints what became of each, or says how many were stored before one failed.
func storeAll[S, D any](a *App, verb string, sources []S, store func(S) (D, error), t table[D]) error {
	done := []D{}
	for _, s := range sources {
		one, err := store(s)
		if err != nil {
			if len(done) > 0 {
				a.say("%s before this failed: %d of %d", verb, len(done), len(sources))
			}
			return err
		}
		done = append(done, one)
	}
	return printItems(a, done, t)
}

func (r *remote) apply(ctx context.Context, f graphFile) (applied, error) {
	out := applied{File: f.name}
	old, err := r.Graphs.Get(ctx, f.id, 0)
	if err != nil && !errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrForbidden) {
		return out, err
	}
	missing := errors.Is(err, client.ErrNotFound)
	if out.GraphVersion, err = r.Graphs.Put(ctx, f.id, f.raw); err != nil {
		return out, err
	}
	switch {
	case missing:
		out.Change = "created"
	case old == nil: // this token may write, not read
		out.Change = "registered"
	case old.Digest == out.Digest && old.Version == out.Version:
		out.Change = "unchanged"
	default:
		out.Change = "changed"
	}
	return out, nil
}

type graphShowCmd struct {
	ID      string `arg:"" help:"Id of the graph."`
	Version int    `placeholder:"N" help:"Version; default: the newest."`
}

func (graphShowCmd) Help() string {
	return `With -o yaml it prints a file that graph apply takes: the same graph, without the defaults.

Examples:
  renga graph show order
  renga graph show order --version 3 -o json
  renga graph show order -o yaml > order.yaml`
}

func (c *graphShowCmd) Run(ctx context.Context, r *remote) error {
	got, err := r.Graphs.Get(ctx, c.ID, c.Version)
	if err == nil && r.Output == asYAML {
		file, err := graphYAML(r.heard.last())
		if err == nil {
			_, err = r.Out.Write(file)
		}
		return err
	}
	return show(r, printGraph)(got, err)
}

func printGraph(p *printer, g *client.Graph) {
	cleanup := ""
	if g.OnCancel != nil {
		cleanup = "graph " + g.OnCancel.Graph
	}
	p.pairs("graph", g.GraphID, "version", g.Version, "digest", g.Digest, "created", g.CreatedAt, "on cancel", cleanup)
	specs := map[string]*client.NodeSpec{}
	for i := range g.Nodes {
		specs[g.Nodes[i].NodeID] = &g.Nodes[i]
	}
	columns("NODE, TYPE, SETTINGS, LEADS TO", func(o *outlined) []any {
		return []any{o.name(), o.kind, settings(specs[o.id]), o.ways}
	}).section(p, outline(g))
}

// settings are what the author of a graph chose for a node.
func settings(n *client.NodeSpec) string {
	retry := ""
	if r := n.Retry; r != nil && r.MaxAttempts > 1 {
		retry = fmt.Sprintf("%d attempts from %s, ×%v up to %s", r.MaxAttempts, r.InitialInterval, r.Backoff,
			r.MaxInterval)
		if len(r.Except) > 0 {
			retry += ", none after " + strings.Join(r.Except, " or ")
		}
	}
	return listed(with("queue ", n.Queue), retry, with("timeout ", n.Timeout), with("for ", n.For),
		with("key ", n.WaitKey), string(n.Policy), n.Expression, with("outcome ", n.Outcome),
		with("input ", declared(n.Input)), with("message ", message(n.Message)), asks(n))
}

// message is the message that a node asks for.
func message(m *client.MessageSpec) string {
	if m == nil {
		return ""
	}
	return strings.TrimSpace(m.Name + " " + m.Key)
}

// assignees are who may resume a Wait.
func assignees(a *client.Assignees) string {
	if a == nil {
		return ""
	}
	return strings.Join(slices.Concat(a.Users, a.Roles, a.Groups), " or ")
}

// asks is what a Wait asks of people.
func asks(n *client.NodeSpec) string {
	title, fields, schema := "", "", ""
	if p := n.Prompt; p != nil {
		title, fields = fmt.Sprintf("asks %q", p.Title), with("shows ", declared(p.Fields))
	}
	if len(n.Schema) > 0 {
		schema = "answers fit a schema"
	}
	remind := ""
	if r := n.Remind; r != nil {
		remind = listed("reminds after "+r.After, with("every ", r.Every), with("up to ", number(r.Max)))
	}
	return listed(title, with("for ", assignees(n.Assignees)), fields, schema, remind)
}

// declared is the input that a Task declares.
func declared(input map[string]string) string {
	members := make([]string, 0, len(input))
	for _, name := range slices.Sorted(maps.Keys(input)) {
		members = append(members, name+"="+input[name])
	}
	return strings.Join(members, " ")
}

type graphListCmd struct{ paging }

func (graphListCmd) Help() string {
	return `Examples:
  renga graph list
  renga graph list -o json | jq -r '.items[].graphId'`
}

func (c *graphListCmd) Run(ctx context.Context, r *remote) error {
	t := columns("GRAPH, VERSION, CREATED, DIGEST", func(g *client.GraphVersion) []any {
		return []any{g.GraphID, g.Version, g.CreatedAt, g.Digest}
	})
	return tabulate(r, &c.paging, t)(r.Graphs.List(ctx, c.at()))
}

type graphVersionsCmd struct {
	ID string `arg:"" help:"Id of the graph."`
	paging
}

func (graphVersionsCmd) Help() string {
	return `The newest come first.

Examples:
  renga graph versions order
  diff <(renga graph show order --version 1 -o yaml) <(renga graph show order -o yaml)`
}

func (c *graphVersionsCmd) Run(ctx context.Context, r *remote) error {
	t := columns("VERSION, CREATED, DIGEST", func(g *client.GraphVersion) []any {
		return []any{g.Version, g.CreatedAt, g.Digest}
	})
	return tabulate(r, &c.paging, t)(r.Graphs.Versions(ctx, c.ID, c.at()))
}
