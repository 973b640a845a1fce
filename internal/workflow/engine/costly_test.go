package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

type realTime struct{}

func (realTime) Now() time.Time { return time.Now() }

// TestWhoMakesOthersWaitIsKeptApart lets a tenant be costly, alone and beside others.
func TestWhoMakesOthersWaitIsKeptApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &costly{clock: realTime{}}
		check := func(when string, a, b bool) {
			t.Helper()
			if c.isCostly("a") != a || c.isCostly("b") != b {
				t.Errorf("%s: a %v, b %v; want %v and %v", when, c.isCostly("a"), c.isCostly("b"), a, b)
			}
		}
		check("nobody was there", false, false)
		c.note(map[string]time.Duration{"a": MaxSlice + 1})
		check("it is alone", false, false)
		c.note(map[string]time.Duration{"b": MaxSlice})
		check("who is beside it costs as much", false, false)
		c.note(map[string]time.Duration{"a": 5 * MaxSlice})
		check("who is beside it costs far less", true, false)
		c.note(map[string]time.Duration{"b": MaxSlice + 1})
		check("who costs less is not kept apart", false, false)
		time.Sleep(costlyFor)
		c.note(map[string]time.Duration{"a": 5 * MaxSlice, "b": time.Millisecond})
		check("somebody is beside it again", true, false)
		time.Sleep(activeFor)
		check("alone again", false, false)
		c.note(map[string]time.Duration{"b": time.Millisecond})
		check("and not any more", true, false)
		time.Sleep(costlyFor - activeFor)
		c.note(map[string]time.Duration{"b": time.Millisecond, "a": time.Millisecond})
		check("it took no slice for long", false, false)
		for i := range 2 * maxCostly {
			c.note(map[string]time.Duration{string(rune(0x4e00 + i)): time.Second})
		}
		if len(c.tenants) > maxCostly {
			t.Errorf("it remembers %d tenants", len(c.tenants))
		}
	})
}
