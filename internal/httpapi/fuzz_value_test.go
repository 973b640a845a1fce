package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// maker makes values of the contract's schemas: mostly valid ones, often on an edge of
// what is valid, and wrong ones where it is told to. It need not get every rule of a
// schema right: whoever uses a value lets the schema judge it.
type maker struct {
	*rand.Rand
	contract *contract
	hand     facts // what members and parameters of these names are likely to mean
	spoil    bool  // one of the values to come shall be wrong
}

// chance is true so often of a hundred times.
func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

func oneOf[T any](m *maker, list ...T) T { return list[m.IntN(len(list))] }

// flat follows $ref, takes allOf together and decides for one of oneOf and anyOf.
func (m *maker) flat(schema any) map[string]any {
	s, ok := schema.(map[string]any)
	if !ok {
		return map[string]any{} // true: anything
	}
	var parts []any
	if ref, ok := s["$ref"].(string); ok {
		target, _ := m.contract.at(strings.TrimPrefix(ref, "#"))
		parts = append(parts, target)
	}
	all, _ := s["allOf"].([]any)
	parts = append(parts, all...)
	for _, choice := range []string{"oneOf", "anyOf"} {
		if list, ok := s[choice].([]any); ok {
			parts = append(parts, oneOf(m, list...))
		}
	}
	if len(parts) == 0 {
		return s
	}
	sum := map[string]any{}
	for _, part := range parts {
		merge(sum, m.flat(part))
	}
	merge(sum, s)
	return sum
}

// merge lays a schema over another.
func merge(into, from map[string]any) {
	for name, value := range from {
		switch name {
		case "properties":
			both := map[string]any{}
			if have, ok := into[name].(map[string]any); ok {
				maps.Copy(both, have)
			}
			maps.Copy(both, value.(map[string]any))
			into[name] = both
		case "required":
			have, _ := into[name].([]any)
			into[name] = append(slices.Clone(have), value.([]any)...)
		default:
			into[name] = value
		}
	}
}

// maxDepth is how deep values are nested before only what is required is made.
const maxDepth = 6

// value makes a value of a schema, for a member or parameter of this name.
func (m *maker) value(schema any, name string, depth int) any {
	s := m.flat(schema)
	if m.spoil && m.chance(20) {
		m.spoil = false
		return m.wrong(s, depth)
	}
	if value, ok := m.hand[name]; ok && m.chance(93) {
		return value
	}
	if value, ok := s["const"]; ok {
		return value
	}
	if list, ok := s["enum"].([]any); ok {
		return oneOf(m, list...)
	}
	for _, given := range []string{"default", "example"} {
		if value, ok := s[given]; ok && m.chance(15) {
			return value
		}
	}
	switch typeOf(m, s) {
	case "object":
		return m.object(s, depth)
	case "array":
		return m.array(s, depth)
	case "string":
		return m.text(s)
	case "integer":
		return m.integer(s)
	case "number":
		return m.number(s)
	case "boolean":
		return m.chance(50)
	case "null":
		return nil
	}
	return m.anything(depth)
}

// typeOf decides for a type that a schema allows, "" for any.
func typeOf(m *maker, s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		return oneOf(m, t...).(string)
	}
	switch {
	case s["properties"] != nil:
		return "object"
	case s["items"] != nil:
		return "array"
	case s["pattern"] != nil:
		return "string"
	}
	return ""
}

func (m *maker) object(s map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) || depth < maxDepth && m.chance(50) {
			out[name] = m.value(properties[name], name, depth+1)
		}
	}
	dependent, _ := s["dependentSchemas"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(dependent)) {
		if _, has := out[name]; has {
			also, _ := m.flat(dependent[name])["properties"].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(also)) {
				out[name] = m.value(also[name], name, depth+1)
			}
		}
	}
	of, typed := s["additionalProperties"].(map[string]any)
	least, _ := number(s["minProperties"])
	if open := properties == nil && s["additionalProperties"] != false; typed || open {
		for n := max(m.IntN(4), int(least)); n > 0 && depth < maxDepth; n-- {
			name := m.word(1, 12)
			if names, ok := s["propertyNames"]; ok {
				name = fmt.Sprint(m.value(names, "", depth+1))
			}
			if typed {
				out[name] = m.value(of, name, depth+1)
			} else {
				out[name] = m.anything(depth + 1)
			}
		}
	}
	return out
}

