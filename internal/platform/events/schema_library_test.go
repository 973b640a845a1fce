package events

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"pgregory.net/rapid"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// reference is a schema as the library understands it.
type reference struct{ published, received *jsonschema.Schema }

// references are the schemas of all types, compiled by the library.
var references = sync.OnceValue(func() map[string]reference {
	all := map[string]reference{}
	for _, typ := range allTypes() {
		text, _ := EventSchema(typ)
		all[typ] = reference{published: understood(typ, text, shut), received: understood(typ, text, func(any) {})}
	}
	return all
})

// understood compiles a schema after a change.
func understood(typ string, text []byte, change func(any)) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	change(doc)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(typ+".json", doc); err != nil {
		panic(err)
	}
	return c.MustCompile(typ + ".json")
}

// shut makes a schema refuse members that it does not have, as publishers are.
func shut(doc any) {
	switch doc := doc.(type) {
	case map[string]any:
		for _, part := range doc {
			shut(part)
		}
		if _, said := doc["additionalProperties"]; !said && doc["type"] == "object" && doc["properties"] != nil {
			doc["additionalProperties"] = false
		}
	case []any:
		for _, part := range doc {
			shut(part)
		}
	}
}

// faults are the places that the library finds fault with, as JSON pointers.
func faults(s *jsonschema.Schema, value any) []string {
	var v *jsonschema.ValidationError
	if !errors.As(s.Validate(value), &v) {
		return nil
	}
	var found []string
	var visit func(v *jsonschema.ValidationError)
	visit = func(v *jsonschema.ValidationError) {
		at := ""
		for _, step := range v.InstanceLocation {
			at += "/" + pointerEscapes.Replace(step)
		}
		switch k := v.ErrorKind.(type) {
		case *kind.Required:
			for _, name := range k.Missing {
				found = append(found, at+"/"+name)
			}
		case *kind.AdditionalProperties:
			for _, name := range k.Properties {
				found = append(found, at+"/"+pointerEscapes.Replace(name))
			}
		default:
			if len(v.Causes) == 0 {
				found = append(found, at)
			}
		}
		for _, cause := range v.Causes {
			visit(cause)
		}
	}
	visit(v)
	return found
}

// TestChecksAgreeWithTheLibrary changes the golden events at random and holds the
// verdict on each, and the place of the fault, against the library's.
func TestChecksAgreeWithTheLibrary(t *testing.T) {
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(allTypes()).Draw(t, "type")
		tree := treeOf(t, typ)
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			change(t, tree)
		}
		got, places := receive(t, tree), faults(referenceOf(typ, tree).received, tree)
		refused += min(1, len(places))
		agree(t, got, places, tree)
		if got == nil {
			fits(t, tree)
		}
	})
	if refused < 10 {
		t.Errorf("only %d events were refused: the test changes too little", refused)
	}
}

func TestPublishersAreHeldAsStrictlyAsByTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(allTypes()).Draw(t, "type")
		tree, e := treeOf(t, typ), parsed(&testing.T{}, golden(&testing.T{}, typ))
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			change(t, tree["payload"])
		}
		e.Payload = spell(dice(t), nil, tree["payload"])
		got, places := e.CheckPublished(), faults(references()[typ].published, tree)
		if len(places) == 0 && ofAnotherRecord(typ, tree) {
			if failure, _ := fault.As(got); failure == nil || !strings.HasPrefix(failure.Message,
				"/sequence/partitionKey must be") && !beyond(tree) {
				t.Fatalf("got %v, want a fault at the key\n%v", got, tree)
			}
			return
		}
		agree(t, got, places, tree)
	})
}

// ofAnotherRecord reports whether the key of an event is not that of the record which
// its payload names.
func ofAnotherRecord(typ string, tree map[string]any) bool {
	payload := tree["payload"].(map[string]any)
	object, record := payload["objectName"], payload["recordId"]
	switch typ {
	case "StageChanged":
		object, record = "Opportunity", payload["opportunityId"]
	case "LeadConverted":
		object, record = "Lead", payload["leadId"]
	case "CampaignMemberChanged":
		object, record = "Campaign", payload["campaignId"]
	case "RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "TeamMemberChanged":
	default:
		return false
	}
	parts := strings.Split(tree["sequence"].(map[string]any)["partitionKey"].(string), ":")
	return object != parts[0] || record != parts[2]
}

