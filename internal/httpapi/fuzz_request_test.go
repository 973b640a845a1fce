package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// ask is a request made from the contract.
type ask struct {
	operation string // pointer into the contract; "" when it has none for this request
	method    string
	target    string // path and query, as they are sent
	header    http.Header
	body      []byte
	why       string // it is no valid request; "" when nothing in the contract says so
	from      facts  // what it names, in its path and body
	about     *facts // that it was made with
	waits     bool   // the server may let it wait
}

// collection is the part of the path before the first parameter, where things of one kind
// are.
func (a *ask) collection() string {
	path, _, _ := strings.Cut(strings.TrimPrefix(a.operation, "/paths/"), "/")
	collection, _, _ := strings.Cut(path, "~1{")
	return collection
}

func (a *ask) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", a.method, a.target)
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		fmt.Fprintf(&b, "\n  %s: %q", name, a.header[name])
	}
	if body := a.body; len(body) > 0 {
		if len(body) > 2000 {
			body = append(slices.Clone(body[:2000]), "…"...)
		}
		fmt.Fprintf(&b, "\n  %q", body)
	}
	return b.String()
}

// bad notes why the request is not valid; the first reason stays.
func (a *ask) bad(format string, args ...any) {
	if a.why == "" {
		a.why = fmt.Sprintf(format, args...)
	}
}

// asker makes the requests of one tenant.
type asker struct {
	maker
	known  *known
	tenant string
	past   []*ask // that can be repeated
}

// parameter is one of an operation.
type parameter struct {
	name, in string
	required bool
	schema   any
	pointer  string // of the schema
	lists    bool   // an array, its items separated by commas
	repeats  bool   // an array, each item a parameter of its own
	open     bool   // it stands for parameters of any name
}

// fits gives why a value breaks the schema at a JSON pointer.
func (c *contract) fits(pointer string, value any) error {
	s, err := c.schema(pointer)
	if err != nil {
		panic(err)
	}
	return s.Validate(value)
}

// parameters of an operation and of its path.
func (c *contract) parameters(operation string) (all []parameter) {
	for _, owner := range []string{operation[:strings.LastIndexByte(operation, '/')], operation} {
		node, _ := c.at(owner)
		list, _ := node.(map[string]any)["parameters"].([]any)
		for i, item := range list {
			p, at := item.(map[string]any), fmt.Sprint(owner, "/parameters/", i)
			if ref, ok := p["$ref"].(string); ok {
				at = strings.TrimPrefix(ref, "#")
				node, _ := c.at(at)
				p = node.(map[string]any)
			}
			schema := p["schema"].(map[string]any)
			all = append(all, parameter{
				name: p["name"].(string), in: p["in"].(string), required: p["required"] == true, schema: schema,
				pointer: at + "/schema",
				lists:   schema["type"] == "array" && p["explode"] != true,
				repeats: schema["type"] == "array" && p["explode"] == true,
				open:    p["in"] == "query" && schema["type"] == "object",
			})
		}
	}
	return all
}

// next makes a request of an operation, "METHOD /path".
func (r *asker) next(operation string) *ask {
	if len(r.past) > 0 && r.chance(4) {
		return r.again()
	}
	method, template, _ := strings.Cut(operation, " ")
	a := &ask{method: method, header: http.Header{}, from: facts{}}
	a.operation = "/paths/" + escape(template) + "/" + strings.ToLower(method)
	parameters := r.contract.parameters(a.operation)
	a.about = r.hints(a, parameters)
	r.hand = *a.about
	part := "" // that shall be wrong
	if r.chance(40) {
		part = oneOf(&r.maker, "path", "query", "header", "body", "body", "json", "media", "method", "place")
	}
	r.path(a, template, parameters, part)
	r.query(a, parameters, part)
	r.headers(a, parameters, part)
	r.content(a, part)
	switch part {
	case "method":
		a.method = oneOf(&r.maker, "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW")
	case "place":
		path, query, _ := strings.Cut(a.target, "?")
		a.target = oneOf(&r.maker, path+"/", path+"/zz", "/"+path, path+"/..", path+"%00", "/zz"+path,
			strings.ToUpper(path)) + "?" + query
	}
	r.place(a)
	return a
}

// place finds what the contract says about a request whose method or path may be another
// operation's, or nobody's.
func (r *asker) place(a *ask) {
	path, _, _ := strings.Cut(a.target, "?")
	method := a.method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	switch operation := r.contract.operation(method, path); operation {
	case a.operation:
	case "":
		a.operation, a.why = "", "the contract does not have it"
	default:
		a.operation, a.why = operation, ""
	}
}

