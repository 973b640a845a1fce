package jet

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// TestRefusedLoginsAreLoggedNowAndThen guesses passwords as fast as it can.
func TestRefusedLoginsAreLoggedNowAndThen(t *testing.T) {
	log := newNotes()
	followers, err := ReadFollowers([]byte("users:\n  - {user: eve, password: " + secret + ", tenant: " + tenantA +
		"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, Config{Dir: t.TempDir(), Log: log.logger(), Listen: &Listen{
		Addr:      "127.0.0.1:0",
		Followers: followers,
	}})
	for i := range 4 * loginLines {
		if conn, err := nats.Connect(s.Addr().String(), nats.UserInfo("eve", fmt.Sprint("guess ", i))); err == nil {
			conn.Close()
			t.Fatal("a guess was right")
		}
	}
	if n := strings.Count(log.String(), "NATS login refused"); n != loginLines {
		t.Errorf("%d lines in the log, want %d:\n%s", n, loginLines, log.String())
	}
	if strings.Contains(log.String(), "guess 1") || strings.Contains(log.String(), "NATS server failed") {
		t.Errorf("the log has\n%s", log.String())
	}
	as(t, s, "eve")
}

// TestWhatIsNotLoggedIsCounted lets time pass.
func TestWhatIsNotLoggedIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newNotes()
		b := &bridge{log: log.logger()}
		for range loginLines + 7 {
			b.Errorf("1.2.3.4:5 - cid:6 - %v - User %q", server.ErrAuthentication, "eve")
		}
		for range otherLines + 3 {
			b.Warnf("something else")
		}
		if n, other := strings.Count(log.String(), "login refused"), strings.Count(log.String(),
			"something else"); n != loginLines || other != otherLines {
			t.Errorf("%d lines of logins and %d others:\n%s", n, other, log.String())
		}
		time.Sleep(time.Minute)
		b.Errorf("1.2.3.4:5 - cid:7 - %v", server.ErrAuthentication)
		b.Errorf("it failed")
		if text := log.String(); !strings.Contains(text, "unlogged=7") || !strings.Contains(text, "unlogged=3") ||
			strings.Count(text, "unlogged=0") != 0 {
			t.Errorf("what was not logged is not told:\n%s", text)
		}
	})
}
