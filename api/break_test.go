package api_test

import (
	"fmt"
	"slices"
	"strings"
)

// direction is which way a schema travels: what callers send may only be asked for
// less strictly, what they get may only hold more.
type direction string

const (
	sent direction = "request"
	got  direction = "answer"
)

// comparison finds what a newer contract breaks for the callers of an older one.
type comparison struct {
	old, new map[string]any
	seen     map[string]bool // pairs of schemas, which may contain themselves
	problems []string
}

// broken lists what callers of the old contract cannot rely on any more.
func broken(old, new map[string]any) []string {
	c := &comparison{old: old, new: new, seen: map[string]bool{}}
	was, is := object(old["paths"]), object(new["paths"])
	for path, item := range was {
		c.item(path, object(item), object(is[path]))
	}
	slices.Sort(c.problems)
	return slices.Compact(c.problems)
}

func (c *comparison) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }

func list(v any) []any { l, _ := v.([]any); return l }

// follow gives what a node stands for, and the reference that it is, if it is one.
func follow(doc map[string]any, v any) (node map[string]any, ref string) {
	node = object(v)
	for {
		next, ok := node["$ref"].(string)
		if !ok {
			return node, ref
		}
		ref = next
		var at any = doc
		for part := range strings.SplitSeq(strings.TrimPrefix(next, "#/"), "/") {
			at = object(at)[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		}
		node = object(at)
	}
}

// item compares the operations of one path.
func (c *comparison) item(path string, was, is map[string]any) {
	for method, operation := range was {
		if method == "parameters" {
			continue
		}
		at := strings.ToUpper(method) + " " + path
		before, after := object(operation), object(is[method])
		if after == nil {
			c.say("%s is gone", at)
			continue
		}
		if before["operationId"] != after["operationId"] {
			c.say("%s: operationId was %v and is %v", at, before["operationId"], after["operationId"])
		}
		c.parameters(at, parameters(c.old, was, before), parameters(c.new, is, after))
		c.body(at, before, after)
		for status, response := range object(before["responses"]) {
			next, ok := object(after["responses"])[status]
			if !ok {
				c.say("%s: the answer %s is gone", at, status)
				continue
			}
			c.response(at+" "+status, response, next)
		}
	}
}

// parameters are those of an operation and of its path, by place and name.
func parameters(doc, item, operation map[string]any) map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, p := range slices.Concat(list(item["parameters"]), list(operation["parameters"])) {
		node, _ := follow(doc, p)
		all[fmt.Sprintf("%v %v", node["in"], node["name"])] = node
	}
	return all
}

func (c *comparison) parameters(at string, was, is map[string]map[string]any) {
	for name, before := range was {
		after := is[name]
		if after == nil {
			c.say("%s: the parameter %s is gone", at, name)
			continue
		}
		if before["required"] != true && after["required"] == true {
			c.say("%s: the parameter %s is required now", at, name)
		}
		c.schema(at+" "+name, before["schema"], after["schema"], sent)
	}
	for name, after := range is {
		if was[name] == nil && after["required"] == true {
			c.say("%s: the new parameter %s is required", at, name)
		}
	}
}

func (c *comparison) body(at string, before, after map[string]any) {
	was, _ := follow(c.old, before["requestBody"])
	is, _ := follow(c.new, after["requestBody"])
	switch {
	case was == nil && is["required"] == true:
		c.say("%s: a body is required now", at)
	case was != nil && is == nil:
		c.say("%s: the body is gone", at)
	case was != nil && was["required"] != true && is["required"] == true:
		c.say("%s: the body is required now", at)
	}
	if was != nil && is != nil {
		c.content(at, was, is, sent)
	}
}

func (c *comparison) content(at string, was, is map[string]any, way direction) {
	for media, before := range object(was["content"]) {
		after, ok := object(is["content"])[media]
		if !ok {
			c.say("%s: %s is gone", at, media)
			continue
		}
		c.schema(at, object(before)["schema"], c.sameError(at, object(before)["schema"], object(after)["schema"]), way)
	}
}

