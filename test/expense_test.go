package test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "renga.dev/renga/client"
	"renga.dev/renga/test/tier"
)

// TestTheBooksOfTheExpenseExampleBalance lets 200 claims of examples/expense run while the server and the worker are
// killed: people answer too early, approve, reject, are not asked, or are late; claims lack what they are to be paid or
// booked with, and are cancelled at any moment, also while the bank pays. In the end exactly what ended as paid is paid
// and booked.
func TestTheBooksOfTheExpenseExampleBalance(t *testing.T) {
	tier.System(t)
	const claims = 200
	e := newExpense(t)
	var people sync.WaitGroup
	for n := range claims {
		people.Go(func() { e.claim(n) })
	}
	for range 5 {
		pause(time.Duration(1000+rand.IntN(2000)) * time.Millisecond)
		e.restart()
	}
	people.Wait()
	e.ended()
	e.balance(claims)
}

// expense is the example at work.
type expense struct {
	*testing.T
	at     site
	books  string // folder
	binary string // the worker
	server *child
	worker *exec.Cmd
	url    atomic.Value // of the server that runs
	ids    sync.Map     // executions
}

func newExpense(t *testing.T) *expense {
	e := &expense{T: t, at: newSite(t), books: t.TempDir(), binary: filepath.Join(t.TempDir(), "worker")}
	if out, err := exec.Command("go", "build", "-o", e.binary, "../examples/expense").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e.start()
	t.Cleanup(func() { _ = e.worker.Process.Kill() })
	c := sdk.New(sdk.Config{URL: e.server.url})
	defer c.Close()
	for n, role := range []string{"Manager", "Controller"} {
		id, user := fmt.Sprintf("0199c1a4-0000-7000-8000-00000000000%d", n), strings.ToLower(role)
		for _, d := range []struct {
			kind sdk.DefinitionKind
			id   string
			body map[string]any
		}{
			{"role", id, map[string]any{"name": role}},
			{"user", strings.Replace(id, "7000", "7001", 1), map[string]any{
				"name": user, "subject": user, "roleId": id,
			}},
		} {
			if _, _, err := c.Metadata.Put(t.Context(), d.kind, d.id, d.body, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, graph := range []string{"expense-undo", "expense"} {
		text, err := os.ReadFile(filepath.Join("../examples/expense", graph+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		short := strings.ReplaceAll(string(text), "timeout: 48h", "timeout: 4s") // nobody waits two days for a test
		if _, err := c.Graphs.Put(t.Context(), graph, []byte(short)); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// start starts a server and a worker.
func (e *expense) start() {
	e.server = serve(e, e.at)
	e.url.Store(e.server.url)
	e.worker = exec.Command(e.binary, e.books)
	e.worker.Env = append(os.Environ(), "RENGA_SERVER="+e.server.url)
	if err := e.worker.Start(); err != nil {
		e.Fatal(err)
	}
}

// restart kills both, at moments of their own.
func (e *expense) restart() {
	_ = e.worker.Process.Kill()
	_ = e.worker.Wait()
	pause(time.Duration(rand.IntN(50)) * time.Millisecond)
	e.server.kill()
	e.start()
}

// send repeats a command of one key, as somebody, on whatever server runs until one answers. What is refused gives
// its status.
func (e *expense) send(as string, cmd sdk.Command) (answer sdk.Answer, status int) {
	for e.Context().Err() == nil {
		c := sdk.New(sdk.Config{URL: e.url.Load().(string), User: as, RetryFor: time.Millisecond})
		answer, err := c.Send(e.Context(), cmd)
		c.Close()
		if err == nil {
			return answer, http.StatusAccepted
		}
		if refused := (*sdk.Error)(nil); errors.As(err, &refused) && refused.Status < 500 && refused.Status != 429 {
			return answer, refused.Status
		}
		pause(20 * time.Millisecond)
	}
	return answer, 0
}

// claim is the life of a claim, as its people live it.
func (e *expense) claim(n int) {
	pause(time.Duration(rand.IntN(4000)) * time.Millisecond)
	input := map[string]any{"claim": n, "amount": 20 + n%2*100, "account": "JP-1", "costCenter": "sales"}
	switch n % 10 {
	case 7:
		delete(input, "account")
	case 8:
		delete(input, "costCenter")
	}
	key := strconv.Itoa(n)
	made, status := e.send("", sdk.CreateExecution{Key: "claim-" + key, GraphID: "expense", Input: input, Start: true})
	if status != http.StatusAccepted {
		e.Errorf("claim %d: %d", n, status)
		return
	}
	id := made.ExecutionID
	e.ids.Store(id, true)
	var others sync.WaitGroup
	if n%5 < 2 { // somebody cancels, some of them late
		others.Go(func() {
			pause(time.Duration(rand.IntN(300<<rand.IntN(5))) * time.Millisecond)
			e.send("", sdk.CancelExecution{Key: "cancel-" + key, ExecutionID: id, Reason: "not needed"})
		})
	}
	if n%4 != 3 { // the manager answers, from too early on; the others wait for the controller
		e.answer(id, "approve", "manager", n)
	}
	e.answer(id, "escalate", "controller", n)
	others.Wait()
}

// answer resumes a Wait when it waits, unless somebody else has decided before.
func (e *expense) answer(id, node, as string, n int) {
	resume := sdk.ResumeNode{ExecutionID: id, NodeID: node, Output: map[string]any{"approved": n%3 > 0}}
	for try := 0; ; try++ {
		resume.Key = fmt.Sprintf("%s-%d-%d", node, n, try) // an answer that came too early is refused for good
		if _, status := e.send(as, resume); status == http.StatusAccepted || status == 0 {
			return
		}
		if n%11 == 0 {
			if _, status := e.send("stranger", resume); status == http.StatusAccepted {
				e.Errorf("a stranger has decided about claim %d", n)
			}
		}
		if now := e.get(id); now.Status != sdk.Active || now.Node("settle").Status != sdk.NodeCreated {
			return
		}
		pause(time.Duration(20+rand.IntN(200)) * time.Millisecond)
	}
}

// get reads an execution from whatever server runs.
func (e *expense) get(id string) *sdk.Execution {
	for {
		c := sdk.New(sdk.Config{URL: e.url.Load().(string), RetryFor: time.Millisecond})
		got, err := c.Executions.Get(context.WithoutCancel(e.Context()), id)
		c.Close()
		if err == nil {
			return got
		}
		pause(20 * time.Millisecond)
	}
}

// ended waits until nothing is under way, also of what cleans up.
func (e *expense) ended() {
	c := sdk.New(sdk.Config{URL: e.server.url})
	defer c.Close()
	eventually(e, "everything has ended", maxWait, func() bool {
		page, err := c.Executions.List(e.Context(), sdk.ExecutionFilter{Status: []sdk.Status{sdk.Active}}, sdk.Paging{})
		if err != nil {
			e.Fatal(err)
		}
		return page.Total == 0
	})
}

// balance compares the books with the ends of the claims.
func (e *expense) balance(claims int) {
	_ = e.worker.Process.Kill()
	_ = e.worker.Wait()
	ends := map[string]int{}
	made := 0
	e.ids.Range(func(id, _ any) bool {
		made++
		x := e.get(id.(string))
		var in struct{ Amount int }
		if err := json.Unmarshal(x.Input, &in); err != nil {
			e.Fatal(err)
		}
		want, end := 0, string(x.Status)+" "+x.Outcome
		if x.Outcome == "paid" {
			want = in.Amount
		}
		for _, name := range []string{"pay", "book"} {
			entered, back := e.entry(name, x.ExecutionID), e.entry(name+"-back", x.ExecutionID)
			if entered+back != want {
				e.Errorf("%s of %s, which ended %s: %d and %d, want %d", name, x.ExecutionID, end, entered, back, want)
			}
			if back != 0 {
				ends["with a "+name+" that was taken back"]++
			}
		}
		ends[strings.TrimSpace(end)]++
		if x.Status == sdk.Canceled && (x.Cancel == nil || e.get(x.Cancel.CompensationID).Status != sdk.Completed) {
			e.Errorf("nothing has cleaned up after %s", x.ExecutionID)
		}
		return true
	})
	e.Logf("%d claims ended: %v", made, ends)
	for _, end := range []string{"COMPLETED paid", "COMPLETED rejected", "FAILED", "CANCELED"} {
		if ends[end] == 0 {
			e.Errorf("no claim ended %s", end)
		}
	}
	if made != claims {
		e.Errorf("%d claims were made, want %d", made, claims)
	}
	e.server.stop()
	verify(e, e.at)
}

// entry is the amount of an entry, 0 where there is none.
func (e *expense) entry(name, id string) int {
	raw, err := os.ReadFile(filepath.Join(e.books, name+"_"+id))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	amount, bad := strconv.Atoi(string(raw))
	if err != nil || bad != nil {
		e.Fatal(err, bad)
	}
	return amount
}
