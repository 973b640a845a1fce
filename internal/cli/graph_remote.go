package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"renga.dev/renga/client"
)

// graphApplyCmd is `renga graph apply`.
type graphApplyCmd struct {
	Files []string `arg:"" name:"file" help:"Graphs in YAML or JSON; - is standard input."`
	ID    string   `placeholder:"NAME" help:"Id of the graph; default: the name of the file without its extension."`
}

// Help shows examples.
func (graphApplyCmd) Help() string {
	return `Registers graphs. A graph whose content changed becomes a new version; executions keep the version they were created
with. All files are checked before the first one is sent.

Examples:
  renga graph apply order.yaml
  renga graph apply graphs/*.yaml
  renga graph apply --id order - < order.yaml`
}

// applied is what became of a file.
type applied struct {
	File   string `json:"file"`
	Change string `json:"change"` // created, changed, unchanged; registered when that cannot be told
	client.GraphVersion
}

// Run registers the graphs, in the order given.
func (c *graphApplyCmd) Run(ctx context.Context, a *App, r *remote) error {
	if c.ID != "" && len(c.Files) > 1 {
		return usage("--id names one graph, and there are %d files", len(c.Files))
	}
	var files []graphFile
	for _, name := range c.Files {
		f, err := a.graph(name, c.ID)
		if err != nil {
			return err
		}
		if _, err := f.graph.Compile(f.id, 1); err != nil {
			return inFile(name, err)
		}
		files = append(files, f)
	}
	done := []applied{}
	for _, f := range files {
		one, err := r.apply(ctx, f)
		if err != nil {
			if len(done) > 0 {
				a.say("registered before this failed: %d of %d", len(done), len(files))
			}
			return err
		}
		done = append(done, one)
	}
	return a.Answer(map[string]any{"items": done}, func() error {
		var rows [][]string
		for _, d := range done {
			rows = append(rows, []string{d.GraphID, strconv.Itoa(d.Version), d.Change, d.Digest})
		}
		return a.grid([]string{"GRAPH", "VERSION", "CHANGE", "DIGEST"}, rows)
	})
}

// apply registers one graph and says how that changed what is stored.
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

// graphShowCmd is `renga graph show`.
type graphShowCmd struct {
	ID      string `arg:"" help:"Id of the graph."`
	Version int    `placeholder:"N" help:"Version; default: the newest."`
}

// Help shows examples.
func (graphShowCmd) Help() string {
	return `Examples:
  renga graph show order
  renga graph show order --version 3 -o json`
}

// Run shows the graph.
func (c *graphShowCmd) Run(ctx context.Context, a *App, r *remote) error {
	return show(r, a.showGraph)(r.Graphs.Get(ctx, c.ID, c.Version))
}

func (a *App) showGraph(g *client.Graph) error {
	err := a.pairs(
		[2]string{"graph", g.GraphID}, [2]string{"version", strconv.Itoa(g.Version)},
		[2]string{"digest", g.Digest}, [2]string{"created", instant(g.CreatedAt)},
	)
	if err != nil {
		return err
	}
	specs := map[string]*client.NodeSpec{}
	for i := range g.Nodes {
		specs[g.Nodes[i].NodeID] = &g.Nodes[i]
	}
	var rows [][]string
	for _, o := range outline(g) {
		rows = append(rows, []string{o.name(), o.kind, settings(specs[o.id]), o.ways})
	}
	if err := a.line(""); err != nil {
		return err
	}
	return a.grid([]string{"NODE", "TYPE", "SETTINGS", "LEADS TO"}, rows)
}

// settings are what the author of a graph chose for a node.
func settings(n *client.NodeSpec) string {
	text := ""
	add := func(format string, args ...any) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf(format, args...)
	}
	if n.Queue != "" {
		add("queue %s", n.Queue)
	}
	if r := n.Retry; r != nil && r.MaxAttempts > 1 {
		add("%d attempts from %s, ×%v up to %s", r.MaxAttempts, r.InitialInterval, r.Backoff, r.MaxInterval)
	}
	if n.Timeout != "" {
		add("timeout %s", n.Timeout)
	}
	if n.WaitKey != "" {
		add("key %s", clean(n.WaitKey))
	}
	if n.Policy != "" {
		add("%s", n.Policy)
	}
	if n.Expression != "" {
		add("%s", clean(n.Expression))
	}
	return text
}

// graphListCmd is `renga graph list`.
type graphListCmd struct{ paging }

// Help shows examples.
func (graphListCmd) Help() string {
	return `Examples:
  renga graph list
  renga graph list -o json | jq -r '.items[].graphId'`
}

// Run prints a page of the newest versions.
func (c *graphListCmd) Run(ctx context.Context, a *App, r *remote) error {
	page, err := r.Graphs.List(ctx, c.at())
	if err != nil {
		return err
	}
	return r.answer(func() error {
		var rows [][]string
		for _, g := range page.Items {
			rows = append(rows, []string{g.GraphID, strconv.Itoa(g.Version), instant(g.CreatedAt), g.Digest})
		}
		err := a.grid([]string{"GRAPH", "VERSION", "CREATED", "DIGEST"}, rows)
		a.more(&c.paging, len(page.Items), page.Total)
		return err
	})
}
