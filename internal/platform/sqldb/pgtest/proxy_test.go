package pgtest

import (
	"os/exec"
	"testing"
)

// try runs statements, one query after the other, and reports whether all were answered.
func try(t *testing.T, at string, statements ...string) bool {
	t.Helper()
	args := []string{"--no-psqlrc", "-Atq", "--set=ON_ERROR_STOP=1"}
	for _, s := range statements {
		args = append(args, "--command="+s)
	}
	return exec.Command(program(programs(t), "psql"), append(args, at)...).Run() == nil
}

func TestConnectionsAreCutAroundACommit(t *testing.T) {
	database := New(t)
	p := NewProxy(t, database)
	tests := []struct {
		at             Cut
		answered, done bool
	}{{Whole, true, true}, {Before, false, false}, {During, false, true}, {AfterAnswer, false, true}}
	for _, tt := range tests {
		ask(t, database, "DROP TABLE IF EXISTS a; CREATE TABLE a (n int)")
		p.Choose(func(int) Cut { return tt.at })
		if got := try(t, p.URL(), "BEGIN", "INSERT INTO a VALUES (1)", "COMMIT"); got != tt.answered {
			t.Errorf("cut %d: answered %t", tt.at, got)
		}
		if tt.at == During { // in the server's own time
			for ask(t, database, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid "+
				"<> pg_backend_pid() AND backend_type = 'client backend'") != "0" {
			}
		}
		want := map[bool]string{true: "1", false: "0"}[tt.done]
		if got := ask(t, database, "SELECT count(*) FROM a"); got != want {
			t.Errorf("cut %d: %s rows, want %s", tt.at, got, want)
		}
		if p.Cuts(tt.at) != 1 {
			t.Errorf("cut %d: counted %d times", tt.at, p.Cuts(tt.at))
		}
	}
	if p.Commits() != len(tests) {
		t.Errorf("%d commits were seen, want %d", p.Commits(), len(tests))
	}
}

func TestCommitsAreFoundInEveryForm(t *testing.T) {
	for query, want := range map[string]bool{
		"commit": true, "COMMIT;": true, " Commit ; ": true, "INSERT INTO a VALUES (1); COMMIT": true,
		"commit prepared 'x'": false, "SELECT 'commit'": false, "COMMENT ON TABLE a IS 'commit'": false, "": false,
		"BEGIN": false,
	} {
		if got := isCommit(query); got != want {
			t.Errorf("%q: %t", query, got)
		}
	}
	f := frontend{named: map[string]bool{}, portals: map[string]bool{}}
	for _, m := range []struct {
		kind byte
		body string
		want bool
	}{
		{'P', "s1\x00commit\x00\x00\x00", false},
		{'B', "\x00s1\x00\x00\x00", false},
		{'E', "\x00\x00\x00\x00\x00", true},
		{'P', "\x00select 1\x00\x00\x00", false},
		{'B', "\x00\x00\x00\x00", false},
		{'E', "\x00\x00\x00\x00\x00", false},
		{'B', "p\x00s1\x00\x00\x00", false},
		{'E', "p\x00\x00\x00\x00\x00", true},
		{'Q', "commit\x00", true},
	} {
		if got := f.commits(m.kind, []byte(m.body)); got != m.want {
			t.Errorf("%c %q: %t", m.kind, m.body, got)
		}
	}
}
