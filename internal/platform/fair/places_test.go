package fair

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestAKeyHasItsPartAndOthersComeInTurn lets one key ask for far more than there is: another
// gets the place that is left at once, and those who wait get theirs in turn.
func TestAKeyHasItsPartAndOthersComeInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(Config{Places: 2, Each: 1})
		var order []string
		ask := func(key string) {
			if err := p.Enter(t.Context(), key); err != nil {
				t.Error(err)
			}
			order = append(order, key)
		}
		ask("a")
		for range 3 {
			go ask("a")
			synctest.Wait()
		}
		ask("b")
		go ask("b")
		synctest.Wait()
		go ask("c")
		synctest.Wait()
		if want := []string{"a", "b"}; !slices.Equal(order, want) {
			t.Fatalf("got %v before anybody left, want %v", order, want)
		}
		for _, key := range []string{"a", "b", "a", "c", "a", "b", "a"} {
			p.Leave(key)
			synctest.Wait()
		}
		if want := []string{"a", "b", "a", "b", "c", "a", "a"}; !slices.Equal(order[:5], want[:5]) ||
			len(order) != len(want) {
			t.Errorf("got %v, want %v", order, want)
		}
		if p.taken != 0 || p.waiting != 0 || len(p.held)+len(p.lines)+len(p.turns)+len(p.of) != 0 {
			t.Errorf("something is left: %+v", p)
		}
	})
}

// TestTheProcessLeavesAPlaceToOthers lets the process itself ask for all places.
func TestTheProcessLeavesAPlaceToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(Config{Places: 3, Each: 1, Own: 2})
		ctx, leave := context.WithCancel(t.Context())
		for range 3 {
			go func() { _ = p.Enter(ctx, "") }()
		}
		synctest.Wait()
		if p.taken != 2 {
			t.Errorf("the process has %d places, want 2", p.taken)
		}
		if err := p.Enter(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		leave()
		synctest.Wait()
	})
}

// TestLinesAreBounded refuses who would wait in a line that is full, of its key or of all.
func TestLinesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(Config{Places: 1, Each: 1, Wait: 3, WaitKey: 2})
		ctx, leave := context.WithCancel(t.Context())
		if err := p.Enter(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		gone := make(chan error, 4)
		for _, key := range []string{"a", "a", "b"} {
			go func() { gone <- p.Enter(ctx, key) }()
			synctest.Wait()
		}
		if err := p.Enter(ctx, "a"); !errors.Is(err, ErrTooMany) {
			t.Errorf("a third of a key: %v", err)
		}
		if err := p.Enter(ctx, "c"); !errors.Is(err, ErrFull) {
			t.Errorf("a fourth of all: %v", err)
		}
		go func() { gone <- p.Await(ctx, "a") }()
		synctest.Wait()
		leave()
		for range 4 {
			if err := <-gone; !errors.Is(err, context.Canceled) {
				t.Errorf("who went away got %v", err)
			}
		}
		p.Leave("a")
		if err := p.Enter(t.Context(), "c"); err != nil {
			t.Errorf("a place that everybody left: %v", err)
		}
	})
}

// TestWhoMayWaitAnywayTakesNoRoomInTheLine lets far more wait who are not bounded than may wait
// who are: those find the same room as without them.
func TestWhoMayWaitAnywayTakesNoRoomInTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(Config{Places: 1, Wait: 2, WaitKey: 1})
		ctx, leave := context.WithCancel(t.Context())
		if err := p.Enter(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			go func() { _ = p.Await(ctx, "a") }()
		}
		synctest.Wait()
		gone := make(chan error, 2)
		for _, key := range []string{"a", "b"} {
			go func() { gone <- p.Enter(ctx, key) }()
			synctest.Wait()
		}
		if len(gone) > 0 {
			t.Fatalf("nobody bounded waits, and one is refused: %v", <-gone)
		}
		if err := p.Enter(ctx, "a"); !errors.Is(err, ErrTooMany) {
			t.Errorf("a second of a key: %v", err)
		}
		if err := p.Enter(ctx, "c"); !errors.Is(err, ErrFull) {
			t.Errorf("a third of all: %v", err)
		}
		leave()
		synctest.Wait()
		if p.waiting != 0 || len(p.of) != 0 {
			t.Errorf("%d are still counted, of %v", p.waiting, p.of)
		}
	})
}

// TestWhoLeavesTheLineGivesBackWhatItGot races the end of a wait with the place that it waits
// for: the place is not lost.
func TestWhoLeavesTheLineGivesBackWhatItGot(t *testing.T) {
	p := NewPlaces(Config{Places: 1})
	for range 1000 {
		if err := p.Enter(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Enter(ctx, "b") }()
		go cancel()
		p.Leave("a")
		if <-done == nil {
			p.Leave("b")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Enter(ctx, "a"); err != nil {
		t.Errorf("the place is lost: %v", err)
	}
}

func TestWhoIsGoneTakesNoPlace(t *testing.T) {
	p := NewPlaces(Config{Places: 1})
	gone, leave := context.WithCancel(t.Context())
	leave()
	for name, ask := range map[string]func(context.Context, string) error{"Enter": p.Enter, "Await": p.Await} {
		if err := ask(gone, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want that it is gone", name, err)
		}
	}
	if p.taken != 0 {
		t.Errorf("%d places are taken", p.taken)
	}
}
