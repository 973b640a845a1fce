package stalltest

import (
	"testing"
	"time"
)

func TestATimeInWhichTheMachineStoodStillDoesNotCount(t *testing.T) {
	at := time.Unix(1000, 0)
	ms := func(n int) time.Time { return at.Add(time.Duration(n) * time.Millisecond) }
	w := &Watch{alive: ms(0)}
	for _, n := range []int{5, 10, 510, 515, 520, 820} { // stands still from 30 to 510 and from 540 to 820
		w.look(ms(n))
	}
	for _, c := range []struct{ began, end, want int }{
		{0, 10, 10},
		{0, 820, 60},
		{100, 500, 0},
		{500, 530, 20},
		{515, 535, 20},
		{600, 830, 10},
	} {
		if got := w.Between(ms(c.began), ms(c.end)); got != time.Duration(c.want)*time.Millisecond {
			t.Errorf("from %d to %d it is %v, want %d ms", c.began, c.end, got, c.want)
		}
	}
}

func TestAWatchLooksUntilTheTestEnds(t *testing.T) {
	w, began := New(t), time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for last, looks := began, 0; looks < 3; <-tick.C {
		w.mu.Lock()
		if w.alive.After(last) {
			last, looks = w.alive, looks+1
		}
		w.mu.Unlock()
		if time.Since(began) > time.Minute {
			t.Fatalf("it looked %d times", looks)
		}
	}
}
