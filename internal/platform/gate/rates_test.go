package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRatesAreReadOverTheDefaults(t *testing.T) {
	got, err := ParseRates([]string{
		"pdca.bulk=20/min", " executions.write=50/s", "events.read=1000/h",
		"pdca.read=unlimited",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Rate{
		"pdca.bulk": {20, time.Minute}, "pdca.recheck": {120, time.Minute}, "pdca.read": {},
		"executions.write": {50, time.Second}, "events.read": {1000, time.Hour}, "session.open": {120, time.Minute},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if DefaultRates["pdca.bulk"].Limit != 10 {
		t.Error("the defaults were changed")
	}
	for _, text := range []string{
		"", "x", "=1/s", "x=", "x=1", "x=1/", "x=1/day", "x=0/s", "x=-1/s", "x=1.5/s", "x=/s",
		"x=1000001/s", "x=none", "x=1/s/s",
	} {
		if rates, err := ParseRates([]string{text}); err == nil {
			t.Errorf("%q was read as %v", text, rates)
		}
	}
}

func TestAClassWithoutALimitIsUnlimited(t *testing.T) {
	d := openDoor(t, Config{Rates: map[string]Rate{"pdca.read": {}}}, Route{
		Pattern: "GET /a", Rate: "pdca.read",
		Do: ok,
	})
	for range 1000 {
		if w := d.ask("GET", "/a", ""); w.Code != 200 || w.Header().Get("X-RateLimit-Limit") != "" {
			t.Fatalf("got %d %v", w.Code, w.Header())
		}
	}
}

func TestAnUnknownClassIsNamedWithThoseThatThereAre(t *testing.T) {
	auth, err := OpenAuth(AuthConfig{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(Config{Auth: auth, Rates: map[string]Rate{"raeds": {Limit: 1, Per: time.Second}}},
		[]Route{{Pattern: "GET /a", Rate: "reads", Do: ok}})
	const known = "pdca.bulk, pdca.read, pdca.recheck, reads, session.open"
	if err == nil || !strings.Contains(err.Error(), `"raeds"; there are `+known) {
		t.Errorf("got %v", err)
	}
}
