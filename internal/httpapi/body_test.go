package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
)

// commandNames are the commands, by the names of their schemas in the contract.
var commandNames = map[string]string{
	"CreateExecution": "CreateExecution", "StartExecution": "NoMembers", "CancelExecution": "CancelExecution",
	"ArchiveExecution": "ArchiveExecution",
	"StartNode":        "StartNode", "ReportNodeProgress": "ReportNodeProgress", "PutNodeWaiting": "PutNodeWaiting",
	"ResumeNode":  "ResumeNode",
	"SucceedNode": "SucceedNode", "FailNode": "FailNode", "CancelNode": "CancelNode",
}

var sortedCommands = slices.Sorted(maps.Keys(commandNames))

const someExecution = "0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01"

var (
	someTexts = []string{
		`""`, `"x"`, `"é"`, `"` + strings.Repeat("é", 128) + `"`, `"` + strings.Repeat("x", 129) + `"`,
		`"` + strings.Repeat("x", 256) + `"`, `"a b"`, `"\u0061"`,
	}
	someNumbers = []string{
		`0`, `1`, `-1`, `1.0`, `1.5`, `1e0`, `10e-1`, `2147483647`, `2147483648`, `100`, `100.5`,
		`0.0`, `1E2`, `1e30`,
	}
	someObjects = []string{
		`{}`, `{"a":1}`, `{"code":"E"}`, `{"code":1}`, `{"message":"m","detail":{}}`, `{"detail":[]}`, `{"code":"` +
			strings.Repeat("c", 129) + `"}`,
	}
	someClaims = []string{
		`{"workerId":"w"}`, `{"workerId":""}`, `{}`,
		`{"workerId":"w","queues":["a","b"],"max":100,"leaseSeconds":3600}`, `{"workerId":"w","queues":["a","a"]}`,
		`{"workerId":"w","queues":[]}`, `{"workerId":"w","max":0}`, `{"workerId":"w","max":1.0}`,
		`{"workerId":"w","leaseSeconds":3601}`, `{"workerId":"w","waitSeconds":0}`,
		`{"workerId":"w","queues":["a b"]}`, `{"workerId":"w","queues":null}`, `{"workerId":1}`,
	}
	someOthers = []string{`null`, `true`, `false`, `[]`, `[1]`}
	fitting    = map[string][]string{
		"start": {`true`, `false`, `true`}, "claim": someClaims,
		"attempt": someNumbers, "progress": someNumbers, "next": someOthers,
		"output": someObjects, "error": someObjects, "metrics": someObjects, "prompt": someObjects,
		"input": someObjects, "graphVersion": someNumbers,
		"graphId": {`"g"`, `"order.2"`, `"x"`, `""`, `"a b"`},
		"rerunOf": {`"` + someExecution + `"`, `"` + strings.ToUpper(someExecution) + `"`, `"0199c1a2"`, `""`},
		"labels":  {`{}`, `{"a":"1"}`, `{"a b":"1"}`, `{"a":1}`},
	}
)

// drawBody draws a body for a command: mostly members that it knows, with values
// near the border of what is allowed.
func drawBody(t *rapid.T, command string) string {
	schema, _ := theContract().at("/components/schemas/" + commandNames[command])
	known, _ := schema.(map[string]any)["properties"].(map[string]any)
	pool := slices.Sorted(maps.Keys(known))
	if len(pool) == 0 || rapid.IntRange(0, 9).Draw(t, "foreign") == 0 {
		pool = append(pool, "surprise", "reason", "attempt")
	}
	slices.Sort(pool)
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Compact(pool)), 0, len(slices.Compact(pool)),
		rapid.ID).Draw(t, "members")
	var members []string
	for _, name := range names {
		values := fitting[name]
		if values == nil {
			values = someTexts
		}
		if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
			values = slices.Concat(someTexts, someNumbers, someObjects, someOthers)
		}
		members = append(members, fmt.Sprintf("%q:%s", name, rapid.SampledFrom(values).Draw(t, name)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestTheDecodersAcceptExactlyWhatTheContractAllows(t *testing.T) {
	accepted, refused := map[string]int{}, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		for _, name := range slices.Repeat(sortedCommands, 10) {
			src := drawBody(t, name)
			_, err := httpapi.ReadSingle(name, "k", someExecution, "n", []byte(src))
			allowed := theContract().valid("/components/schemas/"+commandNames[name], []byte(src))
			if (err == nil) != (allowed == nil) {
				t.Fatalf("%s %s: the decoder says %v, the contract says %v", name, src, err, allowed)
			}
			if err != nil && fault.KindOf(err) != fault.Invalid {
				t.Fatalf("%s %s: %v", name, src, err)
			}
			if err == nil {
				accepted[name]++
			} else {
				refused[name]++
			}
		}
	})
	for name := range commandNames {
		if accepted[name] < 5 || refused[name] < 5 {
			t.Errorf("%s: %d bodies were accepted and %d refused: the test draws too little", name, accepted[name],
				refused[name])
		}
	}
}

