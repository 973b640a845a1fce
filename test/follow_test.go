package test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestServeLetsFollowersIn speaks NATS by hand: who is in the file gets in, who is not
// does not, and nobody reads another tenant's subjects.
func TestServeLetsFollowersIn(t *testing.T) {
	onSQLite(t)
	const tenant = "7b0f4a10-1111-4222-8333-444455556666"
	file := filepath.Join(t.TempDir(), "followers.yaml")
	text := "users: [{user: acme, password: a long s3cret, tenant: " + tenant + "}]"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := serve(t, site{dir: t.TempDir(), env: []string{"RENGA_NATS_LISTEN=127.0.0.1:0", "RENGA_NATS_USERS=" + file}})
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	if !c.log.wait(ctx, "events can be followed over NATS") {
		t.Fatalf("it does not say where:\n%s", c.log)
	}
	addr := regexp.MustCompile(`over NATS" address=(\S+)`).FindStringSubmatch(c.log.String())[1]
	for _, tt := range []struct{ password, say, want string }{
		{"a long s3cret", "SUB renga.event." + tenant + ".> 1", "PONG"},
		{"a long s3cret", "SUB renga.event.> 1", "Permissions Violation"},
		{"a long s3cret", "PUB renga.event." + tenant + ".0.RecordUpdated 0\r\n", "Permissions Violation"},
		{"another secret", "", "Authorization Violation"},
	} {
		if got := speak(t, addr, tt.password, tt.say); !strings.Contains(got, tt.want) {
			t.Errorf("%q with %q: it says %q, want %q", tt.say, tt.password, got, tt.want)
		}
	}
	c.stop()
	if c.log.has("s3cret") {
		t.Errorf("the log has the password:\n%s", c.log)
	}
}

// speak says one thing to a NATS server and gives the next that it answers.
func speak(t *testing.T, addr, password, say string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, maxWait)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(maxWait))
	in := bufio.NewReader(conn)
	if _, err := in.ReadString('\n'); err != nil { // it says who it is
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "CONNECT {\"verbose\":false,\"user\":\"acme\",\"pass\":%q}\r\n%s\r\nPING\r\n", password, say)
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}
