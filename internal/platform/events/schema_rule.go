package events

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
)

// rule is a JSON Schema in the form that a walker follows. It knows the keywords that
// our schemas use; compile refuses others.
type rule struct {
	kinds     kinds    // types that are allowed
	words     []string // of a string: the texts that are allowed; nil: any
	truth     string   // of a boolean: the one that is allowed; "": both
	format    format   // of a string
	minLength int      // of a string, in characters
	maxLength int      // of a string, in characters; 0: any
	low, high int64    // of an integer
	minItems  int      // of an array
	items     *rule    // of an array
	members   []ruled  // of an object: those that are known
	required  uint64   // of an object: bits of the members that must be there
	others    *rule    // of an object: what other members must be
	closed    bool     // of an object: publishers have no other members
	when      *rule    // when it holds, then must hold too, and otherwise if not
	then      *rule    // nil: nothing more
	otherwise *rule    // nil: nothing more
	note      note     // which value this is, for a walker to remember; 0: no particular one
}

// ruled is a member of an object that has a rule.
type ruled struct {
	name string
	rule *rule
}

// anything is the rule that every value keeps.
var anything = func() *rule {
	r := &rule{kinds: kindAny}
	r.items, r.others = r, r
	return r
}()

// kinds is a set of JSON types.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindInteger
	kindNumber // any number
	kindString
	kindArray
	kindObject
	kindAny = kindObject<<1 - 1
)

var kindNames = map[string]kinds{
	"null": kindNull, "boolean": kindBoolean, "integer": kindInteger, "string": kindString, "array": kindArray,
	"object": kindObject,
}

// String says what is expected: "a string or null".
func (k kinds) String() string {
	var names []string
	for i, name := range []string{
		"null", "true or false", "a whole number", "a number", "a string", "an array",
		"an object",
	} {
		if k&(1<<i) != 0 {
			names = append([]string{name}, names...)
		}
	}
	return strings.Join(names, " or ")
}

// format is a form that a string must have.
type format uint8

const (
	formatAny format = iota
	formatUUID
	formatDate
	formatTime
)

var formats = map[string]format{"": formatAny, "uuid": formatUUID, "date": formatDate, "date-time": formatTime}

// find is the place of a member, -1 if it is not known. Members mostly come in the
// order of the schema, so next is looked at first.
func (r *rule) find(name []byte, next int) int {
	if next < len(r.members) && r.members[next].name == string(name) {
		return next
	}
	for i := range r.members {
		if r.members[i].name == string(name) {
			return i
		}
	}
	return -1
}

// mark lets walkers remember a member. It reports whether the rule has it.
func (r *rule) mark(name string, n note) bool {
	i := r.find([]byte(name), 0)
	if i >= 0 {
		r.members[i].rule.note = n
	}
	return i >= 0
}

// keywords are those of a schema that a rule can follow.
type keywords struct {
	Description string         `json:"description"`
	Type        jsontext.Value `json:"type"`
	Enum        []string       `json:"enum"`
	Const       jsontext.Value `json:"const"`
	Format      string         `json:"format"`
	MinLength   int            `json:"minLength"`
	MaxLength   int            `json:"maxLength"`
	Minimum     *int64         `json:"minimum"`
	Maximum     *int64         `json:"maximum"`
	MinItems    int            `json:"minItems"`
	Items       jsontext.Value `json:"items"`
	Required    []string       `json:"required"`
	Properties  *properties    `json:"properties"`
	Others      jsontext.Value `json:"additionalProperties"`
	If          jsontext.Value `json:"if"`
	Then        jsontext.Value `json:"then"`
	Else        jsontext.Value `json:"else"`
}

// properties are the members of a schema's "properties", in their order.
type properties struct {
	names   []string
	schemas []jsontext.Value
}

// UnmarshalJSONFrom keeps the order, which a map would lose.
func (p *properties) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() == jsontext.KindString {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		p.names = append(p.names, name.String())
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		p.schemas = append(p.schemas, value.Clone())
	}
	_, err := dec.ReadToken()
	return err
}

