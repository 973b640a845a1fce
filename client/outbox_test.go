package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/client"
)

// stubborn is a server that gives one bad task and then good ones, one at a time. It
// cannot decide the result of the bad one before all good ones are done.
type stubborn struct {
	mu          sync.Mutex
	given, done int
	badAnswered bool
	ended       chan struct{} // the bad one was answered
}

const goodTasks = 20

func (c *stubborn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path == "/tasks/claim" {
		task := ""
		switch {
		case c.given == 0:
			task = `{"executionId":"bad","nodeId":"a","attempt":1}`
		case c.given <= goodTasks && c.done == c.given-1:
			task = `{"executionId":"good","nodeId":"a","attempt":1}`
		}
		if task == "" { // as a claim that waits
			c.mu.Unlock()
			<-time.After(20 * time.Millisecond)
			c.mu.Lock()
		} else {
			c.given++
		}
		fmt.Fprintf(w, `{"tasks":[%s]}`, task)
		return
	}
	var body struct {
		Commands []struct{ ExecutionID string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	results := ""
	for i, cmd := range body.Commands {
		result := `{"status":202}`
		switch {
		case cmd.ExecutionID == "good":
			c.done++
		case c.done < goodTasks:
			result = `{"status":500,"error":{"code":"INTERNAL_ERROR","message":"internal error"}}`
		case !c.badAnswered:
			c.badAnswered = true
			close(c.ended)
		}
		if i > 0 {
			results += ","
		}
		results += result
	}
	fmt.Fprintf(w, `{"results":[%s]}`, results)
}

func TestAResultThatCannotBeDecidedDoesNotHoldUpOthers(t *testing.T) {
	c := &stubborn{ended: make(chan struct{})}
	s := httptest.NewServer(c)
	defer s.Close()
	began := time.Now()
	w := run(t, client.Worker{
		Client: dial(t, s.URL), Concurrency: 2,
		Handle: func(context.Context, *client.Task) (any, error) { return nil, nil },
	})
	wait(t, c.ended, "the result of the bad task")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, err := w.stop(); err != nil {
		t.Error(err)
	}
}
