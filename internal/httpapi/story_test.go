package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"renga.dev/renga/api"
)

// step is one request of the contract's story.
type step struct {
	Operation   string            `yaml:"operation"`
	Path        map[string]string `yaml:"path"`
	Query       string            `yaml:"query"`
	Key         string            `yaml:"key"`
	Correlation string            `yaml:"correlation"`
	LastEventID string            `yaml:"lastEventId"`
	IfMatch     string            `yaml:"ifMatch"`
	Frames      int               `yaml:"frames"` // of a stream that does not end: how many are read
	Media       string            `yaml:"media"`
	Request     string            `yaml:"request"`
	Status      int               `yaml:"status"`
	Response    string            `yaml:"response"`
	Until       string            `yaml:"until"` // the step is repeated until the answer has this status
	Binds       string            `yaml:"binds"` // what the answer's executionId is called in the examples
}

// TestTheExamplesOfTheContractAreWhatTheServerDoes sends the requests of the
// contract's examples in the order of its story and compares the answers with its
// examples. Ids and instants differ from run to run; ids must correspond.
func TestTheExamplesOfTheContractAreWhatTheServerDoes(t *testing.T) {
	p := newPlay(newStoryServer(t))
	p.all()
	for _, example := range p.examples() {
		if !p.used[example] {
			t.Errorf("the example %s is not in the story", example)
		}
	}
	for _, operation := range p.contract.operations() {
		if !p.used[operation] {
			t.Errorf("the story does not have %s", operation)
		}
	}
}

// play is a story being executed.
type play struct {
	*server
	contract *contract
	real     map[string]string // ids of the examples → ids of the server
	used     map[string]bool   // pointers of examples, and operations
	signed   string            // the query of the last URL that an answer had

	before func(s step, r request)     // each request, or nil
	after  func(s step, got reply)     // each answer, or nil
	loose  func(operation string) bool // the answers that are not compared, nil: all are
	tenant string                      // who plays it, "": own
}

// request is a request of the story as it is sent.
type request struct {
	operation, method, path, body string
	header                        []string
}

func newPlay(s *server) *play {
	return &play{server: s, contract: theContract(), real: map[string]string{}, used: map[string]bool{}}
}

// all plays the whole story.
func (p *play) all() {
	p.t.Helper()
	var doc struct {
		Story []step `yaml:"x-renga-story"`
	}
	if err := yaml.Unmarshal(api.OpenAPI, &doc); err != nil {
		p.t.Fatal(err)
	}
	for i, step := range doc.Story {
		p.do(i+1, step)
	}
}

func (p *play) do(n int, s step) {
	p.t.Helper()
	operation := p.find(s.Operation)
	method, path, _ := strings.Cut(operation, " ")
	p.used[operation] = true
	pointer := "/paths/" + escape(path) + "/" + strings.ToLower(method)
	for name, value := range s.Path {
		path = strings.ReplaceAll(path, "{"+name+"}", p.toReal(value))
	}
	switch {
	case s.Query == "that of the URL":
		path += "?" + p.signed
	case s.Query != "":
		path += "?" + strings.Replace(s.Query, "ym=2026-01", "ym="+p.clock.Now().UTC().Format("2006-01"), 1)
	}
	r := request{operation, method, path, p.body(pointer, s), p.header(s)}
	send := func() reply { return p.server.do(method, path, r.body, r.header...) }
	if s.Frames > 0 {
		send = func() reply { return p.server.frames(s.Frames, path, r.header...) }
	}
	if p.before != nil {
		p.before(s, r)
	}
	got := send()
	for began := time.Now(); s.Until != "" && got.status == s.Status && got.text("status") != s.Until; {
		if time.Since(began) > patience {
			p.t.Fatalf("step %d, %s: the answer is still %s", n, s.Operation, got.body)
		}
		got = send()
	}
	if got.status != s.Status && p.tenant != "" && wide[s.Operation] {
		return // the positions of the examples are sealed for another tenant
	}
	if got.status != s.Status {
		p.t.Fatalf("step %d, %s: got %d, want %d: %s", n, s.Operation, got.status, s.Status, got.body)
	}
	if strings.Contains(string(got.body), `"url":`) {
		_, p.signed, _ = strings.Cut(got.text("url"), "?")
	}
	if s.Binds != "" {
		p.real[s.Binds] = got.text("executionId")
	}
	if p.after != nil {
		p.after(s, got)
	}
	if s.Response != "" {
		p.compare(n, s, pointer, got)
	}
}

