package bus_test

import (
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
)

func TestConsumersAreConfigured(t *testing.T) {
	all := []bus.Consumer{{Name: "core"}, {Name: "search", AutoRedrive: time.Hour}}
	got, err := bus.Configure(all, []string{
		"core:tries=3", " core:redrive=10m", "core:continue=true", "core:tries=4",
		"search:redrive=never",
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := got[0]; c.MaxTries != 4 || c.AutoRedrive != 10*time.Minute || !c.Continue {
		t.Errorf("core: got %+v", c)
	}
	if c := got[1]; c.MaxTries != 0 || c.AutoRedrive != 0 || c.Continue {
		t.Errorf("search: got %+v", c)
	}
	if all[0].MaxTries != 0 || all[1].AutoRedrive != time.Hour {
		t.Errorf("what was given has changed: %+v", all)
	}
	for choice, want := range map[string]string{
		"serach:tries=3": "there are core, search", "": "there are core, search", "core": "the options are",
		"core:retries=3": "the options are",
		"core:tries=0":   "1 to 1000", "core:tries=1001": "1 to 1000", "core:tries=": "1 to 1000",
		"core:redrive=1ms": "1s to 720h",
		"core:redrive=10":  "1s to 720h", "core:redrive=721h": "1s to 720h", "core:continue": "true or false",
	} {
		if _, err := bus.Configure(all, []string{choice}); fault.KindOf(err) != fault.Invalid ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", choice, err, want)
		}
	}
}
