package jet

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func TestOneProcessWakesTheOthersAndNotItself(t *testing.T) {
	outer := outside(t, server.Options{JetStream: true})
	a, b := open(t, Config{URL: at(outer, "")}), open(t, Config{URL: at(outer, "")})
	got := make(chan string, 10)
	for _, s := range []*Server{a, b} {
		err := s.OnWake(func(tenant, queue string, n int) { got <- fmt.Sprint(s == a, tenant, " ", queue, " ", n) })
		if err != nil {
			t.Fatal(err)
		}
		if err := s.conn.Flush(); err != nil { // the subscription has reached the server
			t.Fatal(err)
		}
	}
	if err := b.conn.Publish(wakeSubject+"t", []byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	a.Wake("t1", "pay.now", 3)
	b.Wake("t2", "..", 1)
	seen := map[string]bool{}
	for range 2 {
		select {
		case s := <-got:
			seen[s] = true
		case <-time.After(maxWait):
			t.Fatalf("got only %v", seen)
		}
	}
	if !seen["falset1 pay.now 3"] || !seen["truet2 .. 1"] {
		t.Errorf("got %v", seen)
	}
	if len(got) > 0 {
		t.Errorf("and also %s", <-got)
	}
}