func TestACommandInABatchIsTheRequestOfItsOwnEndpoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, name := range sortedCommands {
			src := drawBody(t, name)
			node, about := "", ""
			switch {
			case name == "CreateExecution":
			case strings.HasSuffix(name, "Execution"):
				about = fmt.Sprintf(`,"executionId":%q`, someExecution)
			default:
				node, about = "n", fmt.Sprintf(`,"executionId":%q,"nodeId":"n"`, someExecution)
			}
			single, err := httpapi.ReadSingle(name, "k", someExecution, node, []byte(src))
			inner := fmt.Sprintf(`{"command":%q,"idempotencyKey":"k"%s,%s`, name, about, src[1:])
			inner = strings.Replace(inner, ",}", "}", 1)
			requests, results, outer := httpapi.ReadBatch([]byte(`{"commands":[ ` + inner + ` ]}`))
			if outer != nil || len(results) != 1 {
				t.Fatalf("%s: %v", inner, outer)
			}
			if (err == nil) != (results[0].Err == nil) {
				t.Fatalf("%s %s: alone %v, in a batch %v", name, src, err, results[0].Err)
			}
			if err != nil {
				continue
			}
			alike := []cmp.Option{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(engine.Request{})}
			if diff := cmp.Diff(single, requests[0], alike...); diff != "" {
				t.Fatalf("%s: alone and in a batch differ:\n%s", src, diff)
			}
		}
	})
}

// FuzzCommands feeds anything to the reader of POST /commands: it must not panic,
// and what it lets through is strict JSON with the rules of the contract.
func FuzzCommands(f *testing.F) {
	f.Add([]byte(`{"commands":[{"command":"SucceedNode","idempotencyKey":"k","executionId":"` + someExecution +
		`","nodeId":"n","output":{"a":[1,2.5e3,"x"]},"next":true}]}`))
	f.Add(
		[]byte(
			`{"commands":[{"command":"FailNode","idempotencyKey":"k","executionId":"x","nodeId":"n",` +
				`"error":{"code":"E","detail":{}}},5,null]}`,
		),
	)
	f.Add([]byte(`{"commands":[{"command":"CreateExecution","idempotencyKey":"k","graphId":"g","input":{"` + "\xff" +
		`":1}}]}`))
	f.Add([]byte(`{"commands":[{"c\u006fmmand":"StartExecution"}]}x`))
	f.Fuzz(func(t *testing.T, src []byte) {
		requests, results, err := httpapi.ReadBatch(src)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Fatalf("refused as a whole with %v", err)
			}
			return
		}
		if len(results) == 0 || len(results) > httpapi.MaxCommands || len(requests) > len(results) {
			t.Fatalf("%d requests, %d results", len(requests), len(results))
		}
		var plain struct {
			Commands []json.RawMessage `json:"commands"`
		}
		if err := json.Unmarshal(bytes.ToValidUTF8(src, []byte("?")), &plain); err != nil ||
			len(plain.Commands) != len(results) {
			t.Fatalf("%d results for what encoding/json reads as %d commands (%v)", len(results), len(plain.Commands),
				err)
		}
		for _, r := range requests {
			if r.Command == nil || r.Idempotency.Key == "" || r.Idempotency.Endpoint == "" {
				t.Fatalf("an incomplete request: %+v", r)
			}
		}
	})
}
