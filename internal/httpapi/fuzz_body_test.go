package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// media are the media types that the body of an operation can have.
func (r *asker) media(operation string) map[string]any {
	node, _ := r.contract.at(operation + "/requestBody")
	body, _ := node.(map[string]any)
	media, _ := body["content"].(map[string]any)
	return media
}

func (r *asker) content(a *ask, part string) {
	media := r.media(a.operation)
	if media == nil {
		if part == "body" && r.chance(50) { // not for this operation, which may overlook it
			a.body = []byte(`{"zzUnknown":1}`)
			a.header.Set("Content-Type", "application/json")
		}
		return
	}
	name := oneOf(&r.maker, slices.Sorted(maps.Keys(media))...)
	owner, at := r.contract.at(a.operation + "/requestBody")
	at += "/content/" + escape(name)
	a.header.Set("Content-Type", name)
	if must := owner.(map[string]any)["required"] == true; r.chance(4) || !must && r.chance(20) {
		a.body = nil
		a.header.Del("Content-Type")
		if must {
			a.bad("the body is missing")
		}
		return
	}
	value := r.bodyOf(at, part == "body")
	if text, ok := value.(string); ok && name != "application/json" {
		a.body = []byte(text) // an example that is no JSON
		return
	}
	a.body, a.waits = encode(value), waits(value)
	object, _ := value.(map[string]any)
	for member, value := range object {
		if text, ok := value.(string); ok && identifies(member) {
			a.from[member] = text
		}
	}
	if err := r.contract.fits(at+"/schema", value); err != nil {
		a.bad("the body breaks its schema: %v", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if part == "json" && name == "application/json" {
		var why string
		a.body, why = r.tear(a.body)
		a.bad("%s", why)
	}
	if part == "media" {
		a.header.Set("Content-Type", oneOf(&r.maker, "text/plain", "application/xml", "multipart/form-data; boundary=x",
			"application/jsonx", "*/*", "json", "application/json; charset=utf-16"))
		if !strings.HasPrefix(a.header.Get("Content-Type"), "application/json;") {
			a.bad("the media type is %s", a.header.Get("Content-Type"))
		}
	}
}

// bodyOf makes a body, or takes an example of the contract and lets it speak of what is
// there.
func (r *asker) bodyOf(at string, wrong bool) any {
	node, _ := r.contract.at(at)
	media := node.(map[string]any)
	examples, _ := media["examples"].(map[string]any)
	if len(examples) > 0 && r.chance(45) {
		name := oneOf(&r.maker, slices.Sorted(maps.Keys(examples))...)
		value := examples[name].(map[string]any)["value"]
		if _, text := value.(string); text {
			return value
		}
		value = r.adapt(value)
		if object, ok := value.(map[string]any); ok && wrong {
			r.distort(object)
		}
		return value
	}
	r.spoil = wrong
	value := r.value(media["schema"], "", 0)
	for tries := 0; !wrong && tries < 5 && r.contract.fits(at+"/schema", value) != nil; tries++ {
		value = r.value(media["schema"], "", 0)
	}
	if object, ok := value.(map[string]any); ok && r.spoil {
		r.distort(object)
	}
	r.spoil = false
	return value
}

// adapt copies an example, with members that are known by name.
func (r *asker) adapt(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			out[name] = r.adapt(value[name])
			if known, ok := r.hand[name]; ok && r.chance(50) && fmt.Sprintf("%T", known) == fmt.Sprintf("%T",
				value[name]) {
				out[name] = known
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = r.adapt(value[i])
		}
		return out
	}
	return value
}

// distort does something to a member of an object.
func (r *asker) distort(object map[string]any) {
	names := slices.Sorted(maps.Keys(object))
	if len(names) == 0 || r.chance(25) {
		object["zzUnknown"] = r.anything(0)
		return
	}
	name := oneOf(&r.maker, names...)
	if inner, ok := object[name].(map[string]any); ok && r.chance(50) {
		r.distort(inner)
		return
	}
	if list, ok := object[name].([]any); ok && len(list) > 0 && r.chance(60) {
		if inner, ok := list[r.IntN(len(list))].(map[string]any); ok {
			r.distort(inner)
			return
		}
	}
	if r.chance(30) {
		delete(object, name)
		return
	}
	object[name] = r.wrong(map[string]any{}, 0)
}

// tear makes a text of a JSON body that is no strict JSON, or not the object that every
// body is.
func (r *asker) tear(body []byte) (torn []byte, why string) {
	text := string(body)
	inside := strings.TrimPrefix(text, "{")
	comma := ","
	if inside == "}" {
		comma = ""
	}
	for _, c := range []struct{ why, text string }{
		{"cut off", text[:len(text)-1]},
		{"cut off", text[:1+r.IntN(len(text)-1)]},
		{"followed by more", text + oneOf(&r.maker, "{}", "x", ",", "]", "\x00")},
		{"with a member twice", `{"zzUnknown":1,"zzUnknown":1` + comma + inside},
		{"with a member twice", twice(text)},
		{"of bad UTF-8", "{\"\xff\":1" + comma + inside},
		{"of bad UTF-8", "{\"zz\":\"\xed\xa0\x80\"" + comma + inside},
		{"with half a surrogate pair", `{"zz":"\ud800"` + comma + inside},
		{"with a control character", "{\"zz\":\"\x01\"" + comma + inside},
		{"with a comment", text + "// x"},
		{"with a number that is none", `{"zz":` + oneOf(&r.maker, "NaN", "Infinity", "01", "1.", ".5", "+1", "0x1",
			"1e") + comma + inside},
		{"very deep", `{"zz":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + comma + inside},
		{"no object", oneOf(&r.maker, "null", "[]", "[{}]", `"x"`, "1", "true", "[null]")},
		{"white space", " \n"},
		{"after a byte order mark", "\ufeff" + text},
		{"UTF-16", "\xff\xfe{\x00}\x00"},
		{"in single quotes", `{'zz':1` + comma + inside},
	}[r.IntN(17):] {
		return []byte(c.text), "the body is JSON " + c.why
	}
	panic("unreachable")
}

// twice repeats the first member of an object under a name that is the same once it is
// unescaped.
func twice(text string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil || len(object) == 0 {
		return `{"zz":1,"z\u007a":1}`
	}
	name := slices.Sorted(maps.Keys(object))[0]
	key, _ := json.Marshal(name)
	escaped := string(key)
	if name != "" && name[0] < 0x80 && name[0] >= 'A' {
		escaped = fmt.Sprintf(`"\u%04x%s`, name[0], escaped[2:])
	}
	return fmt.Sprintf(`{%s:%s,%s`, escaped, object[name], text[1:])
}

// encode writes JSON without the escapes that Go adds for browsers.
func encode(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// waits says that a body asks the server to wait.
func waits(value any) bool {
	object, _ := value.(map[string]any)
	for name, member := range object {
		if n, ok := number(member); ok && n > 0 && strings.HasPrefix(strings.ToLower(name), "wait") {
			return true
		}
	}
	return false
}
