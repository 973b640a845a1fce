package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"renga.dev/renga/api"
)

// contract is api/openapi.yaml, compiled: every response of every test is held
// against it.
type contract struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema // by JSON pointer
}

const contractURL = "file:///openapi.json"

// theContract is what answers are held against; asPublished is what requests are made
// from, in which objects are as open as they are to clients.
var (
	theContract = sync.OnceValue(func() *contract { return readContract(closeObjects) })
	asPublished = sync.OnceValue(func() *contract { return readContract(func(any) {}) })
)

func readContract(prepare func(doc any)) *contract {
	var doc map[string]any
	if err := yaml.Unmarshal(api.OpenAPI, &doc); err != nil {
		panic(err)
	}
	// Through JSON, so that numbers are what the schema library expects.
	raw, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	prepare(plain)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(contractURL, plain); err != nil {
		panic(err)
	}
	return &contract{doc: plain.(map[string]any), compiler: compiler, compiled: map[string]*jsonschema.Schema{}}
}

// closeObjects makes every object with listed members refuse others. The published
// contract lets answers gain members; a member that the server sends today and
// the contract does not list is a mistake.
func closeObjects(node any) {
	switch node := node.(type) {
	case map[string]any:
		if _, open := node["additionalProperties"]; !open && node["type"] == "object" && node["properties"] != nil {
			node["additionalProperties"] = false
		}
		for _, child := range node {
			closeObjects(child)
		}
	case []any:
		for _, child := range node {
			closeObjects(child)
		}
	}
}

// schema compiles the schema at a JSON pointer.
func (c *contract) schema(pointer string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.compiled[pointer]; s != nil {
		return s, nil
	}
	s, err := c.compiler.Compile(contractURL + "#" + pointer)
	if err == nil {
		c.compiled[pointer] = s
	}
	return s, err
}

// valid reports whether a JSON text is valid for a schema.
func (c *contract) valid(pointer string, raw []byte) error {
	s, err := c.schema(pointer)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// at follows a JSON pointer, and $ref where it ends at one. It gives the value and
// the pointer to where it really stands.
func (c *contract) at(pointer string) (any, string) {
	var node any = c.doc
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		object, ok := node.(map[string]any)
		if !ok {
			return nil, pointer
		}
		node = object[token]
	}
	if object, ok := node.(map[string]any); ok {
		if ref, ok := object["$ref"].(string); ok {
			return c.at(strings.TrimPrefix(ref, "#"))
		}
	}
	return node, pointer
}

func escape(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }

// operation finds the operation of a request: its JSON pointer, "" when the
// contract has none.
func (c *contract) operation(method, path string) string {
	best := ""
	for template, item := range c.doc["paths"].(map[string]any) {
		if _, has := item.(map[string]any)[strings.ToLower(method)]; has && matches(template, path) {
			pointer := "/paths/" + escape(template) + "/" + strings.ToLower(method)
			if best == "" || strings.Count(template, "{") < strings.Count(best, "{") {
				best = pointer
			}
		}
	}
	return best
}

// matches says that a path fits a template, of which a last {rest} takes what is left.
func matches(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if last := len(want) - 1; want[last] == "{rest}" && len(got) > last {
		want, got = want[:last], got[:last]
	}
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (!strings.HasPrefix(want[i], "{") || got[i] == "") {
			return false
		}
	}
	return true
}

// operations lists "METHOD /path" of everything in the contract.
func (c *contract) operations() []string {
	var all []string
	for template, item := range c.doc["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				all = append(all, strings.ToUpper(method)+" "+template)
			}
		}
	}
	slices.Sort(all)
	return all
}

// check holds a response against the contract.
func (c *contract) check(req *http.Request, resp *http.Response, body []byte) error {
	surface := "/components/responses/"
	switch path := req.URL.Path; {
	case strings.HasPrefix(path, "/api/workflow-"):
		surface += "Workflow"
	case strings.HasPrefix(path, "/pdca"), strings.HasPrefix(path, "/gui"):
		surface += "Recheck"
	}
	pointer := surface + "NotFound"
	switch op := c.operation(req.Method, req.URL.EscapedPath()); {
	case op != "":
		pointer = op + "/responses/" + strconv.Itoa(resp.StatusCode)
	case resp.StatusCode == http.StatusMethodNotAllowed:
		pointer = surface + "MethodNotAllowed"
	case resp.StatusCode != http.StatusNotFound:
		return fmt.Errorf("%s %s is not in the contract and was answered %d", req.Method, req.URL.Path, resp.StatusCode)
	}
	found, pointer := c.at(pointer)
	response, ok := found.(map[string]any)
	if !ok {
		return fmt.Errorf("status %d is not documented", resp.StatusCode)
	}
	if err := c.checkHeaders(pointer, response, resp.Header); err != nil {
		return err
	}
	return c.checkBody(pointer, response, resp, body)
}

func (c *contract) checkHeaders(pointer string, response map[string]any, header http.Header) error {
	documented, _ := response["headers"].(map[string]any)
	for name := range documented {
		found, at := c.at(pointer + "/headers/" + escape(name))
		value := header.Get(name)
		if value == "" {
			if found.(map[string]any)["required"] == true {
				return fmt.Errorf("the header %s is missing", name)
			}
			continue
		}
		raw := []byte(value)
		if found.(map[string]any)["schema"].(map[string]any)["type"] == "string" {
			raw, _ = json.Marshal(value)
		}
		if err := c.valid(at+"/schema", raw); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	return nil
}

func (c *contract) checkBody(pointer string, response map[string]any, resp *http.Response, body []byte) error {
	content, _ := response["content"].(map[string]any)
	if len(content) == 0 {
		if len(body) > 0 {
			return fmt.Errorf("there is a body and none is documented: %s", body)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || content[media] == nil {
		return fmt.Errorf("the content type %q is not documented", resp.Header.Get("Content-Type"))
	}
	if media == "application/x-ndjson" { // the schema is that of a line
		for line := range bytes.Lines(body) {
			if err := c.valid(pointer+"/content/"+escape(media)+"/schema", line); err != nil {
				return fmt.Errorf("%w\nline: %s", err, line)
			}
		}
	}
	if media != "application/json" {
		return nil
	}
	if err := c.valid(pointer+"/content/"+escape(media)+"/schema", body); err != nil {
		return fmt.Errorf("%w\nbody: %s", err, body)
	}
	return nil
}

// checked is a transport that holds every response against the contract.
type checked struct {
	t    testing.TB
	next http.RoundTripper
}

func (c checked) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	var body []byte
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		if body, err = io.ReadAll(resp.Body); err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	if err := theContract().check(req, resp, body); err != nil {
		c.t.Errorf("%s %s answered %d against the contract: %v", req.Method, req.URL, resp.StatusCode, err)
	}
	return resp, nil
}
