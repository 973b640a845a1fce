package search

import (
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
)

const (
	nameField  = "Name"
	leadObject = "Lead"
)

// memberObjects are the objects whose records can be in campaigns.
var memberObjects = []string{leadObject, "Contact"}

const campaignObject = "Campaign"

// fieldsOf are the fields by which records of an object are found, as they are stored.
func fieldsOf(o *model.Object) (string, error) {
	names := []string{}
	for i := range o.Fields {
		if o.Fields[i].Searchable {
			names = append(names, o.Fields[i].Name)
		}
	}
	text, err := json.Marshal(names)
	return string(text), err
}

// hidden reports whether a record is not to be found: a lead that was converted is its
// account, contact and opportunity now.
func hidden(r *model.Record) bool {
	return r.Deleted || r.Object == leadObject && r.Fields["IsConverted"] == true
}

// doc is a record as the index is to have it.
type doc struct {
	id        string
	version   canonical.Stamp
	updatedAt canonical.Stamp
	tokens    []string
	digest    int64
	campaigns string
}

// docOf makes the tokens of a record.
func docOf(t tokens, o *model.Object, r *model.Record, campaigns []string) (*doc, error) {
	list := []string{t.object(o.Name)}
	for i := range o.Fields {
		f := &o.Fields[i]
		if !f.Searchable {
			continue
		}
		text, _ := r.Fields[f.Name].(string)
		if text == "" {
			continue
		}
		all := units(text)
		list = t.text(list, textToken, all)
		if f.Name == nameField {
			list = t.text(list, nameToken, all)
		}
	}
	d := &doc{id: r.ID, version: r.Version, updatedAt: r.UpdatedAt}
	d.tokens, d.digest = digest(list)
	slices.Sort(campaigns)
	if campaigns == nil {
		campaigns = []string{}
	}
	text, err := json.Marshal(campaigns)
	if err != nil {
		return nil, err
	}
	d.campaigns = string(text)
	for _, id := range campaigns {
		d.tokens = append(d.tokens, t.campaign(id))
	}
	return d, nil
}

// entry is a record as the index has it.
type entry struct {
	id        string
	place     int64
	version   canonical.Stamp
	updatedAt canonical.Stamp
	digest    int64
	campaigns string
}

// is reports whether the index has a record as it is to.
func (e *entry) is(d *doc) bool {
	return e.updatedAt == d.updatedAt && e.digest == d.digest && e.campaigns == d.campaigns
}
