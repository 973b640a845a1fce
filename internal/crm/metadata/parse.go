package metadata

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// Named maxima of definitions.
const (
	MaxName        = 200    // characters of a name or a label
	MaxDescription = 4_000  // characters of a description or a message
	MaxSubject     = 255    // bytes of what tokens call a user
	MaxUsers       = 50_000 // of a tenant
	MaxDefinitions = 5_000  // of any other kind, of a tenant
	MaxSets        = 50     // permission sets of a user
	MaxMembers     = 1_000  // of a group
	MaxFields      = 500    // custom fields of an object
	MaxValues      = 1_000  // of a picklist
	MaxText        = 255    // characters of a custom text
	MaxLongText    = 32_000 // characters of a custom long text
	MaxStages      = 100
	MaxTeamRoles   = 100 // of an object
	MaxActions     = 20  // of a rule or a job
	MaxApprovers   = 50  // of a step
	MaxOutcomes    = 20  // fields that the end of an approval writes
)

// The codes of a role that would be above itself, and of a user who would be its own manager.
const (
	CodeCycle        = "ROLE_CYCLE"
	CodeManagerCycle = "MANAGER_CYCLE"
)

// parse reads a definition, strictly, and checks it against the others. Texts are taken
// in Normalization Form C. It is pure but for the id of a new field.
func parse(m *model.Model, kind model.Kind, id string, body []byte) (any, error) {
	if len(body) == 0 {
		return nil, unfit("body", "the body must be a JSON object")
	}
	plain, err := canonical.Canonical(nil, body, canonical.Options{})
	if err != nil {
		return nil, err
	}
	if err := first(room(m, kind, id), noneEmpty(plain)); err != nil {
		return nil, err
	}
	p := parser{m, id, plain}
	switch kind {
	case model.KindObject:
		return p.object()
	case model.KindField:
		return p.field()
	case model.KindStages:
		return p.stages()
	case model.KindOWD:
		return p.owd()
	case model.KindTeamRoles:
		return p.teamRoles()
	}
	if !model.ValidID(id) {
		return nil, unfit("id", "the id must be a UUID in lower case, such as %s",
			"0190c1de-0000-7000-8000-000000000001")
	}
	switch kind {
	case model.KindPermissionSet:
		return p.permissionSet()
	case model.KindUser:
		return p.user()
	case model.KindRole:
		return p.role()
	case model.KindGroup:
		return p.group()
	case model.KindSharingRule:
		return p.sharingRule()
	case model.KindValidationRule:
		return p.validationRule()
	case model.KindWorkflowRule:
		return p.workflowRule()
	case model.KindScheduledJob:
		return p.scheduledJob()
	case model.KindApprovalProcess:
		return p.approvalProcess()
	}
	return nil, fmt.Errorf("metadata: the kind %q cannot be defined", kind)
}

// noneEmpty refuses texts that are empty: what is not there is left out. The values of
// actions are what they are.
func noneEmpty(body []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil // the end; what is wrong with the form is said by who decodes it
		}
		if kind, n := dec.StackIndex(dec.StackDepth()); kind == jsontext.KindBeginObject && n%2 == 1 {
			if token.String() == "value" && dec.StackDepth() > 1 && dec.SkipValue() != nil {
				return nil
			}
			continue // a name
		}
		if token.Kind() == jsontext.KindString && token.String() == "" {
			field := canonical.FieldPath(dec.StackPointer())
			return unfit(field, "%s must not be empty; leave it out", field)
		}
	}
}

// room refuses a definition that is one too many.
func room(m *model.Model, kind model.Kind, id string) error {
	if _, was := m.Get(kind, id); was || kind == model.KindField {
		return nil
	}
	most := MaxDefinitions
	if kind == model.KindUser {
		most = MaxUsers
	}
	if m.Count(kind) >= most {
		return unfit("id", "a tenant has at most %d definitions of the kind %s", most, kind)
	}
	return nil
}

// parser reads one definition.
type parser struct {
	m    *model.Model
	id   string
	body []byte
}

// decode reads the body over what is there when it says nothing.
func (p *parser) decode(into any) error { return canonical.Decode(p.body, into) }

