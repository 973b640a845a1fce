package test

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// TestADatabaseOfAnEarlierVersionIsGoodToday starts a server on what an earlier version left
// (testdata/earlier.sh made it): every key gives its first answer, every execution that had
// ended is as it was, and nothing is found that differs.
func TestADatabaseOfAnEarlierVersionIsGoodToday(t *testing.T) {
	at, requests := earlier(t)
	at.env = append(at.env, "RENGA_KEY_RETENTION=876000h", "AX_WORKFLOW_EVENT_RECEIPT_TTL_DAYS=36500",
		"RENGA_RECHECK_RETENTION=876000h")
	server := serve(t, at)
	for _, q := range requests {
		r, err := http.NewRequestWithContext(
			t.Context(),
			http.MethodPost,
			server.url+q.Path,
			strings.NewReader(q.Body),
		)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(q.Header, q.Key)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !q.answeredBy(answer.StatusCode, body) {
			t.Errorf("POST %s with key %s: got %d %s (%v), want %d %s", q.Path, q.Key, answer.StatusCode, body, err,
				q.Status, q.Answer)
		}
	}
	for status, want := range map[string]int{"COMPLETED": 1, "CANCELED": 1} {
		out, _ := command(t, server.url, 0, "execution", "list", "--graph", "order", "--status", status, "-o", "json")
		var page struct{ Total int }
		if err := json.Unmarshal([]byte(out), &page); err != nil || page.Total != want {
			t.Errorf("%d executions are %s (%v), want %d", page.Total, status, err, want)
		}
	}
	out, _ := command(t, server.url, 0, "search", "レンガ", "-o", "json")
	if !strings.Contains(out, "株式会社レンガ") {
		t.Errorf("the account is not found: %s", out)
	}
	server.stop()
	verify(t, at)
	if out, err := at.program("check", "consistency").CombinedOutput(); err != nil ||
		!strings.HasSuffix(string(out), ": 0 differences\n") {
		t.Errorf("renga check consistency: %v: %s", err, out)
	}
}

// earlierRequest is a request that an earlier version answered.
type earlierRequest struct {
	Path, Header, Key, Body, Answer string
	Status                          int
}

// answeredBy reports whether an answer is the first one again.
func (q *earlierRequest) answeredBy(status int, body []byte) bool {
	var first, now map[string]any
	if json.Unmarshal([]byte(q.Answer), &first) != nil || json.Unmarshal(body, &now) != nil {
		return false
	}
	if q.Path == "/api/workflow-events" {
		return status == http.StatusOK && now["duplicate"] == true && now["run_id"] == first["run_id"]
	}
	if status != q.Status && (status != http.StatusOK || q.Status >= 300) {
		return false
	}
	if q.Path == "/tasks/claim" { // whose tasks are read anew, and may say more by now
		return includes(now, first)
	}
	return string(body) == strings.TrimSpace(q.Answer)
}

// includes reports whether one answer has everything that another has.
func includes(now, first any) bool {
	switch first := first.(type) {
	case map[string]any:
		now, ok := now.(map[string]any)
		for name, value := range first {
			ok = ok && includes(now[name], value)
		}
		return ok
	case []any:
		now, ok := now.([]any)
		ok = ok && len(now) == len(first)
		for i := 0; ok && i < len(first); i++ {
			ok = includes(now[i], first[i])
		}
		return ok
	}
	return now == first
}

// earlier unpacks what an earlier version left.
func earlier(t *testing.T) (site, []earlierRequest) {
	t.Helper()
	together(t)
	name, at := "earlier", site{dir: filepath.Join(t.TempDir(), "data")}
	if postgres() {
		name = "earlier_postgres"
		dump, err := unzipped(t, name+".sql.gz")
		if err != nil {
			t.Fatal(err)
		}
		at.database = pgtest.Restore(t, dump)
	} else if err := unpack(t, name+".tar.gz", filepath.Dir(at.dir)); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var requests []earlierRequest
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var q earlierRequest
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		requests = append(requests, q)
	}
	if len(requests) < 20 {
		t.Fatalf("only %d requests were read", len(requests))
	}
	return at, requests
}

// unzipped reads a file of testdata.
func unzipped(t *testing.T, name string) (io.Reader, error) {
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { file.Close() })
	return gzip.NewReader(file)
}

// unpack writes the folder in an archive of testdata.
func unpack(t *testing.T, name, to string) error {
	in, err := unzipped(t, name)
	if err != nil {
		return err
	}
	for archive := tar.NewReader(in); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(to, filepath.FromSlash(header.Name))
		if header.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				return err
			}
			continue
		}
		body, err := io.ReadAll(archive)
		if err == nil {
			err = os.WriteFile(path, body, 0o600)
		}
		if err != nil {
			return err
		}
	}
}
