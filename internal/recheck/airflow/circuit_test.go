package airflow

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheCircuitFollowsItsScript plays a script: at a second, a call is asked for (ask NAME),
// or one that was let through ends (ok, bad or gone NAME); behind it stands whether it was
// let through and the state that follows.
func TestTheCircuitFollowsItsScript(t *testing.T) {
	scripts := map[string]string{
		"it opens after failures in a row": `
			0 ask a → yes closed
			0 bad a → closed
			1 ask b → yes closed
			1 bad b → closed
			2 ask c → yes closed
			2 bad c → open
			3 ask d → no open`,
		"a success between failures starts the count again": `
			0 ask a → yes closed
			0 bad a → closed
			0 ask b → yes closed
			0 bad b → closed
			0 ask c → yes closed
			0 ok c → closed
			0 ask d → yes closed
			0 bad d → closed
			0 ask e → yes closed
			0 bad e → closed`,
		"one probe is made when the pause is over, and closes it": `
			0 ask a → yes closed
			0 ask b → yes closed
			0 ask c → yes closed
			0 bad a → closed
			0 bad b → closed
			0 bad c → open
			9 ask d → no open
			10.1 ask e → yes half-open
			10.1 ask f → no half-open
			11 ok e → closed
			11 ask g → yes closed`,
		"a probe that fails opens it for another pause": `
			0 ask a → yes closed
			0 bad a → closed
			0 ask b → yes closed
			0 bad b → closed
			0 ask c → yes closed
			0 bad c → open
			10.1 ask d → yes half-open
			20 bad d → open
			29 ask e → no open
			30.1 ask f → yes half-open
			30.1 ok f → closed`,
		"what was under way when it opened means nothing any more": `
			0 ask a → yes closed
			0 ask b → yes closed
			0 ask c → yes closed
			0 ask d → yes closed
			0 ask e → yes closed
			1 bad a → closed
			1 bad b → closed
			1 bad c → open
			2 ok d → open
			9 bad e → open
			11.1 ask f → yes half-open`,
		"a probe whose caller goes away leaves room for another": `
			0 ask a → yes closed
			0 bad a → closed
			0 ask b → yes closed
			0 bad b → closed
			0 ask c → yes closed
			0 bad c → open
			10.1 ask d → yes half-open
			11 gone d → half-open
			11 ask e → yes half-open`,
		"a caller that goes away counts for nothing while it is closed": `
			0 ask a → yes closed
			0 gone a → closed
			0 ask b → yes closed
			0 bad b → closed
			0 ask c → yes closed
			0 bad c → closed`,
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { follow(t, script) }) })
	}
}

// follow plays a script on a circuit that opens after three failures, for ten seconds.
func follow(t *testing.T, script string) {
	c, began := newCircuit(3, 10*time.Second, func(State) {}), time.Now()
	ends := map[string]func(error){}
	outcomes := map[string]error{"ok": nil, "bad": errDead, "gone": errAbandoned}
	for line := range strings.Lines(strings.TrimSpace(script)) {
		line = strings.TrimSpace(line)
		step, want, _ := strings.Cut(line, " → ")
		var second float64
		var verb, call, got string
		if _, err := fmt.Sscan(step, &second, &verb, &call); err != nil {
			t.Fatal(line, err)
		}
		time.Sleep(time.Until(began.Add(time.Duration(second * float64(time.Second)))))
		if verb == "ask" {
			end, err := c.ask()
			ends[call], got = end, map[bool]string{true: "yes ", false: "no "}[err == nil]
		} else {
			ends[call](outcomes[verb])
		}
		if got += c.state().String(); got != want {
			t.Fatalf("%s: got %s", line, got)
		}
	}
}
