package cli

import (
	"cmp"
	"context"
	stdjson "encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/client"
)

type metadataCmd struct {
	Apply    metadataApplyCmd    `cmd:"" help:"${metadata_apply}"`
	List     metadataListCmd     `cmd:"" help:"List the definitions of a kind."`
	Get      metadataGetCmd      `cmd:"" help:"Show a definition as JSON that apply takes."`
	Delete   metadataDeleteCmd   `cmd:"" help:"Delete a definition."`
	Describe metadataDescribeCmd `cmd:"" help:"Show the fields of an object, as you may see them."`
}

type metadataApplyCmd struct {
	Files []string `name:"file" short:"f" required:"" placeholder:"FILE"`
}

func (metadataApplyCmd) Help() string {
	return `Each definition says with the member "define" what it is, one of
  ` + kindWords + `
and has an id (a UUID that you choose), an object (of owd and team-roles), or both an object and a name (of field).
What it does not say is as it is at first, and what says what is there already changes nothing, so files can be
applied again and again. They are applied in an order in which each kind needs only those before it; roles in the
order of the file, parents first.

  [{"define": "role", "id": "0199c1a4-0000-7000-8000-000000000001", "name": "CEO"},
   {"define": "field", "object": "Account", "name": "Tier__c", "label": "Tier", "type": "picklist", ` +
		`"values": ["Gold", "Silver"]},
   {"define": "owd", "object": "Opportunity", "access": "ReadOnly"}]

Examples:
  renga metadata apply -f roles.json -f sharing.json
  renga metadata get role 0199c1a4-0000-7000-8000-000000000001 > ceo.json && renga metadata apply -f ceo.json`
}

type definitionSource struct {
	file string
	kind client.DefinitionKind
	id   string
	body jsontext.Value
}

type appliedDefinition struct {
	File    string                `json:"file"`
	Define  client.DefinitionKind `json:"define"`
	ID      string                `json:"id"`
	Change  string                `json:"change"` // created, changed, unchanged
	Version string                `json:"version"`
}

func (c *metadataApplyCmd) Run(ctx context.Context, r *remote) error {
	sources, err := readAll(r.App, c.Files, readDefinitions)
	if err != nil {
		return err
	}
	slices.SortStableFunc(sources, func(x, y definitionSource) int {
		return cmp.Compare(slices.Index(client.DefinitionKinds, x.kind), slices.Index(client.DefinitionKinds, y.kind))
	})
	t := columns("KIND, ID, CHANGE, VERSION", func(d *appliedDefinition) []any {
		return []any{d.Define, d.ID, d.Change, d.Version}
	})
	return storeAll(r.App, "stored", sources, func(s definitionSource) (appliedDefinition, error) {
		one, err := r.applyDefinition(ctx, s)
		return one, inSource(s.file+": "+string(s.kind)+" "+s.id, err)
	}, t)
}

func (r *remote) applyDefinition(ctx context.Context, s definitionSource) (appliedDefinition, error) {
	before := ""
	if old, err := r.Metadata.Get(ctx, s.kind, s.id); err == nil {
		before = old.Version
	}
	stored, created, err := r.Metadata.Put(ctx, s.kind, s.id, s.body, "")
	if err != nil {
		return appliedDefinition{}, err
	}
	one := appliedDefinition{File: s.file, Define: s.kind, ID: s.id, Change: "changed", Version: stored.Version}
	switch {
	case created:
		one.Change = "created"
	case stored.Version == before:
		one.Change = "unchanged"
	}
	return one, nil
}