func (p *play) find(operationID string) string {
	for _, operation := range p.contract.operations() {
		method, path, _ := strings.Cut(operation, " ")
		op, _ := p.contract.at("/paths/" + escape(path) + "/" + strings.ToLower(method))
		if op.(map[string]any)["operationId"] == operationID {
			return operation
		}
	}
	p.t.Fatalf("there is no operation %s", operationID)
	return ""
}

func (p *play) header(s step) []string {
	var header []string
	for name, value := range map[string]string{
		p.keyHeader(s.Operation): s.Key, "X-Correlation-Id": s.Correlation, "Content-Type": s.Media,
		"Last-Event-ID": s.LastEventID, "If-Match": s.IfMatch,
	} {
		if value != "" {
			header = append(header, name, value)
		}
	}
	if p.tenant != "" {
		header = append(header, "X-Tenant-Id", p.tenant)
	}
	return header
}

// keyHeader is what the idempotency key of an operation is called.
func (p *play) keyHeader(operationID string) string {
	for _, op := range api.Operations() {
		if op.ID == operationID && op.KeyHeader != "" {
			return op.KeyHeader
		}
	}
	return "X-Idempotency-Key"
}

// body is the example that a step sends.
func (p *play) body(pointer string, s step) string {
	p.t.Helper()
	if s.Request == "" {
		return ""
	}
	media := s.Media
	if media == "" {
		media = "application/json"
	}
	at := pointer + "/requestBody/content/" + escape(media) + "/examples/" + s.Request
	value, ok := p.example(at)
	if !ok {
		p.t.Fatalf("there is no example %s", at)
	}
	if text, ok := value.(string); ok {
		return text
	}
	raw, err := json.Marshal(value)
	if err != nil {
		p.t.Fatal(err)
	}
	schema := pointer + "/requestBody/content/" + escape(media) + "/schema"
	if err := p.contract.valid(schema, raw); err != nil && s.Status < 400 && s.Operation != "sendCommands" {
		p.t.Errorf("the example %s is not valid: %v", at, err)
	}
	return p.toReal(string(raw))
}

// example is the value of an example, noted as used.
func (p *play) example(pointer string) (any, bool) {
	value, _ := p.contract.at(pointer + "/value")
	p.used[pointer] = true
	return value, value != nil
}

// compare holds an answer against its example.
func (p *play) compare(n int, s step, pointer string, got reply) {
	p.t.Helper()
	_, at := p.contract.at(fmt.Sprintf("%s/responses/%d", pointer, s.Status))
	content, _ := p.contract.at(at + "/content")
	media := slices.Sorted(maps.Keys(content.(map[string]any)))
	if len(media) > 1 {
		media = slices.DeleteFunc(
			media,
			func(m string) bool { return !strings.HasPrefix(got.header.Get("Content-Type"), m) },
		)
	}
	want, ok := p.example(at + "/content/" + escape(media[0]) + "/examples/" + s.Response)
	if !ok {
		p.t.Fatalf("step %d: there is no example %s for %s %d", n, s.Response, s.Operation, s.Status)
	}
	var real any = string(got.body)
	if media[0] == "application/json" {
		if err := json.Unmarshal(got.body, &real); err != nil {
			p.t.Fatal(err)
		}
		raw, _ := json.Marshal(want)
		if err := json.Unmarshal(raw, &want); err != nil {
			p.t.Fatal(err)
		}
	}
	p.bind(want, real)
	if p.loose != nil && p.loose(s.Operation) {
		return
	}
	if diff := cmp.Diff(mask(p.translate(want)), mask(real)); diff != "" {
		p.t.Errorf(
			"step %d, %s: the example %s is not what the server says (-example +server):\n%s",
			n,
			s.Operation,
			s.Response,
			diff,
		)
	}
}