// fits fails unless the Go type of an event that was accepted can hold its payload.
func fits(t *rapid.T, tree map[string]any) {
	i := slices.Index(EventTypes(), tree["eventType"].(string))
	if i < 0 {
		return // the engine's own has no Go type
	}
	into := reflect.New(reflect.TypeOf(payloads[i])).Interface()
	if err := json.Unmarshal(spell(dice(t), nil, tree["payload"]), into); err != nil {
		t.Fatalf("accepted, but its Go type cannot hold it: %v\n%v", err, tree)
	}
}

func treeOf(t *rapid.T, typ string) map[string]any {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(golden(&testing.T{}, typ)))
	if err != nil {
		t.Fatal(err)
	}
	return doc.(map[string]any)
}

// referenceOf is the schema that a changed event has to keep.
func referenceOf(typ string, tree map[string]any) reference {
	if name, ok := tree["eventType"].(string); ok && references()[name].received != nil {
		typ = name
	}
	return references()[typ]
}

func receive(t *rapid.T, tree any) error {
	e, err := ParseEvent(spell(dice(t), nil, tree))
	if err != nil {
		return err
	}
	return e.CheckReceived()
}

// agree fails unless a check said what the library says, or found what no schema can say.
func agree(t *rapid.T, got error, places []string, tree map[string]any) {
	if got == nil {
		if len(places) > 0 || beyond(tree) {
			t.Fatalf("accepted, want a fault at %q\n%v", places, tree)
		}
		return
	}
	failure, _ := fault.As(got)
	place, _, _ := strings.Cut(failure.Message, " ")
	switch {
	case failure.Code == CodeEventType:
		place = "/eventType"
	case failure.Code != CodeEventInvalid:
		t.Fatalf("got %v, want %s", got, CodeEventInvalid)
	case beyond(tree) && (place == "/sequence/partitionKey" || strings.HasSuffix(place, "/recordVersion")):
		return // perhaps before the library's
	}
	if !slices.ContainsFunc(places, func(p string) bool { return p == place || strings.HasPrefix(place, p+"/") }) {
		t.Fatalf("got %v, want a fault at %q\n%v", got, places, tree)
	}
}

// beyond reports whether an event breaks a rule that no schema can express: its key is
// of its tenant, its version an instant from 1970 on, its payload of its version.
func beyond(tree map[string]any) bool {
	sequence, _ := tree["sequence"].(map[string]any)
	payload, _ := tree["payload"].(map[string]any)
	key, _ := sequence["partitionKey"].(string)
	parts := strings.Split(key, ":")
	if len(parts) != 3 || parts[1] != tree["tenantId"] {
		return true
	}
	inside, ok := payload["recordVersion"].(string)
	outside, _ := sequence["recordVersion"].(string)
	a, _ := canonical.ParseStamp(inside)
	b, err := canonical.ParseStamp(outside)
	return err != nil || b < 0 || ok && a != b
}

// change does something to a part of a tree that may make it invalid.
func change(t *rapid.T, tree any) {
	at := containers(tree)
	switch part := at[rapid.IntRange(0, len(at)-1).Draw(t, "place")].(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(part))
		switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
		case what == 0 || len(names) == 0:
			part[rapid.SampledFrom([]string{"extra", "金額", "a/b~c", "é", "resourceId", "comment"}).Draw(t,
				"name")] = sampled(t)
		case what == 1:
			delete(part, rapid.SampledFrom(names).Draw(t, "name"))
		default:
			name := rapid.SampledFrom(names).Draw(t, "name")
			part[name] = similar(t, part[name], what == 2)
		}
	case []any:
		if len(part) > 0 {
			part[rapid.IntRange(0, len(part)-1).Draw(t, "index")] = sampled(t)
		}
	}
}

// containers are the objects and arrays of a tree, in a fixed order.
func containers(tree any) []any {
	switch tree := tree.(type) {
	case map[string]any:
		all := []any{tree}
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			all = append(all, containers(tree[name])...)
		}
		return all
	case []any:
		all := []any{tree}
		for _, v := range tree {
			all = append(all, containers(v)...)
		}
		return all
	}
	return nil
}

