package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/gate"
)

// recheckRoute is what the document says of a route of the re-check surface.
type recheckRoute struct {
	scope, rate string
	audiences   []string
	once        gate.Once
	public      bool
}

// The audiences of writes, of reads under /pdca, and of the pages of /gui.
var (
	writes = []string{"pdca"}
	reads  = []string{"pdca", "pdca.gui"}
	gui    = []string{"pdca.gui"}
)

// recheckSurface is the whole surface.
var recheckSurface = map[string]recheckRoute{
	"POST /pdca/recheck":                             {"pdca:recheck", "pdca.recheck", writes, gate.Required, false},
	"POST /pdca/recheck_all":                         {"pdca:recheck_all", "pdca.bulk", writes, gate.Required, false},
	"GET /pdca/recheck/{request_id}":                 {"pdca:read", "pdca.read", reads, gate.None, false},
	"POST /pdca/recheck/{request_id}/cancel":         {"pdca:recheck", "pdca.recheck", writes, gate.Required, false},
	"PUT /pdca/strategies/{id}":                      {"pdca:admin", "pdca.recheck", writes, gate.None, false},
	"GET /gui/strategies":                            {"pdca:read", "pdca.read", gui, gate.None, false},
	"GET /pdca/artifacts/{artifact_id}/download_url": {"pdca:download", "pdca.read", reads, gate.None, false},
	"GET /pdca/artifacts/{artifact_id}/content":      {"", "pdca.read", writes, gate.None, true}, // its URL is signed
}

// TestPDC2To9EveryRouteOfTheSurfaceIsAsTheDocumentSays holds the route table against the
// document: surface, scope, audience, rate class, key, size of bodies, time.
func TestPDC2To9EveryRouteOfTheSurfaceIsAsTheDocumentSays(t *testing.T) {
	found := 0
	for _, route := range app.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		if ours := strings.HasPrefix(path, "/pdca/") || strings.HasPrefix(path, "/gui/"); !ours {
			if route.Surface == gate.Recheck {
				t.Errorf("%s is on the re-check surface", route.Pattern)
			}
			continue
		}
		found++
		want, known := recheckSurface[route.Pattern]
		if !known {
			t.Errorf("the document has no %s", route.Pattern)
			continue
		}
		audiences := route.Audiences
		if audiences == nil {
			audiences = gate.Recheck.Audiences
		}
		got := recheckRoute{route.Scope, route.Rate, audiences, route.Once, route.Public}
		if route.Surface != gate.Recheck || got.scope != want.scope || got.rate != want.rate ||
			!slices.Equal(got.audiences, want.audiences) ||
			got.once != want.once || got.public != want.public || route.Pass != nil {
			t.Errorf("%s: got %+v, want %+v", route.Pattern, got, want)
		}
		if (method == "POST" || method == "PUT") && route.MaxBody != 64<<10 {
			t.Errorf("%s takes bodies of %d bytes", route.Pattern, route.MaxBody)
		}
		if route.Timeout != 0 || route.Stream || gate.DefaultTimeout.Seconds() != 10 {
			t.Errorf("%s has another time than 10 s", route.Pattern)
		}
		if route.Media != nil {
			t.Errorf("%s takes %v", route.Pattern, route.Media)
		}
	}
	if found != len(recheckSurface) {
		t.Errorf("found %d routes, want %d", found, len(recheckSurface))
	}
}

// TestPDC3TheContractSaysWhatTheSurfaceAsksFor holds the contract against the same table.
func TestPDC3TheContractSaysWhatTheSurfaceAsksFor(t *testing.T) {
	c := theContract()
	for _, operation := range c.operations() {
		want, ours := recheckSurface[operation]
		if !ours {
			continue
		}
		method, path, _ := strings.Cut(operation, " ")
		pointer := "/paths/" + escape(path) + "/" + strings.ToLower(method)
		found, _ := c.at(pointer)
		said := found.(map[string]any)
		key := false
		parameters, _ := said["parameters"].([]any)
		shared, _ := c.at("/paths/" + escape(path) + "/parameters")
		more, _ := shared.([]any)
		for _, one := range slices.Concat(parameters, more) {
			if ref, _ := one.(map[string]any)["$ref"].(string); ref == "#/components/parameters/RecheckKey" {
				key = true
			}
		}
		if key != (want.once == gate.Required) {
			t.Errorf("%s: the key is in the contract: %t", operation, key)
		}
		if text, _ := said["description"].(string); want.scope != "" && !strings.Contains(text, "`"+want.scope+"`") {
			t.Errorf("%s: its description does not name the scope %s", operation, want.scope)
		}
		responses := said["responses"].(map[string]any)
		statuses := []string{"400", "429", "500", "503"}
		if !want.public {
			statuses = append(statuses, "401", "403")
		}
		if want.once == gate.Required {
			statuses = append(statuses, "409", "413", "415")
		}
		for _, status := range statuses {
			if responses[status] == nil {
				t.Errorf("%s: the contract has no %s", operation, status)
			}
		}
	}
	found, _ := c.at("/components/parameters/RecheckKey")
	if key := found.(map[string]any); key["name"] != "Idempotency-Key" || key["in"] != "header" ||
		key["required"] != true {
		t.Errorf("the key is %v", key)
	}
}
