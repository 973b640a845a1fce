package test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/program"
)

// signalTimeout is how long a process may take to act on a signal.
const signalTimeout = 2 * time.Minute

func TestVersionIsThatOfTheContract(t *testing.T) {
	var doc struct {
		Info struct {
			Version string `yaml:"version"`
		} `yaml:"info"`
	}
	if err := yaml.Unmarshal(api.OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := program.Run(t.Context(), []string{"version"}, &out, &errs); code != 0 ||
		!strings.HasPrefix(out.String(),
			"renga "+app.Version) {
		t.Errorf("code %d: %s%s", code, &out, &errs)
	}
	out.Reset()
	if code := program.Run(t.Context(), []string{"version", "-o", "json"}, &out, &errs); code != 0 ||
		!strings.Contains(out.String(), `"version": "`+app.Version+`"`) {
		t.Errorf("as JSON: code %d: %s%s", code, &out, &errs)
	}
	if doc.Info.Version != app.Version {
		t.Errorf("the contract is %s, the program %s", doc.Info.Version, app.Version)
	}
}

func TestServeRefusesWhatItCannotDo(t *testing.T) {
	followers := filepath.Join(t.TempDir(), "followers.yaml")
	if err := os.WriteFile(followers, []byte("users: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open.yaml")
	if err := os.WriteFile(open, []byte("users: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	for _, c := range []struct {
		code  int
		args  []string
		words string
	}{
		{
			2,
			[]string{"--nats-listen", "127.0.0.1:0", "--nats-users", open},
			"every user of this machine can read the passwords in " + open + ": chmod o= " + open,
		},
		{2, []string{"--database-url", "mysql://localhost/renga"}, "--database-url must be postgres://"},
		{1, []string{"--database-url", "postgres://ann:hush@127.0.0.1:1/renga"}, "the database cannot be reached"},
		{2, []string{"--shards", "17"}, "--shards must be 1 to 16"},
		{2, []string{"--nats-url", "http://localhost:4222"}, "must be nats://HOST:PORT or tls://HOST:PORT"},
		{2, []string{"--nats-listen", "127.0.0.1:0"}, "--nats-listen needs --nats-users"},
		{2, []string{"--nats-users", "f"}, "no effect without --nats-listen"},
		{2, []string{"--nats-listen", "127.0.0.1:0", "--nats-users", "/nowhere/users.yaml"}, "users.yaml"},
		{2, []string{"--nats-listen", "127.0.0.1:0", "--nats-users", followers}, "must have 1 to 1000 users"},
		{2, []string{"--nats-listen", "127.0.0.1:0", "--nats-users", followers, "--nats-tls-cert", "c"}, "go together"},
		{
			2,
			[]string{"--nats-listen", "127.0.0.1:0", "--nats-users", followers, "--nats-url", "nats://localhost"},
			"for the NATS server inside",
		},
		{2, []string{"--tls-cert", "cert.pem"}, "--tls-cert and --tls-key go together"},
		{2, []string{"--tls-cert", "/nowhere/cert.pem", "--tls-key", open}, "--tls-cert and --tls-key cannot be used"},
		{2, []string{"--addr", "0.0.0.0:0"}, "not a loopback address"},
		{2, []string{"--addr", ":0"}, "not a loopback address"},
		{2, []string{"--addr", "[::]:0"}, "not a loopback address"},
		{2, []string{"--addr", "nonsense"}, "not an address"},
		{2, []string{"--auth", "jwt"}, "--jwt-keys"},
		{1, []string{"--auth", "jwt", "--jwt-keys", "/nowhere/keys.pem"}, "keys.pem"},
		{1, []string{"--auth", "jwt", "--jwt-keys", "http://keys.example.com/jwks"}, "over https"},
		{2, []string{"--jwt-keys", "keys.pem"}, "--auth jwt"},
		{2, []string{"--auth", "basic"}, "must be one of"},
		{2, []string{"--rate", "executions.read=many"}, "--rate: \"executions.read=many\""},
		{2, []string{"--rate", "executions.raed=1/s"}, "there is no rate class \"executions.raed\""},
		{2, []string{"--key-retention", "1s"}, "--key-retention"},
		{2, []string{"--log-level", "loud"}, "must be one of"},
		{2, []string{"--unknown"}, "unknown flag"},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		var out, errs bytes.Buffer
		code := program.Run(t.Context(), append([]string{"serve", "--data-dir", dir}, c.args...), &out, &errs)
		if code != c.code || !strings.Contains(errs.String(), c.words) {
			t.Errorf("%q ended with %d and said %s%s; want %q", c.args, code, &out, &errs, c.words)
		}
		if strings.Contains(errs.String(), "hush") {
			t.Errorf("%q shows the password: %s", c.args, &errs)
		}
	}
}

func TestEveryFlagOfServeHasAnEnvironmentVariable(t *testing.T) {
	for name, value := range map[string]string{
		"RENGA_ADDR": "0.0.0.0:0", "RENGA_DATABASE_URL": "postgres://x", "RENGA_NATS_URL": "http://x",
		"RENGA_AUTH":     "jwt",
		"RENGA_JWT_KEYS": "keys.pem", "RENGA_RATES": "x=y", "RENGA_KEY_RETENTION": "1s", "RENGA_LOG_FORMAT": "xml",
		"RENGA_LOG_LEVEL": "loud",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if code := program.Run(t.Context(), []string{"serve", "--data-dir", t.TempDir()}, io.Discard,
				io.Discard); code == 0 {
				t.Errorf("%s=%s had no effect", name, value)
			}
		})
	}
	dir := filepath.Join(t.TempDir(), "from-the-environment")
	c := renga("serve", "--addr", "127.0.0.1:0")
	c.Env = append(c.Env, "RENGA_DATA_DIR="+dir, "RENGA_LOG_FORMAT=json")
	pipe, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "{") || !strings.Contains(line, dir) {
		t.Errorf("the first line is %q (%v)", line, err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, app.DatabaseFile)); err != nil {
		t.Error(err)
	}
}