// readDefinitions splits a file into its definitions.
func readDefinitions(file string, raw []byte) (sources []definitionSource, err error) {
	values, err := oneOrMany(file, raw)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		members := map[string]jsontext.Value{}
		var said struct {
			Define client.DefinitionKind `json:"define"`
			ID     string                `json:"id"`
			Object string                `json:"object"`
			Name   string                `json:"name"`
		}
		if json.Unmarshal(value, &members) != nil || json.Unmarshal(value, &said) != nil {
			return nil, usage("%s: definition %d is no JSON object whose define, id, object and name are strings", file,
				i+1)
		}
		if !slices.Contains(client.DefinitionKinds, said.Define) {
			return nil, usage("%s: definition %d must say in \"define\" what it is: one of %s", file, i+1, kindWords)
		}
		delete(members, "define")
		s := definitionSource{file: file, kind: said.Define, id: said.ID}
		switch said.Define {
		case client.DefineField:
			s.id = said.Object + "." + said.Name
			delete(members, "id") // the server's, another in every tenant
		case client.DefineObject:
			s.id = said.Name
		case client.DefineOWD, client.DefineTeamRoles:
			s.id = said.Object
		case client.DefineStages:
			s.id = "Opportunity"
		}
		if strings.Trim(s.id, ".") == "" {
			return nil, usage("%s: definition %d, a %s, does not say which: give it an id (of an object its name, of "+
				"owd and team-roles the object, of a field both)", file, i+1, said.Define)
		}
		if s.body, err = json.Marshal(members, json.Deterministic(true)); err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

type definitionName struct {
	Kind string `arg:"" enum:"${definitions}" help:"What it is: ${enum}."`
	ID   string `arg:"" optional:""`
}

func (n *definitionName) kind() (client.DefinitionKind, error) {
	kind := client.DefinitionKind(n.Kind)
	if n.ID == "" && kind != client.DefineStages {
		return kind, usage("say which %s: its id is missing", n.Kind)
	}
	return kind, nil
}

type metadataGetCmd struct{ definitionName }

func (metadataGetCmd) Help() string {
	return `Examples:
  renga metadata get field Opportunity.Amount
  renga metadata get stages > stages.json`
}

// Run prints the definition, with what it is.
func (c *metadataGetCmd) Run(ctx context.Context, r *remote) error {
	kind, err := c.kind()
	if err != nil {
		return err
	}
	d, err := r.Metadata.Get(ctx, kind, c.ID)
	if err != nil {
		return err
	}
	return writeJSON(r.Out, jsontext.Value(`{"define":"`+c.Kind+`",`+string(d.Body[1:])))
}

type metadataListCmd struct {
	Kind   string `arg:"" enum:"${listed}" help:"What to list: ${enum}."`
	Object string `placeholder:"NAME" help:"Of this object only; of fields it has to be given."`
	paging
}

func (metadataListCmd) Help() string {
	return `Examples:
  renga metadata list user
  renga metadata list field --object Opportunity --page-size 100
  renga metadata list sharing-rule --object Account -o json | jq -r '.items[].name'`
}

func (c *metadataListCmd) Run(ctx context.Context, r *remote) error {
	kind := client.DefinitionKind(c.Kind)
	if kind == client.DefineField && c.Object == "" {
		return usage("fields are those of an object: name it with --object")
	}
	return tabulate(r, &c.paging, columns("ID, NAME, DEFINITION", func(item *stdjson.RawMessage) []any {
		var said struct {
			ID     string `json:"id"`
			Name   string `json:"name"`
			Object string `json:"object"`
		}
		_ = json.Unmarshal(*item, &said) // what says nothing of this is shown all the same
		id := cmp.Or(said.ID, said.Object, said.Name)
		if kind == client.DefineField {
			id = said.Object + "." + said.Name
		}
		return []any{id, said.Name, members(jsontext.Value(*item), "id", "name", "object")}
	}))(r.Metadata.List(ctx, kind, c.Object, c.at()))
}

type metadataDeleteCmd struct {
	definitionName
	Version string `placeholder:"N" help:"Only if it still has this version."`
}

func (metadataDeleteCmd) Help() string {
	return `What others need is refused, and what every tenant has.

Examples:
  renga metadata delete role 0199c1a4-0000-7000-8000-000000000001
  renga metadata delete field Account.Tier__c`
}

func (c *metadataDeleteCmd) Run(ctx context.Context, r *remote) error {
	kind, err := c.kind()
	if err != nil {
		return err
	}
	if err := r.Metadata.Delete(ctx, kind, c.ID, c.Version); err != nil {
		return err
	}
	return r.did(map[string]any{"define": c.Kind, "id": c.ID, "deleted": true}, "Deleted %s %s.", c.Kind, c.ID)
}

type metadataDescribeCmd struct {
	Object string `arg:"" help:"Name of the object."`
}

func (metadataDescribeCmd) Help() string {
	return `Examples:
  renga metadata describe Opportunity
  renga metadata describe Account -o json | jq '.fields[] | select(.required) | .name'`
}

func (c *metadataDescribeCmd) Run(ctx context.Context, r *remote) error {
	return show(r, func(p *printer, d *client.ObjectDescription) {
		columns("FIELD, TYPE, LABEL, IS, VALUES", func(f *client.ObjectField) []any {
			return []any{f.Name, f.Type, f.Label, fieldIs(f), strings.Join(append(f.Values, f.ReferenceTo...), ", ")}
		}).print(p, d.Fields)
	})(r.Metadata.Describe(ctx, c.Object))
}

// fieldIs says what a field is beside its type.
func fieldIs(f *client.ObjectField) string {
	var is []string
	kept := !f.Searchable && slices.Contains([]string{"text", "longtext", "email", "phone", "url", "picklist"}, f.Type)
	for _, word := range []struct {
		word string
		is   bool
	}{
		{"required", f.Required},
		{"read-only", f.ReadOnly},
		{"sensitive", f.Sensitive},
		{"not searchable", kept},
		{"custom", f.Custom},
		{"not yours to edit", !f.Editable && !f.ReadOnly},
	} {
		if word.is {
			is = append(is, word.word)
		}
	}
	return strings.Join(is, ", ")
}
