package api_test

import (
	"slices"
	"strings"
	"testing"
)

// small is a contract to plant changes into.
const small = `
info: { version: 1.0.0 }
paths:
  /things/{id}:
    parameters:
      - { name: id, in: path, required: true, schema: { type: string } }
    put:
      operationId: putThing
      parameters:
        - { name: dry, in: query, schema: { type: string, enum: [yes, no] } }
      requestBody:
        content:
          application/json: { schema: { $ref: "#/components/schemas/Thing" } }
      responses:
        "200":
          headers: { ETag: { required: true, schema: { type: string } } }
          content:
            application/json: { schema: { $ref: "#/components/schemas/Thing" } }
        "404": { description: not there }
        "422": { content: { application/json: { schema: { $ref: "#/components/schemas/Problem" } } } }
components:
  schemas:
    Thing:
      type: object
      required: [name]
      properties:
        name: { type: string }
        size: { type: integer }
        at: { type: string, format: date-time }
        parts: { type: array, items: { $ref: "#/components/schemas/Thing" } }
        tags: { type: array, items: { type: string } }
        kind: { oneOf: [{ type: string }, { type: integer }] }
    Problem: { type: object }
`

// TestBreaksAreFound plants one change at a time.
func TestBreaksAreFound(t *testing.T) {
	for _, tc := range []struct {
		name, from, to string
		want           []string // words of every problem; none: the change is allowed
	}{
		{"nothing", "", "", nil},
		{"a new member", "        size:", "        more: { type: string }\n        size:", nil},
		{
			"a new optional parameter", "        - { name: dry,",
			"        - { name: x, in: query }\n        - { name: dry,", nil,
		},
		{"a new answer", `        "404":`, "        \"409\": { description: no }\n        \"404\":", nil},
		{
			"another error under a status", `{ $ref: "#/components/schemas/Problem" }`,
			`{ oneOf: [{ type: string }, { $ref: "#/components/schemas/Problem" }] }`, nil,
		},
		{
			"other errors under a status", `{ $ref: "#/components/schemas/Problem" }`,
			`{ oneOf: [{ type: string }, { type: object }] }`,
			[]string{"Problem (answer): the type was [object] and is []"},
		},
		{"a new path", "components:\n", "  /more:\n    get: {}\ncomponents:\n", nil},
		{"a new value of a parameter", "[yes, no]", "[yes, no, maybe]", nil},
		{"a path that is gone", "  /things/{id}:", "  /thing/{id}:", []string{"PUT /things/{id} is gone"}},
		{"a method that is gone", "    put:", "    post:", []string{"PUT /things/{id} is gone"}},
		{"another operation id", "putThing", "storeThing", []string{"operationId was putThing and is storeThing"}},
		{"a parameter that is gone", "name: dry,", "name: wet,", []string{"the parameter query dry is gone"}},
		{
			"a parameter that is required now", "name: dry, in: query,", "name: dry, in: query, required: true,",
			[]string{"the parameter query dry is required now"},
		},
		{
			"a new required parameter", "        - { name: dry,",
			"        - { name: x, in: query, required: true }\n        - { name: dry,",
			[]string{"the new parameter query x is required"},
		},
		{"a value of a parameter that is gone", "[yes, no]", "[yes]", []string{"the value no is gone"}},
		{
			"a body that is required now", "      requestBody:\n", "      requestBody:\n        required: true\n",
			[]string{"the body is required now"},
		},
		{
			"a media type that is gone", "          application/json: { schema", "          application/yaml: { schema",
			[]string{"application/json is gone"},
		},
		{"an answer that is gone", `        "404":`, `        "410":`, []string{"the answer 404 is gone"}},
		{"a header that is gone", "headers: { ETag:", "headers: { Etag2:", []string{"the header ETag is gone"}},
		{
			"a header that may be absent", "ETag: { required: true,", "ETag: {",
			[]string{"the header ETag may be absent now"},
		},
		{"a member that is gone", "size: { type", "length: { type", []string{
			"(answer): the member size is gone",
			"(request): the member size is gone",
		}},
		{
			"another type", "size: { type: integer }", "size: { type: string }",
			[]string{
				"(answer).size: the type was [integer] and is [string]",
				"(request).size: the type was [integer] and is [string]",
			},
		},
		{
			"a wider type", "size: { type: integer }", "size: { type: number }",
			[]string{"(answer).size: the type was [integer] and is [number]"},
		},
		{
			"a member that may be null", "size: { type: integer }", "size: { type: [integer, \"null\"] }",
			[]string{"(answer).size: the type was [integer] and is [integer null]"},
		},
		{"no type", "size: { type: integer }", "size: {}", []string{
			"(answer).size: the type",
			"(request).size: the type",
		}},
		{"another format", "format: date-time", "format: date", []string{
			"(answer).at: format",
			"(request).at: format",
		}},
		{
			"a member that is required now", "required: [name]", "required: [name, size]",
			[]string{"(request): the member size is required now"},
		},
		{
			"a member that may be absent", "required: [name]", "required: []",
			[]string{"(answer): the member name may be absent now"},
		},
		{
			"an alternative that is gone", "[{ type: string }, { type: integer }]", "[{ type: string }]",
			[]string{"(answer).kind: oneOf has fewer", "(request).kind: oneOf has fewer"},
		},
		{
			"items of another type", "items: { type: string }", "items: { type: integer }",
			[]string{"(answer).tags.items: the type was", "(request).tags.items: the type was"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !strings.Contains(small, tc.from) {
				t.Fatalf("there is no %q to change", tc.from)
			}
			problems := broken(parse(t, []byte(small)), parse(t, []byte(strings.Replace(small, tc.from, tc.to, 1))))
			if len(problems) != len(tc.want) {
				t.Fatalf("got %q, want %q", problems, tc.want)
			}
			for _, words := range tc.want {
				if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, words) }) {
					t.Errorf("got %q, want %q", problems, words)
				}
			}
		})
	}
}