// compile makes a rule of the payload that a schema of an event describes, under
// $defs. What stands above it, the envelope, is the same in all and Event's own to check.
func compile(text []byte) (*rule, error) {
	var file struct {
		Defs struct {
			Payload jsontext.Value `json:"payload"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Defs.Payload == nil {
		return nil, errors.New("no $defs/payload")
	}
	return compileRule(file.Defs.Payload)
}

func compileRule(text jsontext.Value) (*rule, error) {
	switch string(text) {
	case "", "true":
		return anything, nil
	case "false":
		return &rule{}, nil // no kind is allowed
	}
	var k keywords
	if err := json.Unmarshal(text, &k, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	r := &rule{words: k.Enum, minLength: k.MinLength, maxLength: k.MaxLength, minItems: k.MinItems}
	for _, step := range []func(*rule, *keywords) error{
		compileKinds, compileConst, compileNumbers, compileObject,
		compileParts,
	} {
		if err := step(r, &k); err != nil {
			return nil, fmt.Errorf("%w in %s", err, text)
		}
	}
	return r, nil
}

func compileKinds(r *rule, k *keywords) error {
	var names []string
	switch {
	case k.Type == nil:
		r.kinds = kindAny
	case k.Type.Kind() == jsontext.KindString:
		names = make([]string, 1)
		if err := json.Unmarshal(k.Type, &names[0]); err != nil {
			return err
		}
	default:
		if err := json.Unmarshal(k.Type, &names); err != nil {
			return err
		}
	}
	for _, name := range names {
		if kindNames[name] == 0 {
			return fmt.Errorf("type %q is not known", name)
		}
		r.kinds |= kindNames[name]
	}
	var ok bool
	if r.format, ok = formats[k.Format]; !ok {
		return fmt.Errorf("format %q is not known", k.Format)
	}
	if k.Enum != nil && r.kinds&^kindString != 0 {
		return errors.New("an enum of something else than strings")
	}
	return nil
}

// compileConst narrows the rule to one value.
func compileConst(r *rule, k *keywords) error {
	if k.Const == nil {
		return nil
	}
	switch k.Const.Kind() {
	case jsontext.KindString:
		r.kinds, r.words = kindString, make([]string, 1)
		return json.Unmarshal(k.Const, &r.words[0])
	case jsontext.KindTrue, jsontext.KindFalse:
		r.kinds, r.truth = kindBoolean, string(k.Const)
		return nil
	case jsontext.KindNumber:
		n, ok := canonical.ParseInt(k.Const)
		if !ok {
			return errors.New("a const that is not whole")
		}
		r.kinds, k.Minimum, k.Maximum = kindInteger, &n, &n
		return nil
	}
	return errors.New("a const that is not known")
}

// compileNumbers wants both bounds, so that every number that a rule allows fits.
func compileNumbers(r *rule, k *keywords) error {
	bounded := k.Minimum != nil && k.Maximum != nil
	if wants := r.kinds&kindInteger != 0 && r.kinds&kindNumber == 0; wants != bounded {
		return errors.New("minimum and maximum go with an integer, and it with both")
	}
	if bounded {
		r.low, r.high = *k.Minimum, *k.Maximum
	}
	return nil
}

func compileObject(r *rule, k *keywords) (err error) {
	if k.Properties != nil {
		for i, name := range k.Properties.names {
			m := ruled{name: name}
			if m.rule, err = compileRule(k.Properties.schemas[i]); err != nil {
				return err
			}
			r.members = append(r.members, m)
		}
	}
	for _, name := range k.Required {
		i := r.find([]byte(name), 0)
		if i < 0 {
			i = len(r.members)
			r.members = append(r.members, ruled{name, anything})
		}
		r.required |= 1 << i
	}
	if len(r.members) > 64 {
		return errors.New("more than 64 members")
	}
	r.closed = k.Properties != nil && k.Type != nil && k.Others == nil
	r.others, err = compileRule(k.Others)
	return err
}

// compileParts makes the rules of what is inside an array, and of what depends.
func compileParts(r *rule, k *keywords) (err error) {
	if r.items, err = compileRule(k.Items); err != nil || k.If == nil {
		return err
	}
	if r.when, err = compileRule(k.If); err != nil {
		return err
	}
	if r.then, err = compileRule(k.Then); err != nil {
		return err
	}
	r.otherwise, err = compileRule(k.Else)
	return err
}
