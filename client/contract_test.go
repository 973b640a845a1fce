package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/api"
	"renga.dev/renga/api/contract"
	"renga.dev/renga/client"
)

// withoutMethod are the operations that the client does not send, and why.
var withoutMethod = map[string]string{
	"health": "for those who watch over a process", "readiness": "for those who watch over a process",
	"metrics": "for Prometheus", "contract": "for those who read it",
	"console": "for browsers", "consolePage": "for browsers",
	"downloadArtifact": "Rechecks.ArtifactURL gives its URL",
	"getSession":       "for web pages; programs send tokens", "openSession": "for web pages",
	"closeSession": "for web pages", "startLogin": "for browsers", "finishLogin": "for browsers",
}

// otherwise are the members of bodies that the client does not send, and why.
var otherwise = map[string]string{
	"createBulk.filter":                    "ids are sent in place of it",
	"updateRecord.recordVersion":           "it goes as If-Match",
	"deliverWorkflowEvent.eventId":         "another name of the key",
	"deliverWorkflowEvent.event_id":        "another name of the key",
	"deliverWorkflowEvent.idempotencyKey":  "another name of the key",
	"deliverWorkflowEvent.idempotency_key": "the key goes as a header",
	"deliverWorkflowEvent.eventName":       "another name of event_name",
	"deliverWorkflowEvent.event_source":    "another name of source",
	"deliverWorkflowEvent.templateId":      "another name of template_id",
}

// sent is what the client sent to one operation, and what its methods give of the answers.
type sent struct {
	bodies []any
	gives  []reflect.Type
}

// recorder answers every request with an empty object and keeps what was sent.
type recorder struct {
	t    *testing.T
	doc  *contract.Document
	ops  map[string]*sent // by operation id
	last *sent
	end  context.CancelFunc // of a stream, which would connect again
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body := []byte{}
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	var found *contract.Operation // the one with the most literal segments
	for i := range r.doc.Operations {
		op := &r.doc.Operations[i]
		if op.Method == req.Method && fits(op.Path, req.URL.Path) &&
			(found == nil || strings.Count(op.Path, "{") < strings.Count(found.Path, "{")) {
			found = op
		}
	}
	r.last = nil
	if found != nil { // nil: this kind of definition does not have that operation
		if r.ops[found.ID] == nil {
			r.ops[found.ID] = &sent{}
		}
		r.last = r.ops[found.ID]
	}
	if found != nil && len(body) > 0 {
		var v any
		if err := json.Unmarshal(body, &v); err == nil {
			r.last.bodies = append(r.last.bodies, v)
		}
	}
	if req.Header.Get("Accept") == "text/event-stream" || strings.HasSuffix(req.URL.Path, "/stream") {
		r.end()
	}
	header := http.Header{"Content-Type": {"application/json"}, "Etag": {`"1"`}}
	return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(strings.NewReader("{}")), Request: req},
		nil
}

// fits reports whether a path is one of a template.
func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
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

// variants are the values of types that choose an operation.
var variants = map[reflect.Type][]any{
	reflect.TypeFor[client.DefinitionKind](): anys(client.DefinitionKinds),
	reflect.TypeFor[client.ReportName](): {
		client.ReportPipeline, client.ReportForecast, client.ReportWonLost, client.ReportLeadConversion,
		client.ReportCampaigns, client.ReportApprovals,
	},
	reflect.TypeFor[client.TerritoryMember](): {client.TerritoryUsers, client.TerritoryAccounts},
	reflect.TypeFor[client.WorkflowEvent]():   {withoutRaw()},
	reflect.TypeFor[bool]():                   {true, false},
	reflect.TypeFor[[]client.Command](): {[]client.Command{
		full[client.CancelExecution](),
		full[client.CancelNode](),
	}},
	reflect.TypeFor[client.Command](): {
		full[client.CreateExecution](), full[client.StartExecution](), full[client.CancelExecution](),
		full[client.ArchiveExecution](), full[client.StartNode](), full[client.ReportNodeProgress](),
		full[client.PutNodeWaiting](), full[client.ResumeNode](), full[client.SucceedNode](), full[client.FailNode](),
		full[client.CancelNode](),
	},
}

// withoutRaw is an event whose members are sent, and not a body of the caller.
func withoutRaw() client.WorkflowEvent {
	e := full[client.WorkflowEvent]()
	e.Raw = nil
	return e
}