// hints are facts for an operation: what belongs together, so that commands meet things
// that are there.
func (r *asker) hints(a *ask, parameters []parameter) *facts {
	var names []string
	for _, p := range parameters {
		if p.in == "path" {
			names = append(names, p.name)
		}
	}
	if len(names) > 0 && r.chance(5) {
		return &facts{}
	}
	if media := r.media(a.operation); len(names) == 0 && media != nil {
		for _, content := range media {
			properties, _ := r.flat(content.(map[string]any)["schema"])["properties"].(map[string]any)
			names = append(names, slices.Sorted(maps.Keys(properties))...)
		}
	}
	return r.known.about(&r.maker, names, a.collection())
}

// again repeats a request, as it was or with another body.
func (r *asker) again() *ask {
	a := *oneOf(&r.maker, r.past...)
	if r.chance(30) && len(a.body) > 0 {
		a.from = maps.Clone(a.from)
		r.content(&a, "")
	}
	return &a
}

// judge gives why a text is no value of a parameter, "" when it is one.
func (r *asker) judge(p *parameter, text string) string {
	var value any = text
	switch s := r.flat(p.schema); {
	case p.lists:
		list := []any{}
		for item := range strings.SplitSeq(text, ",") {
			list = append(list, item)
		}
		value = list
	case p.repeats:
		value = []any{text}
	case s["type"] == "integer" || s["type"] == "number" || s["type"] == "boolean":
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil || decoder.More() {
			value = text // which is not of that type
		}
	}
	if err := r.contract.fits(p.pointer, value); err != nil {
		return fmt.Sprintf("%s %s is %q", p.in, p.name, text)
	}
	return ""
}

// write is a value as a parameter has it.
func write(value any) string {
	if list, ok := value.([]any); ok {
		texts := make([]string, len(list))
		for i := range list {
			texts[i] = write(list[i])
		}
		return strings.Join(texts, ",")
	}
	if value == nil {
		return "null"
	}
	return fmt.Sprint(value)
}

func (r *asker) path(a *ask, template string, parameters []parameter, part string) {
	a.target = template
	for i := range parameters {
		p := &parameters[i]
		if p.in != "path" {
			continue
		}
		value := r.value(p.schema, p.name, 0)
		if part == "path" && r.chance(60) {
			value = r.wrong(r.flat(p.schema), 0)
		}
		text := write(value)
		if text == "" {
			text = " "
		}
		if why := r.judge(p, text); why != "" {
			a.bad("%s", why)
		}
		a.from[p.name] = text
		a.target = strings.ReplaceAll(a.target, "{"+p.name+"}", url.PathEscape(text))
	}
}

func (r *asker) query(a *ask, parameters []parameter, part string) {
	var list []string
	add := func(name, text string) { list = append(list, url.QueryEscape(name)+"="+url.QueryEscape(text)) }
	for i := range parameters {
		p := &parameters[i]
		switch {
		case p.in != "query", p.open:
			continue
		case part == "query" && r.chance(40):
			text := write(r.wrong(r.flat(p.schema), 0))
			if why := r.judge(p, text); why != "" {
				a.bad("%s", why)
			}
			add(p.name, text)
			if r.chance(10) {
				add(p.name, text)
			}
		case p.required || r.chance(35):
			text := write(r.value(p.schema, p.name, 0))
			if why := r.judge(p, text); why != "" {
				a.bad("%s", why)
			}
			add(p.name, text)
		}
	}
	if part == "query" && (len(list) == 0 || r.chance(20)) {
		if !slices.ContainsFunc(parameters, func(p parameter) bool { return p.open }) {
			a.bad("there is an unknown query parameter")
		}
		add("zzUnknown"+r.word(0, 3), r.word(0, 3))
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	a.target += "?" + strings.Join(list, "&")
}

// sendable is what Go's client sends as the value of a header.
var sendable = regexp.MustCompile(`^[\t -~\x80-\x{10ffff}]*$`)

func (r *asker) headers(a *ask, parameters []parameter, part string) {
	a.header.Set("X-Tenant-Id", r.tenant)
	for i := range parameters {
		p := &parameters[i]
		spoiled := part == "header" && r.chance(50)
		switch {
		case p.in != "header", strings.EqualFold(p.name, "X-Tenant-Id") && !spoiled:
			continue
		case p.required && spoiled && r.chance(30):
			a.bad("header %s is missing", p.name)
			continue
		case !p.required && !spoiled && !r.chance(30):
			continue
		}
		value := r.value(p.schema, "", 0)
		if spoiled {
			value = r.wrong(r.flat(p.schema), 0)
		}
		text := strings.Trim(write(value), " \t")
		if !sendable.MatchString(text) || len(text) > 4096 {
			text = strings.Trim(r.matching("^[ -~]+$", 1, 20), " ")
		}
		a.header.Set(p.name, text)
		if text == "" && !p.required {
			continue // an empty header says as little as none
		}
		if why := r.judge(p, text); why != "" {
			a.bad("%s", why)
		}
	}
}