func TestASecondSignalEndsTheProcessAtOnce(t *testing.T) {
	c := serve(t, newSite(t))
	halfRequest(t, c, "/executions", `{"graphId":"one"}`)
	c.signal(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(t.Context(), signalTimeout)
	defer cancel()
	if !c.log.wait(ctx, "msg=draining") {
		t.Fatalf("the server does not drain:\n%s", c.log)
	}
	began := time.Now()
	c.signal(syscall.SIGTERM)
	if code := c.code(signalTimeout); code != -1 {
		t.Errorf("the process ended with %d, not by the signal:\n%s", code, c.log)
	}
	if took := time.Since(began); took > app.DrainTimeout/2 {
		t.Errorf("it took %v", took)
	}
}

// halfRequest sends a request but for its last byte, so that the server waits for it.
func halfRequest(t *testing.T, c *child, path, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	// The server asks for the body once a handler reads it.
	if _, err := fmt.Fprintf(conn,
		"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Idempotency-Key: half\r\n"+
			"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", path, len(body)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the server says %q (%v)", line, err)
	}
	if _, err := io.WriteString(conn, body[:len(body)-1]); err != nil {
		t.Fatal(err)
	}
}

func TestServeRefusesAConsumerThatIsNotThere(t *testing.T) {
	onSQLite(t)
	var out, errs bytes.Buffer
	code := program.Run(
		t.Context(),
		[]string{"serve", "--data-dir", t.TempDir(), "--consumer", "serach:tries=3"},
		&out,
		&errs,
	)
	if code != 2 || !strings.Contains(errs.String(),
		"there are webhooks, core, sharing, automation, search, reporting, approval") {
		t.Errorf("got %d: %s", code, &errs)
	}
}

func TestConsumersAreAsTheirFlagsSay(t *testing.T) {
	at := newSite(t)
	at.env = []string{"RENGA_CONSUMERS=search:continue=true,search:tries=3,core:redrive=10m"}
	s := serve(t, at)
	eventually(t, "a consumer that continues", maxWait, func() bool {
		_, _, answer := ask(t, s.url, "GET", "/events/consumers", "")
		return strings.Count(answer, `"continue":true`) == 1
	})
}
