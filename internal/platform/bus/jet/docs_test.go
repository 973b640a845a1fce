package jet

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/docs"
)

// page is the document about events.
func page(t *testing.T) string {
	t.Helper()
	text, err := docs.Pages.ReadFile("events.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block is the first block of a language in a page that has some words.
func block(t *testing.T, page, language, words string) string {
	t.Helper()
	for rest := page; ; {
		_, after, ok := strings.Cut(rest, "```"+language+"\n")
		if !ok {
			t.Fatalf("the page has no %s with %q", language, words)
		}
		text, more, _ := strings.Cut(after, "```")
		if strings.Contains(text, words) {
			return text
		}
		rest = more
	}
}

// documented is a server inside with the followers of the page, whose password is known.
func documented(t *testing.T) *Server {
	t.Helper()
	followers, err := ReadFollowers([]byte(block(t, page(t), "yaml", "users:")))
	if err != nil {
		t.Fatal(err)
	}
	followers[0].Password = secret
	s := open(t, Config{Dir: t.TempDir(), Listen: &Listen{Addr: "127.0.0.1:0", Followers: followers}})
	ensure(t, s.Carrier())
	publish(t, s.Carrier(), 0, 3)
	return s
}

func TestTheGoExampleOfTheDocumentFollowsEvents(t *testing.T) {
	s := documented(t)
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(block(t, page(t), "go", "package main")), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "follow")
	if said, err := exec.Command("go", "build", "-o", bin, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), "NATS_URL="+s.Addr().String(), "NATS_USER=acme-crm", "NATS_PASSWORD="+secret,
		"RENGA_TENANT="+tenantA)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	for i := range 4 {
		if i == 3 {
			publish(t, s.Carrier(), 3, 1) // while it waits
		}
		m := numbered(i, 0)
		want := m.ID + " " + m.Type + " " + m.Key
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("it says %q (%v), want %q", lines.Text(), lines.Err(), want)
		}
	}
}

func TestTheRequestOfTheDocumentMakesAConsumer(t *testing.T) {
	s := documented(t)
	conn, log := as(t, s, "acme-crm")
	quoted := regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(block(t, page(t), "sh", "CONSUMER.CREATE"), -1)
	subject, body := quoted[1][1], quoted[2][1] // the first is the password
	m, err := conn.Request(subject, []byte(body), maxWait)
	if err != nil || strings.Contains(string(m.Data), `"error"`) {
		t.Fatalf("got %s, %v; %s", m.Data, err, log)
	}
	fetch(t, conn, 3)
}

// fetch reads messages with the consumer of the page, which exists.
func fetch(t *testing.T, conn *nats.Conn, n int) {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.Consumer(t.Context(), "RENGA_EVENTS", "acme-crm")
	if err != nil {
		t.Fatal(err)
	}
	batch, err := consumer.Fetch(n, jetstream.FetchMaxWait(maxWait))
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for m := range batch.Messages() {
		got++
		if err := m.DoubleAck(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got != n {
		t.Errorf("got %d messages, want %d: %v", got, n, batch.Error())
	}
}

func TestTheConfigurationOfTheDocumentServes(t *testing.T) {
	text := strings.ReplaceAll(block(t, page(t), "conf", "accounts {"), "…", `"a long password"`)
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts.JetStream = true
	outer := outside(t, *opts)
	s := open(t, Config{URL: at(outer, "renga:a%20long%20password@")})
	ensure(t, s.Carrier())
	publish(t, s.Carrier(), 0, 3)
	if _, err := s.stream.CreateConsumer(t.Context(), "RENGA_EVENTS", jetstream.ConsumerConfig{
		Durable: "acme-crm", FilterSubject: "renga.event." + tenantA + ".>", AckPolicy: jetstream.AckExplicitPolicy,
	}); err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(at(outer, "acme-crm:a%20long%20password@"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fetch(t, conn, 3)
	for _, reply := range []string{"$JS.API.STREAM.DELETE.RENGA_EVENTS", "renga.event." + tenantB +
		".1.RecordUpdated"} {
		for _, subject := range []string{
			"$JS.API.CONSUMER.MSG.NEXT.RENGA_EVENTS.acme-crm",
			"$JS.API.CONSUMER.INFO.RENGA_EVENTS.acme-crm",
		} {
			if err := conn.PublishRequest(subject, reply, []byte(`{"batch":1,"no_wait":true}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := conn.Request("$JS.API.CONSUMER.INFO.RENGA_EVENTS.acme-crm", nil, maxWait); err != nil {
		t.Fatal(err)
	}
	if info := ensure(t, s.Carrier()); info.Last != 3 {
		t.Errorf("the stream is %+v", info)
	}
}
