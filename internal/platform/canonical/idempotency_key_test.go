package canonical

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
)

func parse(t *testing.T, body string, opts Options) IdempotencyKey {
	t.Helper()
	key, err := opts.ParseIdempotencyKey("key", "POST /x", []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return key
}

func TestOnceOfEqualBodiesIsEqual(t *testing.T) {
	for _, same := range [][2]string{
		{"", "{}"},
		{`{"a":1,"b":"é"}`, "{ \"b\":\"e\u0301\", \"a\":1.0 }"},
		{`{"n":14}`, `{"n":1.4e1}`},
		{`{"n":-0}`, `{"n":0}`},
	} {
		a, b := parse(t, same[0], Options{}), parse(t, same[1], Options{})
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s and %s differ: %s", same[0], same[1], diff)
		}
	}
}

func TestOnceOfOtherBodiesSaysWhatDiffers(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want []string
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, nil},
		{`{"a":1,"b":2}`, `{"a":1,"b":3}`, []string{"b"}},
		{`{"a":1}`, `{"a":"1"}`, []string{"a"}},
		{`{"n":9007199254740993}`, `{"n":9007199254740992}`, []string{"n"}},
		{`{"a":[1,2],"c":{"x":1}}`, `{"a":[2,1],"c":{"x":2}}`, []string{"a", "c"}},
		{``, `{"b":null,"a":1}`, []string{"a", "b"}},
		{`{"a":1,"c":1,"e":1}`, `{"b":1,"c":1,"d":1}`, []string{"a", "b", "d", "e"}},
		{`{"a\nb":1}`, `{"a\nb":2}`, []string{"a\nb"}},
		{`[1]`, `[2]`, nil},
	} {
		a, b := parse(t, tc.a, Options{}), parse(t, tc.b, Options{})
		if got := Differing(a.Members, b.Members); !cmp.Equal(got, tc.want) {
			t.Errorf("%s and %s: got %q, want %q", tc.a, tc.b, got, tc.want)
		}
		if tc.a != tc.b && tc.want != nil && a.Hash == b.Hash {
			t.Errorf("%s and %s have one hash", tc.a, tc.b)
		}
	}
}

func TestOnceLeavesMembersOut(t *testing.T) {
	single := parse(t, `{"attempt":1,"workerId":"w"}`, Options{})
	batch := parse(
		t,
		`{"command":"StartNode","idempotencyKey":"k","executionId":"e","nodeId":"n","workerId":"w","attempt":1}`,
		Options{Omit: []string{"command", "idempotencyKey", "executionId", "nodeId"}},
	)
	if diff := cmp.Diff(single, batch); diff != "" {
		t.Errorf("a command in a batch has another identity than alone: %s", diff)
	}
}

func TestOnceRemembersABoundedNumberOfMembers(t *testing.T) {
	var body strings.Builder
	for i := range 3 * MaxMembers {
		body.WriteString(`,"m` + strings.Repeat("x", i) + `":1`)
	}
	if got := len(parse(t, "{"+body.String()[1:]+"}", Options{}).Members); got != MaxMembers {
		t.Errorf("got %d members, want %d", got, MaxMembers)
	}
}

func TestOnceOfABadBodyIsInvalid(t *testing.T) {
	if _, err := ParseIdempotencyKey("k", "e", []byte(`{"a":1,"a":1}`)); fault.KindOf(err) != fault.Invalid {
		t.Errorf("got %v", err)
	}
}

func TestOnceDoesNotKeepTheBody(t *testing.T) {
	body := []byte(`{"name":"value"}`)
	key, err := ParseIdempotencyKey("k", "e", body)
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	if _, err := ParseIdempotencyKey("k", "e", []byte(`{"other":"thing"}`)); err != nil {
		t.Fatal(err)
	}
	if got := key.Members[0].Name; got != "name" {
		t.Errorf("the name became %q", got)
	}
}
