package pgtest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/test/tier"
)

// ask runs a query and gives its answer as text.
func ask(t *testing.T, at, query string) string {
	t.Helper()
	out, err := exec.Command(program(programs(t), "psql"), "--no-psqlrc", "-Atqc", query, at).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", query, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestDatabasesAreFreshAndApart(t *testing.T) {
	one, two := New(t), New(t)
	ask(t, one, "CREATE TABLE a (n int)")
	if got := ask(t, two, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); got != "0" {
		t.Errorf("a fresh database has %s tables", got)
	}
}

func TestTheServerIsLikeThatOfAUser(t *testing.T) {
	if os.Getenv(databaseURL) != "" {
		t.Skip("SKIP: the server is somebody's own")
	}
	at := New(t)
	for query, want := range map[string]string{
		"SELECT 'a' < 'B'":        "t", // not in the order of bytes
		"SHOW timezone":           "Asia/Kathmandu",
		"SHOW fsync":              "on",
		"SHOW synchronous_commit": "on",
	} {
		if got := ask(t, at, query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func TestDataSurvivesRestartsAndKills(t *testing.T) {
	tier.System(t)
	s := Launch(t)
	at := s.Database(t)
	ask(t, at, "CREATE TABLE a (n int)")
	for _, end := range []func(){s.Stop, s.KillPostmaster, s.KillPostmaster, s.Stop} {
		ask(t, at, "INSERT INTO a VALUES (1)")
		end()
		if ready(s.addr()) {
			t.Fatal("the server still answers")
		}
		began := time.Now()
		s.Start(t)
		t.Logf("started in %v", time.Since(began).Round(time.Millisecond))
	}
	if got := ask(t, at, "SELECT count(*) FROM a"); got != "4" {
		t.Errorf("%s rows, want 4", got)
	}
}

func TestNothingStaysBehind(t *testing.T) {
	s, err := launch(programs(t), "", "", withPassword)
	if err != nil {
		t.Fatal(err)
	}
	pid := s.main.Process.Pid
	_ = s.guard.pipe.Close() // as when the process ends
	_ = s.main.Wait()
	if err := s.guard.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("the server still runs")
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}
