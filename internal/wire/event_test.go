package wire

import (
	"os"
	"path/filepath"
	"testing"
)

// golden is a published event of a type. These files are what others have stored and
// subscribed to: a new one may be added, none is ever edited.
func golden(t testing.TB, typ string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "events", typ+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text[:len(text)-1]
}

func TestGoldenEventsComeBackAsTheyWere(t *testing.T) {
	for _, typ := range EventTypes() {
		text := golden(t, typ)
		e, err := ParseEvent(text)
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		if err := e.CheckPublished(); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
		if err := e.CheckReceived(); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
		if got := string(e.AppendJSON(nil)); got != string(text) {
			t.Errorf("got\n%s\nwant\n%s", got, text)
		}
	}
}
