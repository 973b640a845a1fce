package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFlagsOfAirflowAreHeldAgainstEachOther(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	sound := airflowFlags{
		URL: "https://airflow.example.com", DAG: "recheck", API: "auto", User: "renga", PasswordFile: file,
		ConnectTimeout: time.Second, ReadTimeout: time.Second, Failures: 5, Probe: time.Second, Runs: 1, Calls: 1,
		Lease: time.Minute,
	}
	none := func(string) string { return "" }
	if c, err := sound.config(none); err != nil || c == nil {
		t.Fatal(c, err)
	}
	var off airflowFlags
	if c, err := off.config(func(name string) string { return "set" }); c != nil || err != nil {
		t.Errorf("got %v, %v", c, err)
	}
	for want, change := range map[string]func(f *airflowFlags) map[string]string{
		"no effect without --airflow-url": func(f *airflowFlags) map[string]string { f.URL = ""; return nil },
		"--airflow-dag must be":           func(f *airflowFlags) map[string]string { f.DAG = ""; return nil },
		"exclude each other": func(*airflowFlags) map[string]string {
			return map[string]string{
				"RENGA_AIRFLOW_PASSWORD": "x",
			}
		},
		"a token exclude": func(*airflowFlags) map[string]string {
			return map[string]string{
				"RENGA_AIRFLOW_TOKEN": "x",
			}
		},
		"needs a password": func(f *airflowFlags) map[string]string { f.PasswordFile = ""; return nil },
		"no such file":     func(f *airflowFlags) map[string]string { f.PasswordFile += "x"; return nil },
	} {
		f := sound
		env := change(&f)
		if _, err := f.config(func(name string) string { return env[name] }); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