func anys[T any](all []T) []any {
	out := make([]any, len(all))
	for i, v := range all {
		out[i] = v
	}
	return out
}

func full[T any]() T { return filled(reflect.TypeFor[T]()).Interface().(T) }

// word is every string that is sent, also of free-form objects; it reads as the id of a field, too.
const word = "x.x"

// filled is a value in which nothing is zero.
func filled(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1_800_000_000, 0)))
	case t == reflect.TypeFor[time.Duration]():
		v.SetInt(int64(time.Second))
	case t == reflect.TypeFor[json.RawMessage](), t == reflect.TypeFor[[]byte]():
		v.SetBytes([]byte(`{"` + word + `":1}`))
	case t == reflect.TypeFor[io.Writer]():
		v.Set(reflect.ValueOf(io.Discard))
	case t.Kind() == reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{word: 1}))
	case t.Kind() == reflect.String:
		v.SetString(word)
	case t.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.CanFloat():
		v.SetFloat(1)
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(filled(t.Elem()))
	case t.Kind() == reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem())))
	case t.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(filled(t.Key()), filled(t.Elem()))
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(filled(t.Field(i).Type))
			}
		}
	}
	return v
}

// record calls every method of the client, with every variant of its arguments.
func record(t *testing.T, doc *contract.Document) map[string]*sent {
	r := &recorder{t: t, doc: doc, ops: map[string]*sent{}}
	c := client.New(client.Config{URL: "http://x", HTTP: &http.Client{Transport: r}, RetryFor: time.Nanosecond})
	v := reflect.ValueOf(c)
	parts := []reflect.Value{v}
	for i := range v.Elem().NumField() {
		if v.Elem().Type().Field(i).IsExported() {
			parts = append(parts, v.Elem().Field(i))
		}
	}
	for _, part := range parts {
		for i := range part.NumMethod() {
			method, name := part.Method(i), part.Type().Method(i).Name
			if method.Type().NumIn() == 0 {
				continue // Close
			}
			asked := r.call(method)
			if asked == 0 {
				t.Errorf("%v.%s sends nothing", part.Type(), name)
			}
		}
	}
	return r.ops
}

// call calls a method and gives how many requests it sent.
func (r *recorder) call(method reflect.Value) (asked int) {
	lists := [][]reflect.Value{nil}
	for i := 1; i < method.Type().NumIn(); i++ {
		in := method.Type().In(i)
		var choices []reflect.Value
		for _, one := range variants[in] {
			choices = append(choices, reflect.ValueOf(one))
		}
		if choices == nil {
			choices = []reflect.Value{filled(in)}
		}
		var longer [][]reflect.Value
		for _, list := range lists {
			for _, choice := range choices {
				longer = append(longer, append(slices.Clone(list), choice))
			}
		}
		lists = longer
	}
	for _, list := range lists {
		ctx, cancel := context.WithCancel(context.Background())
		r.end, r.last = cancel, nil
		args := append([]reflect.Value{reflect.ValueOf(ctx)}, list...)
		var out []reflect.Value
		if method.Type().IsVariadic() {
			out = method.CallSlice(args)
		} else {
			out = method.Call(args)
		}
		gives := out[0].Type()
		if gives.Kind() == reflect.Func { // an iterator
			gives = reflect.SliceOf(gives.In(0).In(0))
			out[0].Call([]reflect.Value{reflect.MakeFunc(out[0].Type().In(0), func([]reflect.Value) []reflect.Value {
				return []reflect.Value{reflect.ValueOf(false)}
			})})
		}
		cancel()
		if r.last != nil {
			asked++
			r.last.gives = append(r.last.gives, gives)
		}
	}
	return asked
}