// named checks what most definitions have.
func (p *parser) named(id *string, name string) error {
	if *id != "" && *id != p.id {
		return unfit("id", "id is not the one in the path")
	}
	*id = p.id
	return line("name", name, MaxName)
}

// objectOf is the object that a definition is for. It stays what it was; old is nil of a definition
// that is new, or may change its object.
func (p *parser) objectOf(name string, old any) (*model.Object, error) {
	if was := objectOf(old); was != "" && name != was {
		return nil, unfit("object", "object is %s and cannot be changed; delete the definition and define another", was)
	}
	if name == "" {
		return nil, unfit("object", "object is missing")
	}
	o := p.m.Object(name)
	if o == nil {
		return nil, unfit("object", "%s is not an object; the objects are %s", quoted(name), p.m.ObjectNames())
	}
	return o, nil
}

// condition checks an expression that may be left out.
func condition(o *model.Object, field, src string, withOld bool) error {
	if src == "" {
		return nil
	}
	err := o.CheckCondition(src, withOld)
	if failure, ok := fault.As(err); ok && failure.Kind == fault.Invalid {
		return unfit(field, "%s: %s", field, failure.Message)
	}
	return err
}

// member checks that somebody is there, of one of the types.
func (p *parser) member(field string, m model.Member, types ...string) error {
	if !slices.Contains(types, m.Type) {
		return unfit(field+".type", "%s.type must be %s", field, strings.Join(types, " or "))
	}
	there := false
	path := "users"
	switch m.Type {
	case model.TypeUser:
		there = p.m.User(m.ID) != nil
	case model.TypeRole, model.TypeRoleAndSubordinates:
		path, there = "roles", p.m.Role(m.ID) != nil
	case model.TypeGroup:
		path, there = "groups", p.m.Group(m.ID) != nil
	}
	if !there {
		return unfit(field+".id", "%s.id: there is no %s %s; create it with PUT /metadata/%s/{id}", field, m.Type,
			quoted(m.ID), path)
	}
	return nil
}

// line checks a text of 1..limit characters on one line.
func line(field, s string, limit int) error {
	if s == "" {
		return unfit(field, "%s is missing", field)
	}
	if utf8.RuneCountInString(s) > limit || strings.ContainsFunc(s, control) || strings.TrimSpace(s) != s {
		return unfit(field, "%s must be 1 to %d characters on one line, without blanks around it", field, limit)
	}
	return nil
}

// words checks a text that may be left out and may have several lines.
func words(field, s string, limit int) error {
	if utf8.RuneCountInString(s) > limit ||
		strings.ContainsFunc(s, func(r rune) bool { return control(r) && r != '\n' && r != '\t' }) {
		return unfit(field, "%s must be at most %d characters", field, limit)
	}
	return nil
}

func control(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// distinct checks that no name is there twice.
func distinct(field string, names []string) error {
	sorted := slices.Sorted(slices.Values(names))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return unfit(field, "%s has %s twice", field, quoted(sorted[i]))
		}
	}
	return nil
}

// few checks that a list is not too long, and that it is not empty if it may not be.
func few(field string, n, least, most int) error {
	switch {
	case n < least:
		return unfit(field, "%s must have at least %d", field, least)
	case n > most:
		return unfit(field, "%s has %d; at most %d are allowed", field, n, most)
	}
	return nil
}

// oneOf checks a word.
func oneOf(field, got string, want ...string) error {
	if !slices.Contains(want, got) {
		return unfit(field, "%s must be %s", field, strings.Join(want, " or "))
	}
	return nil
}

// setOf makes a set of a list, in order.
func setOf[T any](list []T, compare func(a, b T) int) []T {
	list = slices.Clone(list)
	slices.SortFunc(list, compare)
	return slices.CompactFunc(list, func(a, b T) bool { return compare(a, b) == 0 })
}

func byMember(a, b model.Member) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.ID, b.ID))
}

// first is the first error of some.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// same reports whether two definitions say the same.
func same(a, b any) bool {
	left, err := json.Marshal(a, json.Deterministic(true))
	right, other := json.Marshal(b, json.Deterministic(true))
	return err == nil && other == nil && bytes.Equal(left, right)
}

// quoted is a caller's text in a message, shortened.
func quoted(s string) string {
	const most = 80
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

func unfit(field, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...).With(map[string]string{"field": field})
}
