package test

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

// TestAFullDiskOfPostgreSQLAnswers503AndGoesOn fills the disk of PostgreSQL's tables. What
// cannot be stored is refused and can be repeated; what is stored can be read; and when
// there is room again the same process goes on.
func TestAFullDiskOfPostgreSQLAnswers503AndGoesOn(t *testing.T) {
	tier.System(t)
	onPostgres(t)
	disk, err := os.MkdirTemp("", "renga-disk-") // where another user may look
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(disk) })
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=160m"); err != nil {
		t.Skipf("SKIP: no small disk can be mounted for PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	data := filepath.Join(disk, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	at := newSite(t)
	at.database = pgtest.LaunchOn(t, data).Database(t)
	r := newRig(t, writers, at)
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, freeOn(t, disk)-(12<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &filling{rig: r, pending: make([][]*request, writers)}
	f.eachHand(f.cram)
	if t.Failed() {
		t.Fatalf("the log of the server:\n%s", r.logs())
	}
	for _, h := range r.hands {
		if v, ok := h.view(h.diary); !ok || v.ended() {
			t.Errorf("on a full disk execution %s is %s", h.diary, v.Status)
		}
	}
	readyWhen(t, r.servers[0], http.StatusServiceUnavailable)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	readyWhen(t, r.servers[0], http.StatusOK)
	f.eachHand(func(i int, h *hand) {
		for _, q := range f.pending[i] {
			if err := h.do(t.Context(), q); err != nil || q.status != http.StatusAccepted {
				t.Errorf("with room again, %s: %d %s %v", q.path(), q.status, q.answer, err)
			}
		}
	})
	enough := r.work()
	r.answers(300)
	enough()
	r.clear()
	r.audit()
	t.Logf("%d requests were answered 503 and repeated", r.stress.unanswered.Load())
	r.end()
}

// cram writes pieces that cannot be made smaller until a number of them was refused.
func (f *filling) cram(i int, h *hand) {
	if err := h.write(f.t.Context()); err != nil {
		f.t.Error(err)
		return
	}
	raw := make([]byte, 48<<10)
	for try := 0; len(f.pending[i]) < 10; try++ {
		if try == 2000 || f.t.Failed() {
			f.t.Errorf("too weak: the disk is not full after %d requests", try)
			return
		}
		for n := range raw {
			raw[n] = byte(h.rand.Uint32())
		}
		q := h.request("ReportNodeProgress", h.diary, "a", `"metrics":{"text":"`+base64.StdEncoding.EncodeToString(raw)+
			`"}`)
		got, err := h.try(f.t.Context(), q)
		switch {
		case err != nil:
			f.t.Error(err)
			return
		case got.status == http.StatusAccepted:
			continue
		case !got.later() || !strings.Contains(got.body, "STORAGE_FULL"):
			f.t.Errorf("on a full disk: %d %s", got.status, got.body)
		}
		f.pending[i] = append(f.pending[i], q)
	}
}

// freeOn is how many bytes are free on a disk.
func freeOn(t *testing.T, dir string) int64 {
	t.Helper()
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		t.Fatal(err)
	}
	return int64(stat.Bavail) * stat.Bsize
}