var (
	anID = regexp.MustCompile(
		`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`,
	)
	aMonth    = regexp.MustCompile(`^\d{4}-\d\d$`)
	aURL      = regexp.MustCompile(`^(/.*\?expires=)\d+(&signature=)[0-9a-f]{64}&`)
	aLocal    = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$`)
	aSecret   = regexp.MustCompile(`\b(whsec|whpk)_[0-9A-Za-z+/]{43}=`)
	anInstant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

// bind notes which id of the server an id of an example stands for, where both
// stand in the same place.
func (p *play) bind(want, got any) {
	switch want := want.(type) {
	case string:
		ids, real := anID.FindAllString(want, -1), []string(nil)
		if text, ok := got.(string); ok {
			real = anID.FindAllString(text, -1)
		}
		for i := range min(len(ids), len(real)) {
			if p.real[ids[i]] == "" {
				p.real[ids[i]] = real[i]
			}
		}
	case map[string]any:
		if object, ok := got.(map[string]any); ok {
			p.bindVersion(want, object)
			for name := range want {
				p.bind(want[name], object[name])
			}
		}
	case []any:
		if array, ok := got.([]any); ok {
			for i := range min(len(want), len(array)) {
				p.bind(want[i], array[i])
			}
		}
	}
}

// bindVersion notes which version of a record of the server the one of its example stands
// for: requests name it again.
func (p *play) bindVersion(want, got map[string]any) {
	id, _ := want["id"].(string)
	version, ok := want["recordVersion"].(string)
	if real, isText := got["recordVersion"].(string); ok && isText && id != "" {
		p.real[version] = real
	}
}

// toReal puts the server's ids in the place of those of the examples.
func (p *play) toReal(s string) string {
	known := func(text string) string {
		if real := p.real[text]; real != "" {
			return real
		}
		return text
	}
	return anInstant.ReplaceAllStringFunc(anID.ReplaceAllStringFunc(s, known), known)
}

func (p *play) translate(value any) any { return rewrite(value, p.toReal) }

// mask hides instants, months and secrets, and in URLs what is signed.
func mask(value any) any {
	return rewrite(value, func(s string) string {
		s = aLocal.ReplaceAllString(aURL.ReplaceAllString(s, "<server>$1<instant>$2<signature>&"), "<local>")
		s = aSecret.ReplaceAllString(s, "<$1>")
		return aMonth.ReplaceAllString(anInstant.ReplaceAllString(s, "<instant>"), "<month>")
	})
}

func rewrite(value any, text func(string) string) any {
	switch value := value.(type) {
	case string:
		return text(value)
	case map[string]any:
		out := make(map[string]any, len(value))
		for name := range value {
			out[name] = rewrite(value[name], text)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = rewrite(value[i], text)
		}
		return out
	}
	return value
}

// examples lists the pointers of all examples in the contract.
func (p *play) examples() []string {
	var all []string
	var walk func(node any, pointer string)
	walk = func(node any, pointer string) {
		switch node := node.(type) {
		case map[string]any:
			for name, child := range node {
				at := pointer + "/" + escape(name)
				if examples, ok := child.(map[string]any); ok && name == "examples" {
					for example := range examples {
						all = append(all, at+"/"+escape(example))
					}
					continue
				}
				walk(child, at)
			}
		case []any:
			for i, child := range node {
				walk(child, fmt.Sprintf("%s/%d", pointer, i))
			}
		}
	}
	walk(p.contract.doc["paths"], "/paths")
	walk(p.contract.doc["components"], "/components")
	slices.Sort(all)
	return all
}

func TestEveryAnswerOfTheContractHasTheIDsOfItsRequest(t *testing.T) {
	c, seen := theContract(), 0
	check := func(pointer string) {
		found, at := c.at(pointer)
		headers, _ := found.(map[string]any)["headers"].(map[string]any)
		for _, name := range []string{"X-Correlation-Id", "X-Request-Id"} {
			header, _ := headers[name].(map[string]any)
			if header["$ref"] != "#/components/headers/"+name {
				t.Errorf("%s does not have the header %s", at, name)
			}
		}
		seen++
	}
	for _, operation := range c.operations() {
		method, path, _ := strings.Cut(operation, " ")
		pointer := "/paths/" + escape(path) + "/" + strings.ToLower(method) + "/responses"
		responses, _ := c.at(pointer)
		for status := range responses.(map[string]any) {
			check(pointer + "/" + status)
		}
	}
	if seen < 100 {
		t.Errorf("looked at %d answers: the test reads too little", seen)
	}
}

func TestEveryReferenceOfTheContractLeadsSomewhereAndEveryPartIsUsed(t *testing.T) {
	c := theContract()
	used := map[string]bool{}
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case map[string]any:
			if ref, ok := node["$ref"].(string); ok {
				if target, _ := c.at(strings.TrimPrefix(ref, "#")); target == nil {
					t.Errorf("%s leads nowhere", ref)
				}
				used[ref] = true
			}
			for _, child := range node {
				walk(child)
			}
		case []any:
			for _, child := range node {
				walk(child)
			}
		}
	}
	walk(c.doc)
	for kind, parts := range c.doc["components"].(map[string]any) {
		for name := range parts.(map[string]any) {
			ref := "#/components/" + kind + "/" + name
			if kind == "schemas" {
				if _, err := c.schema(strings.TrimPrefix(ref, "#")); err != nil {
					t.Errorf("%s: %v", ref, err)
				}
			}
			// What only a path or method that is not in the contract is answered with stands alone.
			outside := strings.HasSuffix(name, "MethodNotAllowed")
			if !used[ref] && kind != "securitySchemes" && !outside {
				t.Errorf("%s is not used", ref)
			}
		}
	}
}
