package cli

import "strings"

type graphCmd struct {
	Apply    graphApplyCmd    `cmd:"" help:"Register graphs."`
	Validate graphValidateCmd `cmd:"" help:"Check graphs, without a server."`
	Show     graphShowCmd     `cmd:"" help:"Show a graph."`
	List     graphListCmd     `cmd:"" help:"List graphs."`
	Versions graphVersionsCmd `cmd:"" help:"List the versions of a graph."`
	Test     graphTestCmd     `cmd:"" help:"Play the cases beside graphs, without a server, and compare how they end."`
	Simulate simulateCmd      `cmd:"" help:"Play a graph with given outcomes, without a server, and print the events."`
}

type graphValidateCmd struct {
	Files []string `arg:"" name:"file" help:"Graphs in YAML or JSON; - is standard input."`
	ID    string   `placeholder:"NAME" help:"Id of the graph; ${file_id}"`
}

func (graphValidateCmd) Help() string {
	return `Says of each graph whether it can run: no cycle, no node that is never reached, every fork with its
join, conditions that compile. It is what the server checks when a graph is registered. All files are
checked; the exit code is 2 when one of them cannot run.

Examples:
  renga graph validate order.yaml
  renga graph validate graphs/*.yaml -o json
  generate-graph | renga graph validate --id order -`
}

type validity struct {
	File    string   `json:"file"`
	GraphID string   `json:"graphId,omitzero"`
	Valid   bool     `json:"valid"`
	Nodes   int      `json:"nodes,omitzero"`
	Edges   int      `json:"edges,omitzero"`
	Digest  string   `json:"digest,omitzero"`
	Error   *problem `json:"error,omitzero"`
}

func (c *graphValidateCmd) Run(a *App) error {
	if err := oneID("graph", c.ID, c.Files); err != nil {
		return err
	}
	var found []validity
	var firstErr error
	for _, name := range c.Files {
		v, err := a.validate(name, c.ID)
		if err != nil && firstErr == nil {
			firstErr = err
		}
		found = append(found, v)
	}
	if err := printItems(a, found, validities); err != nil {
		return err
	}
	if firstErr != nil {
		return ended(a.explain(firstErr).exit)
	}
	return nil
}

func (a *App) validate(name, id string) (validity, error) {
	file, err := a.graph(name, id)
	v := validity{File: name, GraphID: file.id}
	if err == nil {
		plan, compileErr := file.graph.Compile(file.id, 1)
		if err = compileErr; err == nil {
			v.Valid, v.Nodes, v.Edges, v.Digest = true, len(plan.Graph.Nodes), len(plan.Graph.Edges), plan.Digest
			return v, nil
		}
		err = inFile(name, err)
	}
	p := a.explain(err).problem
	v.Error = &p
	return v, err
}

var validities = columns("FILE, VALID, WHAT", func(v *validity) []any {
	if v.Error != nil {
		return []any{v.File, coloured{red, "no"}, strings.TrimPrefix(v.Error.Message, v.File+": ")}
	}
	what := count(v.Nodes, "node", "nodes") + ", " + count(v.Edges, "edge", "edges") + ", " + v.Digest
	return []any{v.File, coloured{green, "yes"}, what}
})