// sameError is the alternative of an error that an older contract has as the only one. Errors are told apart by their
// codes, of which there may be more.
func (c *comparison) sameError(at string, before, after any) any {
	status := at[strings.LastIndexByte(at, ' ')+1:]
	if ref := object(before)["$ref"]; ref != nil && (status[0] == '4' || status[0] == '5') {
		for _, alternative := range list(object(after)["oneOf"]) {
			if object(alternative)["$ref"] == ref {
				return alternative
			}
		}
	}
	return after
}

func (c *comparison) response(at string, before, after any) {
	was, _ := follow(c.old, before)
	is, _ := follow(c.new, after)
	for name, header := range object(was["headers"]) {
		old, _ := follow(c.old, header)
		now, _ := follow(c.new, object(is["headers"])[name])
		switch {
		case now == nil:
			c.say("%s: the header %s is gone", at, name)
		case old["required"] == true && now["required"] != true:
			c.say("%s: the header %s may be absent now", at, name)
		default:
			c.schema(at+" "+name, old["schema"], now["schema"], got)
		}
	}
	c.content(at, was, is, got)
}

// schema compares two schemas in one direction.
func (c *comparison) schema(at string, before, after any, way direction) {
	was, from := follow(c.old, before)
	is, to := follow(c.new, after)
	if from != "" {
		pair := string(way) + from + to
		if c.seen[pair] {
			return
		}
		c.seen[pair], at = true, strings.TrimPrefix(from, "#/components/schemas/")+" ("+string(way)+")"
	}
	if was == nil || is == nil {
		if was != nil {
			c.say("%s: the schema is gone", at)
		}
		return
	}
	c.kinds(at, was, is, way)
	c.members(at, was, is, way)
	for _, key := range []string{"items", "additionalProperties"} {
		if object(was[key]) != nil && object(is[key]) != nil {
			c.schema(at+"."+key, was[key], is[key], way)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		old, now := list(was[key]), list(is[key])
		if len(now) < len(old) {
			c.say("%s: %s has fewer alternatives", at, key)
			continue
		}
		for i := range old {
			c.schema(fmt.Sprintf("%s.%s[%d]", at, key, i), old[i], now[i], way)
		}
	}
}

// kinds compares what a value may be.
func (c *comparison) kinds(at string, was, is map[string]any, way direction) {
	old, now := types(was), types(is)
	narrow, wide := old, now // what callers send must stay allowed
	if way == got {
		narrow, wide = now, old // what callers get must be what they know
	}
	if len(old) > 0 && (len(now) == 0 ||
		slices.ContainsFunc(narrow, func(one string) bool { return !allows(wide, one) })) {
		c.say("%s: the type was %v and is %v", at, old, now)
	}
	for _, key := range []string{"format", "const"} {
		if was[key] != nil && fmt.Sprint(was[key]) != fmt.Sprint(is[key]) {
			c.say("%s: %s was %v and is %v", at, key, was[key], is[key])
		}
	}
	if allowed := list(is["enum"]); way == sent && allowed != nil {
		if was["enum"] == nil {
			c.say("%s: only some values are allowed now", at)
		}
		for _, value := range list(was["enum"]) {
			if !slices.Contains(allowed, value) {
				c.say("%s: the value %v is gone", at, value)
			}
		}
	}
}

func types(schema map[string]any) []string {
	if one, ok := schema["type"].(string); ok {
		return []string{one}
	}
	var all []string
	for _, t := range list(schema["type"]) {
		all = append(all, fmt.Sprint(t))
	}
	return all
}

func allows(wide []string, one string) bool {
	return slices.Contains(wide, one) || one == "integer" && slices.Contains(wide, "number")
}

// members compares the members of objects.
func (c *comparison) members(at string, was, is map[string]any, way direction) {
	old, now := object(was["properties"]), object(is["properties"])
	for name, before := range old {
		after, ok := now[name]
		if !ok {
			c.say("%s: the member %s is gone", at, name)
			continue
		}
		c.schema(at+"."+name, before, after, way)
	}
	needed, needs := list(was["required"]), list(is["required"])
	if way == sent {
		for _, name := range needs {
			if !slices.Contains(needed, name) {
				c.say("%s: the member %v is required now", at, name)
			}
		}
		return
	}
	for _, name := range needed {
		if !slices.Contains(needs, name) {
			c.say("%s: the member %v may be absent now", at, name)
		}
	}
}
