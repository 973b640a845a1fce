package metadata

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (p *parser) object() (any, error) {
	now := p.m.Object(p.id)
	if now == nil {
		return nil, invalidObject(p.m, p.id)
	}
	o := model.Object{Name: p.id}
	if err := p.decode(&o); err != nil {
		return nil, err
	}
	if o.Name != p.id {
		return nil, unfit("name", "name is not the one in the path")
	}
	return &o, first(line("label", o.Label, MaxName), line("pluralLabel", o.PluralLabel, MaxName),
		words("description", o.Description, MaxDescription))
}

var customName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,60}__c$`)

// said are the fields whose values events carry by themselves, so that they cannot be
// kept inside their record. LeadConverted is itself the value of Lead.IsConverted, and its
// account and contact are those of the contact and the opportunity too.
var said = []string{
	"Campaign.Name", "Opportunity.AccountId", "Opportunity.StageName", "Opportunity.CloseDate", "Opportunity.IsClosed",
	"Opportunity.IsWon",
	"Lead.IsConverted", "Lead.ConvertedDate", "Lead.ConvertedAccountId", "Lead.ConvertedContactId",
	"Lead.ConvertedOpportunityId",
	"Contact.AccountId", "Opportunity.ContactId",
}

// unsaid is the length of a text whose definition names none.
const unsaid = -1

func (p *parser) field() (any, error) {
	object, name, _ := strings.Cut(p.id, ".")
	o := p.m.Object(object)
	if o == nil {
		return nil, invalidObject(p.m, object)
	}
	standard, was := p.m.StandardField(object, name), o.Field(name)
	f := model.Field{Object: object, Name: name, Custom: true, Searchable: p.searchable(), MaxLength: unsaid}
	if standard != nil {
		f = *standard
		f.Values, f.ReferenceTo = slices.Clone(f.Values), slices.Clone(f.ReferenceTo)
		if p.id == "Opportunity.StageName" {
			f.Values = slices.Clone(was.Values)
		}
	} else if was != nil {
		f.ID = was.ID
	}
	if was != nil && was.Sensitive && !was.Searchable { // personal values do not get into the index by silence
		f.Searchable = false
	}
	like := f
	if err := p.decode(&f); err != nil {
		return nil, err
	}
	if err := p.unchanged(&f, &like, standard, was); err != nil {
		return nil, err
	}
	if standard == nil {
		if err := p.custom(o, &f, was); err != nil {
			return nil, err
		}
	}
	if f.ID == "" {
		f.ID = uuid.Must(uuid.NewV7()).String()
	}
	if err := first(line("label", f.Label, MaxName), words("description", f.Description, MaxDescription)); err != nil {
		return nil, err
	}
	if err := p.sound(&f); err != nil || was == nil {
		return &f, err
	}
	return &f, checkWritten(p.m, object, name, was.Values, f.Values)
}

// searchable is whether records are found by a new custom field of which the body does not
// say so: the type decides.
func (p *parser) searchable() bool {
	var body struct {
		Type model.FieldType `json:"type"`
	}
	_ = json.Unmarshal(p.body, &body) // what is wrong with it is said when all of it is decoded
	return body.Type.Searchable()
}

// unchanged checks what a body may say but not change.
func (p *parser) unchanged(f, like, standard, was *model.Field) error {
	switch {
	case f.ID != like.ID:
		return unfit("id", "id is made by the server and cannot be changed")
	case f.Object != like.Object || f.Name != like.Name || f.Custom != like.Custom:
		return unfit("name", "object, name and custom must be those of the path")
	case was != nil && f.Type != was.Type:
		return unfit("type", "type is %s and cannot be changed; values of records are of it", was.Type)
	case standard == nil:
		return nil
	case f.ReadOnly != like.ReadOnly || f.MaxLength != like.MaxLength || !slices.Equal(f.ReferenceTo, like.ReferenceTo):
		return unfit("type", "%s is a standard field: readOnly, maxLength and referenceTo cannot be changed", p.id)
	case like.Required && !f.Required:
		return unfit("required", "%s is a standard field that is always required", p.id)
	case p.id == "Opportunity.StageName" && !slices.Equal(f.Values, like.Values):
		return unfit("values", "the values of Opportunity.StageName are the stages; change them with PUT "+
			"/metadata/stages")
	case like.ReadOnly && !slices.Equal(f.Values, like.Values):
		return unfit("values", "%s is set by the server: its values cannot be changed", p.id)
	}
	return nil
}

// custom checks what only custom fields choose.
func (p *parser) custom(o *model.Object, f, was *model.Field) error {
	if !customName.MatchString(f.Name) {
		return unfit("name", "%s has no field %s; the name of a custom field is letters, digits and _, at most 64, "+
			"and ends in __c", o.Name, quoted(f.Name))
	}
	if f.Type == "" {
		return unfit("type", "type is missing")
	}
	if !slices.Contains(model.FieldTypes, f.Type) {
		return unfit("type", "type must be one of %s", strings.Trim(fmt.Sprint(model.FieldTypes), "[]"))
	}
	if was == nil && customFields(o) >= MaxFields {
		return unfit("name", "%s has %d custom fields; more are not allowed", o.Name, MaxFields)
	}
	for i := range o.Fields {
		if like := o.Fields[i].Name; like != f.Name && strings.EqualFold(like, f.Name) {
			return unfit("name", "%s has a field %s already, which differs in upper and lower case only", o.Name, like)
		}
	}
	most := MaxText
	if f.Type == model.LongText {
		most = MaxLongText
	}
	if f.MaxLength == unsaid {
		if f.MaxLength = 0; f.Type.Textual() {
			f.MaxLength = most
		}
	} else if !f.Type.Textual() {
		return unfit("maxLength", "maxLength is only for text, longtext, email, phone and url")
	}
	switch {
	case f.Type.Textual() && (f.MaxLength < 1 || f.MaxLength > most):
		return unfit("maxLength", "maxLength must be 1 to %d", most)
	case f.Type == model.Reference && len(f.ReferenceTo) == 0:
		return unfit("referenceTo", "referenceTo is missing: it names the objects that the field may refer to")
	}
	for _, to := range f.ReferenceTo {
		if p.m.Object(to) == nil {
			return unfit("referenceTo", "referenceTo: %s is not an object; the objects are %s", quoted(to),
				p.m.ObjectNames())
		}
	}
	return distinct("referenceTo", f.ReferenceTo)
}

func customFields(o *model.Object) (n int) {
	for i := range o.Fields {
		if o.Fields[i].Custom {
			n++
		}
	}
	return n
}

// sound checks what fields of both sorts must be.
func (p *parser) sound(f *model.Field) error {
	switch {
	case f.Type != model.Picklist && f.Values != nil:
		return unfit("values", "values are only for picklists")
	case f.Type != model.Reference && f.ReferenceTo != nil:
		return unfit("referenceTo", "referenceTo is only for references")
	}
	if f.Type == model.Picklist {
		if err := first(few("values", len(f.Values), 1, MaxValues), distinct("values", f.Values)); err != nil {
			return err
		}
		for i, v := range f.Values {
			if err := line(fmt.Sprintf("values[%d]", i), v, MaxText); err != nil {
				return err
			}
		}
	}
	if f.Required && f.ReadOnly {
		return unfit("required", "a field that callers cannot write cannot be required of them")
	}
	if f.Sensitive && slices.Contains(said, p.id) {
		return unfit("sensitive", "%s cannot be sensitive: events carry its value by definition", p.id)
	}
	if f.Searchable && !f.Type.Searchable() {
		return unfit("searchable", "%s cannot be searchable: records are found by texts and picklists only", p.id)
	}
	if f.Required {
		return p.unrestricted()
	}
	return nil
}

// unrestricted refuses a field that all must write and a permission set keeps from some.
func (p *parser) unrestricted() error {
	for _, v := range p.m.All(model.KindPermissionSet) {
		s := v.(*model.PermissionSet)
		if _, named := s.Fields[p.id]; named {
			return fault.New(fault.Conflict, CodeInUse, "%s cannot be required: the permission set %s (%s) keeps it "+
				"from some; take it out of its fields first", p.id, s.Name, s.ID).
				With(map[string]any{"usedBy": []use{{string(model.KindPermissionSet), s.ID, s.Name}}})
		}
	}
	return nil
}

func (p *parser) stages() (any, error) {
	if p.id != "Opportunity" {
		return nil, noSuch(model.KindStages, p.id)
	}
	var s model.Stages
	if err := first(p.decode(&s), few("stages", len(s.Stages), 1, MaxStages)); err != nil {
		return nil, err
	}
	var names []string
	open := false
	for i := range s.Stages {
		stage, at := &s.Stages[i], fmt.Sprintf("stages[%d]", i)
		if err := line(at+".name", stage.Name, MaxName); err != nil {
			return nil, err
		}
		switch {
		case stage.Probability < 0 || stage.Probability > 100:
			return nil, unfit(at+".probability", "%s.probability must be 0 to 100", at)
		case stage.IsWon && !stage.IsClosed:
			return nil, unfit(at+".isWon", "%s.isWon: only a stage that is closed can be won", at)
		}
		if err := oneOf(at+".forecastCategory", stage.ForecastCategory, model.ForecastCategories...); err != nil {
			return nil, err
		}
		names, open = append(names, stage.Name), open || !stage.IsClosed
	}
	if !open {
		return nil, unfit("stages", "at least one stage must be open, or no opportunity could be made")
	}
	if err := distinct("stages", names); err != nil {
		return nil, err
	}
	return &s, checkWritten(p.m, "Opportunity", "StageName", p.m.Field("Opportunity", "StageName").Values, names)
}
