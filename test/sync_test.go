package test

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/test/tier"
)

// meddle lets strace change what system calls of a process do from now on, and
// returns when that is so. The calls are those on one file, or all with "". Without
// strace the test is skipped: nothing else can do that.
func meddle(t *testing.T, c *child, calls, how, file string) {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("SKIP: strace is not installed, so the disk cannot be made to fail")
	}
	args := []string{
		"-f", "-p", strconv.Itoa(c.cmd.Process.Pid), "-o", "/dev/null",
		"-e", "trace=" + calls, "-e", "inject=" + calls + ":" + how,
	}
	if file != "" {
		args = append(args, "-P", file)
	}
	attached := make(chan struct{})
	once := sync.OnceFunc(func() { close(attached) })
	log := &tail{line: func(line string) {
		if strings.Contains(line, " attached") {
			once()
		}
	}}
	cmd := exec.Command(path, args...)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		log.read(pipe)
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	select {
	case <-attached:
	case <-ended:
		t.Skipf("SKIP: strace cannot attach to a process here, so the disk cannot be made to fail:\n%s", log)
	}
}

// breakSyncs makes the syncs of a process fail from now on, of one file or of all with "".
func breakSyncs(t *testing.T, c *child, file string) {
	t.Helper()
	meddle(t, c, "fsync,fdatasync", "error=EIO", file)
}

// TestNothingIsLostWhenTheProcessIsKilledOnASlowDisk kills the server the moment an
// answer arrives, while every write to its log is slow: an answer that did not wait
// for its commit shows then, which on a fast disk it does only by luck.
func TestNothingIsLostWhenTheProcessIsKilledOnASlowDisk(t *testing.T) {
	tier.System(t)
	kills := 4
	if long() {
		kills = 40
	}
	onSQLite(t)
	r := newRig(t, killHands, newSite(t))
	slow := func() {
		meddle(t, r.servers[0], "pwrite64,fdatasync,fsync", "delay_enter=1000", filepath.Join(r.sites[0].dir,
			app.DatabaseFile+"-wal"))
	}
	slow()
	enough := r.work()
	defer enough()
	for i := range kills {
		r.answers(60 + int64(i)%17)
		r.servers[0].signal(syscall.SIGKILL)
		r.lose(0)
		r.start(0)
		if i < kills-1 {
			slow()
		}
	}
	enough()
	lost := r.stress.unanswered.Load()
	if int(lost) < 4*kills {
		t.Errorf("too weak: %d kills left only %d requests unanswered", kills, lost)
	}
	r.clear()
	r.audit()
	t.Logf("%d kills at an answer, on a slow disk, left %d requests unanswered; %d of them had taken effect",
		kills, lost, r.stress.remembered.Load())
	r.end()
}

// TestAFailedSyncEndsTheProcess lets the disk fail between two bursts of load. The
// process must end at the first commit of the second and say why; nothing of that
// may have been acknowledged; and the next process has everything that was.
func TestAFailedSyncEndsTheProcess(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	r := newRig(t, 16, newSite(t))
	enough := r.work()
	r.answers(500)
	enough()
	old := r.servers[0]
	breakSyncs(t, old, "")
	before, broken := r.stress.unanswered.Load(), time.Now()
	enough = r.work()
	defer enough()
	checkLost(t, old)
	r.lose(0)
	took := time.Since(broken)
	r.start(0)
	r.answers(500)
	enough()
	lost := r.stress.unanswered.Load() - before
	if lost < 1 { // how many are under way when it ends, the machine decides
		t.Errorf("too weak: only %d requests were sent to a server that could not sync", lost)
	}
	r.clear()
	for _, q := range r.audit().answered {
		emptyClaim := q.command == claim && len(q.reply().Tasks) == 0
		if q.by == old.url && q.sent.After(broken) && !emptyClaim {
			t.Errorf("%s was sent %v after the syncs began to fail, and acknowledged: %d %s", q.path(),
				q.sent.Sub(broken), q.status, q.answer)
		}
	}
	t.Logf("ended %v after the syncs began to fail and load came; %d requests were left unanswered", round(took), lost)
	r.end()
}

// checkLost waits for the end of a process that lost its disk, and checks what it says.
func checkLost(t *testing.T, c *child) {
	t.Helper()
	if code := c.code(20 * time.Second); code != 1 {
		t.Errorf("the process ended with code %d, want 1", code)
	}
	message := ""
	for line := range strings.Lines(c.log.String()) {
		if strings.HasPrefix(line, "renga: ") {
			message = line
		}
	}
	t.Logf("it said: %s", strings.TrimSpace(message))
	for _, want := range []string{"disk", "sync", "start it again"} {
		if !strings.Contains(message, want) {
			t.Errorf("its last words do not say %q:\n%s", want, c.log)
		}
	}
}

// TestAFailedSyncOfACheckpointEndsTheProcess lets the sync of the database file
// fail, which happens when the log is copied into it, beside the commits.
func TestAFailedSyncOfACheckpointEndsTheProcess(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	at := newSite(t)
	server := serve(t, at)
	c := newClient(t, server, "writer")
	c.put("diary", graphs["diary"])
	breakSyncs(t, server, filepath.Join(at.dir, app.DatabaseFile))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-server.ended
		cancel()
	}()
	text := strings.Repeat("0123456789", 50_000)
	for i := 0; ctx.Err() == nil; i++ {
		if i == 500 {
			t.Fatalf("the server runs on after %d requests: there was no checkpoint, or its failure ended nothing:\n%s",
				i, server.log)
		}
		_, _ = c.try(ctx, c.request("CreateExecution", "", "", `"graphId":"diary","input":{"text":"`+text+`"}`))
	}
	checkLost(t, server)
	server = serve(t, at)
	reader := newClient(t, server, "reader")
	for _, q := range c.ledger {
		if v, ok := reader.view(q.reply().ExecutionID); !ok || q.status != http.StatusAccepted || v.Seq == 0 {
			t.Errorf("an execution that was acknowledged, %s, is not there", q.answer)
		}
	}
	t.Logf("%d executions were acknowledged before", len(c.ledger))
	server.stop()
	verify(t, at)
}
