package cli

import (
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/client"
)

// TestWhyShowsTheEndOfALongLog refuses hundreds of commands before and after a
// cancel: the explanation stays short and names the one that decided.
func TestWhyShowsTheEndOfALongLog(t *testing.T) {
	r := newRig(t, options{})
	id := r.orders(1)[0]
	c := client.New(client.Config{URL: r.url})
	defer c.Close()
	send := func(n int) {
		t.Helper()
		cmds := make([]client.Command, n)
		for i := range cmds {
			cmds[i] = client.StartExecution{ExecutionID: id}
		}
		if _, err := c.SendAll(t.Context(), cmds); err != nil {
			t.Fatal(err)
		}
	}
	send(250)
	r.must("", "execution", "cancel", id, "--correlation-id", "call")
	send(123)
	out := r.must("", "execution", "why", id)
	for _, want := range []string{
		"It was CANCELED", "through command 253, CancelExecution, from user, correlation call.",
		"373 commands were refused; of the last 173:", "The rule cancel_fence", "The rule not_started",
		", and that decided\n", "\n254  ", "\n376  ", fmt.Sprintf("Left out: %d other commands.", 376-23),
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if n := strings.Count(out, "\n"); n > 40 {
		t.Errorf("the explanation has %d lines", n)
	}
}
