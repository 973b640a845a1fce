package test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/test/tier"
)

// load announces events of many records at a steady rate and gives how long each took
// to be taken. Of every ten there is one more, of the record beside, which is not waited for.
func (h *busHouse) load(n, rate int, beside string) spans {
	h.Helper()
	const hands = 8
	var mu sync.Mutex
	var all []events.Event
	var work sync.WaitGroup
	for hand := range hands {
		work.Go(func() {
			tick := time.NewTicker(hands * time.Second / time.Duration(rate))
			defer tick.Stop()
			for i := range n / hands {
				<-tick.C
				got, err := h.announce(context.Background(), 1, fmt.Sprint("record ", (i*hands+hand)%500))
				if err == nil && beside != "" && i%10 == 0 {
					_, err = h.announce(context.Background(), 1, beside)
				}
				if err != nil {
					h.Error(err)
					return
				}
				mu.Lock()
				all = append(all, got...)
				mu.Unlock()
			}
		})
	}
	work.Wait()
	return h.awaitTaken(all)
}

// compared is how many events a second two houses take at best. They take turns, so
// that both meet what else the machine does, and more turns when only one of them may
// have met a quiet moment: what is slower in truth is slower at its best.
func compared(a, b *busHouse, n int) (ofA, ofB float64) {
	a.Helper()
	for turn := 0; turn < 5 || ofB < ofA*3/4 && turn < 25; turn++ {
		ofA, ofB = max(ofA, a.burst(n)), max(ofB, b.burst(n))
	}
	return ofA, ofB
}

// burst announces events as fast as it can and gives how many a second were taken.
func (h *busHouse) burst(n int) float64 {
	h.Helper()
	began := time.Now()
	var all []events.Event
	for len(all) < n {
		var records []string
		for i := range 100 {
			records = append(records, fmt.Sprint("record ", (len(all)+i)%500))
		}
		got, err := h.announce(h.Context(), 1, records...)
		h.must(err)
		all = append(all, got...)
	}
	h.awaitTaken(all)
	return float64(n) / time.Since(began).Seconds()
}

// TestAPoisonousEventHoldsUpItsKeyOnly measures how long events take while nothing is
// wrong, while a key is poisoned, and while very many are.
func TestAPoisonousEventHoldsUpItsKeyOnly(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	count, keys := 800, 500
	if long() {
		count, keys = 8_000, 10_000
	}
	const rate, allowed = 400, 100 * time.Millisecond
	h := openBusHouse(t, bus.Config{})
	h.burst(1000) // it has seen all keys
	before := h.load(count, rate, "beside")
	h.refuse("beside", bus.Permanent(errors.New("poison")))
	beside := func() (took spans) { // at its best: what is slower in truth is slower every time
		for turn := 0; turn == 0 || took.at(99)-before.at(99) >= allowed && turn < 5; turn++ {
			if again := h.load(count, rate, "beside"); turn == 0 || again.at(99) < took.at(99) {
				took = again
			}
		}
		return took
	}
	poisoned := beside()
	if n := h.count("SELECT count(*) FROM bus_parked WHERE consumer = 'c'"); n < count/20 {
		t.Errorf("too weak: %d events are parked", n)
	}
	var many []string
	for i := range keys {
		many = append(many, fmt.Sprint("poisoned ", i))
		h.refuse(many[i], bus.Permanent(errors.New("poison")))
	}
	for range 2 { // one that dies and one that waits behind it
		for rest := many; len(rest) > 0; rest = rest[min(len(rest), 250):] {
			_, err := h.announce(t.Context(), 1, rest[:min(len(rest), 250)]...)
			h.must(err)
		}
	}
	h.await(keys+1, "SELECT count(*) FROM bus_lane WHERE consumer = 'c' AND state = 1")
	h.await(keys, "SELECT count(*) FROM bus_parked WHERE consumer = 'c' AND partition_key <> $1", houseKey("beside"))
	after := beside()
	well := openBusHouse(t, bus.Config{})
	well.burst(1000)
	fast, slow := compared(well, h, count)
	t.Logf("p50 %v, p99 %v; with a poisoned key %v, %v; with %d parked keys %v, %v", round(before.at(50)),
		round(before.at(99)),
		round(poisoned.at(50)), round(poisoned.at(99)), keys, round(after.at(50)), round(after.at(99)))
	t.Logf("%.0f events/s, with %d parked keys %.0f: ratio %.2f", fast, keys, slow, slow/fast)
	for what, got := range map[string]spans{"one poisoned key": poisoned, "many parked keys": after} {
		if got.at(99)-before.at(99) >= allowed {
			t.Errorf("%s: p99 is %v, without %v; it may rise by %v", what, got.at(99), before.at(99), allowed)
		}
	}
	if slow < fast*3/4 {
		t.Errorf("%.0f events/s with %d parked keys, %.0f without", slow, keys, fast)
	}
}
