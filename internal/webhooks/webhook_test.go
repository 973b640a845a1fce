package webhooks

import (
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/fault"
)

func TestADefinitionNamesWhatIsWrong(t *testing.T) {
	var none Allowed
	for body, field := range map[string]string{
		`{}`: "url", `{"url":"https://e.com"}`: "events", `{"url":"https://e.com","events":[]}`: "events",
		`{"url":"https://e.com","events":["Nothing"]}`:                                         "events",
		`{"url":"https://e.com","events":["*","OwnerChanged"]}`:                                "events",
		`{"url":"https://e.com","events":["OwnerChanged","OwnerChanged"]}`:                     "events",
		`{"url":"https://e.com","events":["*"],"filter":"event."}`:                             "filter",
		`{"url":"https://e.com","events":["*"],"filter":"body.x == 1"}`:                        "filter",
		`{"url":"https://e.com","events":["*"],"headers":{"Host":"a"}}`:                        "headers",
		`{"url":"https://e.com","events":["*"],"headers":{"webhook-id":"a"}}`:                  "headers",
		`{"url":"https://e.com","events":["*"],"headers":{"X":"a\r\nHost: b"}}`:                "headers",
		`{"url":"https://e.com","events":["*"],"headers":{"X Y":"a"}}`:                         "headers",
		`{"url":"https://e.com","events":["*"],"headers":{"X-A":"a","x-a":"b"}}`:               "headers",
		`{"url":"https://e.com","events":["*"],"headers":[]}`:                                  "headers",
		`{"url":"https://e.com","events":["*"],"description":"a\nb"}`:                          "description",
		`{"url":"https://e.com","events":["*"],"secret":"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`: "secret",
		`{"url":"https://e.com","events":["*"],"delivery":"fast"}`:                             "delivery",
		`{"url":"http://e.com","events":["*"]}`:                                                "url",
	} {
		_, _, err := none.ParseDefinition([]byte(body))
		failure, ok := fault.As(err)
		if !ok || failure.Kind != fault.Invalid || !strings.Contains(fmt.Sprint(failure.Details), field) {
			t.Errorf("%s: got %v %v, want something about %s", body, err, failure, field)
		}
	}
}