func (m *maker) array(s map[string]any, depth int) any {
	low, _ := number(s["minItems"])
	high, bound := number(s["maxItems"])
	n := int(low) + m.IntN(3)
	if bound {
		n = min(n, int(high))
		if high <= 100 && m.chance(3) {
			n = int(high)
		}
	}
	if depth >= maxDepth {
		n = int(low)
	}
	out := make([]any, 0, n)
	if contains, ok := s["contains"]; ok && n > 0 {
		out = append(out, m.value(contains, "", depth+1))
	}
	for tries := 0; len(out) < n && tries < 2*n+4; tries++ {
		value := m.value(s["items"], "", depth+1)
		if s["uniqueItems"] != true ||
			!slices.ContainsFunc(out, func(have any) bool { return fmt.Sprint(have) == fmt.Sprint(value) }) {
			out = append(out, value)
		}
	}
	return out
}

func (m *maker) text(s map[string]any) string {
	switch s["format"] {
	case "uuid":
		return m.uuid()
	case "date-time":
		return m.instant().Format(oneOf(m, time.RFC3339, time.RFC3339Nano))
	case "date":
		return m.instant().Format(time.DateOnly)
	case "uri", "uri-reference":
		return "https://example.org/" + m.word(0, 8)
	}
	least, _ := number(s["minLength"])
	most, bound := number(s["maxLength"])
	low, high := int(least), int(least)+24
	if bound {
		high = min(high, int(most))
		if m.chance(5) {
			low, high = int(most), int(most)
		}
	}
	if pattern, ok := s["pattern"].(string); ok {
		return m.matching(pattern, low, high)
	}
	return m.word(low, high)
}

func (m *maker) uuid() string {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(m.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}

// instant is a time around today, or one at the ends of what can be written.
func (m *maker) instant() time.Time {
	zone := oneOf(m, time.UTC, time.UTC, time.FixedZone("", 9*3600), time.FixedZone("", -(23*3600+59*60)))
	at := time.Now().Add(time.Duration(m.IntN(48)-36) * time.Hour).Truncate(time.Millisecond)
	if m.chance(10) {
		at = oneOf(m, time.Unix(0, 0), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 30, 23, 59, 59,
			999_999_999, time.UTC))
	}
	return at.In(zone)
}