// TestTheClientHasEveryOperationOfTheContract asks of every operation for a method, for every
// member of its body in what is sent, and for every member of its answer in what the method gives.
func TestTheClientHasEveryOperationOfTheContract(t *testing.T) {
	doc, err := contract.Parse(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	ops := record(t, doc)
	checked := 0
	for i := range doc.Operations {
		op := &doc.Operations[i]
		got := ops[op.ID]
		if reason := withoutMethod[op.ID]; (reason != "") != (got == nil) {
			t.Errorf("%s (%s %s): a method: %t, and the reason for none: %q", op.ID, op.Method, op.Path, got != nil,
				reason)
		}
		if got == nil {
			continue
		}
		for _, path := range unsent(doc, op.Body, got.bodies, "", 0) {
			if otherwise[op.ID+path] == "" {
				t.Errorf("%s: no method sends %s", op.ID, path)
			}
		}
		for _, answer := range op.Answers {
			checked++
			missing := map[string]bool{}
			for i, give := range got.gives {
				now := map[string]bool{}
				for _, path := range unread(doc, answer, give, "", 0) {
					now[path] = i == 0 || missing[path]
				}
				missing = now
			}
			for _, path := range slices.Sorted(maps.Keys(missing)) {
				if missing[path] {
					t.Errorf("%s: no method gives %s", op.ID, path)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("looked at %d answers: the test reads too little", checked)
	}
}

const deep = 6 // levels of a schema that are looked at; some contain themselves

// unsent are the members of a schema that no body has.
func unsent(doc *contract.Document, s *contract.Schema, bodies []any, at string, level int) (paths []string) {
	if s == nil || level > deep {
		return nil
	}
	if slices.ContainsFunc(bodies, freeForm) {
		return nil
	}
	members := doc.Members(s)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var values []any
		for _, body := range bodies {
			if object, ok := body.(map[string]any); ok && object[name] != nil {
				values = append(values, object[name])
			}
		}
		if len(values) == 0 {
			paths = append(paths, at+"."+name)
			continue
		}
		paths = append(paths, unsent(doc, members[name], values, at+"."+name, level+1)...)
	}
	if items := doc.Items(s); items != nil {
		var values []any
		for _, body := range bodies {
			if list, ok := body.([]any); ok {
				values = append(values, list...)
			}
		}
		paths = append(paths, unsent(doc, items, values, at+"[]", level+1)...)
	}
	return paths
}

// freeForm reports whether a body, or a part of it, is the caller's own.
func freeForm(body any) bool {
	object, ok := body.(map[string]any)
	return ok && object[word] != nil
}

// unread are the members of a schema that a type of the client does not have.
func unread(doc *contract.Document, s *contract.Schema, t reflect.Type, at string, level int) (paths []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	raw := t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	if s == nil || level > deep || raw || t.Kind() == reflect.Map || t.Kind() == reflect.Interface ||
		t == reflect.TypeFor[client.Error]() || t == reflect.TypeFor[client.Definition]() ||
		t == reflect.TypeFor[client.Result]() {
		return nil
	}
	members := doc.Members(s)
	if t.Kind() == reflect.Slice {
		if items := doc.Items(s); items != nil {
			return unread(doc, items, t.Elem(), at+"[]", level+1)
		}
		for _, name := range slices.Sorted(maps.Keys(members)) { // the list is all that the method gives of the answer
			if items := doc.Items(members[name]); items != nil {
				return unread(doc, items, t.Elem(), at+"."+name+"[]", level+1)
			}
		}
		return nil
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return nil
	}
	fields := map[string]reflect.Type{}
	tagged(t, fields)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if members[name].Const != nil {
			continue // it says nothing
		}
		if fields[name] == nil {
			paths = append(paths, at+"."+name)
			continue
		}
		paths = append(paths, unread(doc, members[name], fields[name], at+"."+name, level+1)...)
	}
	return paths
}

// tagged are the fields of a struct by their names in JSON.
func tagged(t reflect.Type, into map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			tagged(f.Type, into)
		case name != "" && name != "-":
			into[name] = f.Type
		}
	}
}

// TestTheContractFindsWhatIsMissing plants a member that nobody has.
func TestTheContractFindsWhatIsMissing(t *testing.T) {
	doc := &contract.Document{}
	s := &contract.Schema{Properties: map[string]*contract.Schema{"userId": {}, "planted": {}}}
	if got := fmt.Sprint(unread(doc, s, reflect.TypeFor[client.TeamMember](), "", 0)); got != "[.planted]" {
		t.Errorf("a member that the struct lacks: %s", got)
	}
	if got := fmt.Sprint(unsent(doc, s, []any{map[string]any{"userId": "x"}}, "", 0)); got != "[.planted]" {
		t.Errorf("a member that is not sent: %s", got)
	}
}