// The values that take the place of others, by what they look like.
var (
	uuids = []any{
		"0198C0DE-0001-7000-8000-00000000ABCD", "0198c0de-0001-7000-8000-00000000abcg",
		"0198c0de-0001-7000-800000000000abcdef", "0198c0de00017000800000000000abcd",
	}
	dates = []any{
		"2026-02-28", "2026-02-29", "2024-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "2026-04-31",
		"2026-1-10", nil,
	}
	times = []any{
		"2026-01-10T12:34:56.789Z", "2026-01-10T21:34:56+09:00", "2026-01-10T12:34:56", "2016-12-31T23:59:60Z",
		"2016-12-31T18:59:60.5-05:00",
		"2026-01-10T12:34:60Z", "2026-01-10t12:34:56z", "2026-01-10T12:34:56.Z", "2026-01-10T24:00:00Z",
		"2026-02-29T00:00:00Z", "1969-07-20T20:17:40Z",
	}
	keys = []any{
		"a:b:c", "two words:6f1c2b7e-3d44-4a55-9b0a-5f1e0c9d8a70:x",
		"商談:6f1c2b7e-3d44-4a55-9b0a-5f1e0c9d8a70:x", ":6f1c2b7e-3d44-4a55-9b0a-5f1e0c9d8a70:x",
	}
	numbers = []any{
		num("0"), num("1"), num("-1"), num("14.0"), num("1.2e1"), num("0.5"), num("9007199254740991"),
		num("9007199254740992"), num("1e300"), num("-0"),
	}
	lists = []any{[]any{}, []any{"a", "b"}, []any{num("1")}, []any{""}, []any{nil}}
	texts = []any{
		"", "x", "商談", strings.Repeat("長", 128), strings.Repeat("長", 129), "line\nfeed", "\x7f",
		"MemberAdded", "MemberRemoved", "StatusChanged", "OWDChanged", "ShareRuleDeleted", "TerritoryHierarchyChanged",
		"AccountAssigned",
		"APPROVED", "RECALLED", "approved", "full", "incremental", "RecordCreated", "NODE_WAITING", "user",
	}
	others = []any{
		nil, true, false,
		map[string]any{},
		map[string]any{"old": nil, "new": num("1")},
		map[string]any{"old": num("1")},
		map[string]any{"objectName": "Quote", "recordId": "0198c0de-0001-7000-8000-00000000abcd"},
		map[string]any{"kind": "user"},
	}
)

func sampled(t *rapid.T) any {
	return clone(rapid.SampledFrom(slices.Concat(uuids, dates, times, keys, numbers, lists, texts, others)).Draw(t,
		"value"))
}

// clone copies a tree, so that a later change does not change where it comes from.
func clone(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, v := range tree {
			out[name] = clone(v)
		}
		return out
	case []any:
		out := make([]any, len(tree))
		for i, v := range tree {
			out[i] = clone(v)
		}
		return out
	}
	return tree
}

// similar is a value that looks like the one that it is for, or any.
func similar(t *rapid.T, value any, alike bool) any {
	if !alike {
		return sampled(t)
	}
	pool := others
	switch value := value.(type) {
	case string:
		switch {
		case len(value) == 36:
			pool = uuids
		case len(value) == len("2026-01-31") && value[4] == '-':
			pool = dates
		case strings.HasSuffix(value, "Z"):
			pool = times
		case strings.Count(value, ":") == 2:
			pool = keys
		default:
			pool = texts
		}
	case stdjson.Number:
		pool = numbers
	case []any:
		pool = lists
	}
	return clone(rapid.SampledFrom(pool).Draw(t, "value"))
}

func num(text string) stdjson.Number { return stdjson.Number(text) }

func dice(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "spelling"), 0))
}

// spell writes a tree in one of the many ways of JSON.
func spell(r *rand.Rand, dst []byte, tree any) []byte {
	space := func() []byte { return []byte([]string{"", "", "", " ", "\n\t"}[r.IntN(5)]) }
	switch tree := tree.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(tree))
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		dst = append(dst, '{')
		for i, name := range names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(spell(r, append(dst, space()...), name), space()...)
			dst = spell(r, append(append(dst, ':'), space()...), tree[name])
		}
		return append(append(dst, space()...), '}')
	case []any:
		dst = append(dst, '[')
		for i, v := range tree {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(spell(r, append(dst, space()...), v), space()...)
		}
		return append(append(dst, space()...), ']')
	case string:
		if tree != "" && tree[0] < 0x80 && r.IntN(16) == 0 {
			dst = fmt.Appendf(dst, `"\u%04x`, tree[0])
			return append(dst, canonical.AppendText(nil, tree[1:])[1:]...)
		}
		return canonical.AppendText(dst, tree)
	case stdjson.Number:
		return append(dst, tree...)
	case bool:
		return strconv.AppendBool(dst, tree)
	}
	return append(dst, "null"...)
}