// letters are what texts are made of: plain ones, long ones, half ones, unseen ones.
var letters = []string{
	"a", "b", "Z", "0", "9", ".", "-", "_", " ", "'", `"`, `\`, "/", "%", "<", "&", ";", "{", "}", "\x00", "\n", "\t",
	"\x7f",
	"é", "e\u0301", "ß", "İ", "日", "本", "ﷺ", "\u200b", "\u202e", "\ufeff", "\ufffd", "\uffff", "😀", "👩\u200d👩",
	"\U0010ffff",
}

// word is a text of so many code points.
func (m *maker) word(low, high int) string {
	n := low + m.IntN(high-low+1)
	plain := m.chance(60)
	var b strings.Builder
	for i := 0; i < n; {
		letter := letters[m.IntN(len(letters))]
		if plain {
			letter = letters[m.IntN(8)]
		}
		if width := len([]rune(letter)); i+width <= n {
			b.WriteString(letter)
			i += width
		}
	}
	return b.String()
}

// matching is a text of a pattern, of a length in these bounds if the pattern lets it.
func (m *maker) matching(pattern string, low, high int) string {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return m.word(low, high)
	}
	var b strings.Builder
	m.expand(tree.Simplify(), &b, max(low, 1)+m.IntN(max(high-max(low, 1), 0)+1))
	return b.String()
}

// expand writes a text of a pattern, what repeats about n times.
func (m *maker) expand(p *syntax.Regexp, b *strings.Builder, n int) {
	switch p.Op {
	case syntax.OpLiteral:
		b.WriteString(string(p.Rune))
	case syntax.OpCharClass:
		at := 2 * m.IntN(len(p.Rune)/2)
		low, high := p.Rune[at], min(p.Rune[at+1], p.Rune[at]+94)
		b.WriteRune(low + m.Int32N(high-low+1))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteString(m.word(1, 1))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range p.Sub {
			m.expand(sub, b, n)
		}
	case syntax.OpAlternate:
		m.expand(oneOf(m, p.Sub...), b, n)
	case syntax.OpQuest:
		if m.chance(50) {
			m.expand(p.Sub[0], b, n)
		}
	case syntax.OpStar, syntax.OpPlus:
		for range n {
			m.expand(p.Sub[0], b, 1)
		}
	}
}

func (m *maker) integer(s map[string]any) any {
	low, high := -10.0, 1e6
	if v, ok := number(s["minimum"]); ok {
		low = v
	}
	high = max(high, low)
	if v, ok := number(s["maximum"]); ok {
		high = v
	}
	switch m.IntN(5) {
	case 0:
		return whole(low)
	case 1:
		if s["maximum"] == nil {
			return whole(low + 1)
		}
		return whole(high)
	default:
		return whole(low + float64(m.IntN(int(min(high-low, 100))+1)))
	}
}

func (m *maker) number(s map[string]any) any {
	if m.chance(40) {
		return m.integer(s)
	}
	low, _ := number(s["minimum"])
	return json.Number(strconv.FormatFloat(low+m.Float64(), 'g', -1, 64))
}

func whole(v float64) json.Number { return json.Number(strconv.FormatFloat(v, 'f', 0, 64)) }

// number reads a bound of a schema.
func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// anything is any JSON value.
func (m *maker) anything(depth int) any {
	if depth < maxDepth && m.chance(30) {
		return m.object(map[string]any{}, depth)
	}
	switch m.IntN(6) {
	case 0:
		return nil
	case 1:
		return m.chance(50)
	case 2:
		return json.Number(oneOf(m, hugeNumbers...))
	case 3:
		return []any{m.word(0, 4), json.Number("0")}
	default:
		return m.word(0, 20)
	}
}

var hugeNumbers = []string{
	"0", "-0", "1.0", "1e2", "9007199254740993", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
	"1e308", "1e309", "-1e400",
	"1e-400", "0.1000000000000000055511151231257827", "123456789012345678901234567890",
}

// wrong is a value that a schema refuses, as a rule.
func (m *maker) wrong(s map[string]any, depth int) any {
	var list []any
	if v, ok := number(s["minimum"]); ok {
		list = append(list, whole(v-1), whole(v-1), json.Number(strconv.FormatFloat(v-0.5, 'g', -1, 64)))
	}
	if v, ok := number(s["maximum"]); ok {
		list = append(list, whole(v+1), whole(v+1))
	}
	if v, ok := number(s["minLength"]); ok && v > 0 {
		list = append(list, m.word(int(v)-1, int(v)-1), "")
	}
	if v, ok := number(s["maxLength"]); ok && v < 10_000 {
		list = append(list, strings.Repeat("x", int(v)+1), m.word(int(v)+1, int(v)+1))
	}
	if v, ok := number(s["maxItems"]); ok && v <= 1000 {
		list = append(list, slices.Repeat([]any{m.value(s["items"], "", depth+1)}, int(v)+1))
	}
	if s["items"] != nil {
		one := m.value(s["items"], "", depth+1)
		list = append(list, []any{}, []any{one, one}, []any{nil}, []any{one, m.anything(depth)})
	}
	if s["type"] == "object" || s["properties"] != nil {
		whole, _ := m.object(s, depth).(map[string]any)
		without := maps.Clone(whole)
		for _, name := range slices.Sorted(maps.Keys(without)) {
			delete(without, name)
			break
		}
		whole[oneOf(m, "zzUnknown", "__proto__", "", "é", "$ref")] = m.anything(depth)
		list = append(list, whole, whole, without, map[string]any{})
	}
	if s["pattern"] != nil || s["enum"] != nil {
		list = append(list, m.word(1, 10), " ", "\x00", "a\nb", "é", "a/b", "..")
	}
	for _, near := range nearMisses[fmt.Sprint(s["format"])] {
		list = append(list, near)
	}
	list = append(list, nil, true, "", "1", m.word(1, 6), []any{}, map[string]any{},
		json.Number(oneOf(m, hugeNumbers...)), json.Number("1.5"))
	return oneOf(m, list...)
}

// nearMisses look like a format and are none.
var nearMisses = map[string][]string{
	"uuid": {
		"0199c1a27d107c3e8f215d2f6f0c9a01", "{0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01}",
		"urn:uuid:0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01",
		"0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a0", "0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a0g",
		"0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01 ", "0",
	},
	"date-time": {
		"2026-01-05T09:00:00", "2026-01-05 09:00:00Z", "2026-01-05T09:00:00,5Z", "2026-01-05T9:00:00Z",
		"2026-02-30T09:00:00Z", "2026-01-05T24:00:00Z",
		"2026-01-05T09:00:00.Z", "2026-01-05", "20260105T090000Z", "2026-01-05T09:00:00+0900",
		"2026-01-05T09:00:00+24:00", "+12026-01-05T09:00:00Z", "1767603600",
	},
	"date": {"2026-02-30", "2026-1-5", "20260105", "2026-01-05T00:00:00Z"},
}
