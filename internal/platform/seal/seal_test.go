package seal_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

func sealer(t *testing.T, s *seal.Seals, purpose ...string) *seal.Sealer {
	t.Helper()
	one, err := s.For(t.Context(), purpose...)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// TestProcessesShareTheSecret lets two processes that start at once make the secret, and a
// third one open what they sealed.
func TestProcessesShareTheSecret(t *testing.T) {
	for name, where := range map[string]sqldb.Config{
		"sqlite": {Path: filepath.Join(t.TempDir(), "test.db")}, "postgres": {URL: pgtest.New(t)},
	} {
		t.Run(name, func(t *testing.T) {
			db := sqltest.Open(t, where, seal.Migration())
			var texts [2]string
			var both sync.WaitGroup
			for i := range texts {
				both.Go(func() {
					if s, err := seal.New(db).For(t.Context(), "search"); err != nil {
						t.Error(err)
					} else {
						texts[i] = s.Text([]byte("plain"))
					}
				})
			}
			both.Wait()
			for _, text := range texts {
				if got, ok := sealer(t, seal.New(db), "search").OpenText(text); !ok || string(got) != "plain" {
					t.Errorf("%q opens as %q, %t", text, got, ok)
				}
			}
			if texts[0] == texts[1] {
				t.Error("two seals of the same are alike")
			}
		})
	}
}

func TestASealIsGoodForItsPurposeAlone(t *testing.T) {
	seals := seal.Fixed(nil)
	s := sealer(t, seals, "search", "tenant", "anna", "q")
	text := s.Text([]byte("0123456789"))
	if strings.Contains(text, "MDEyMzQ1Njc4OQ") || len(text) != len(s.Text([]byte("abcdefghij"))) {
		t.Errorf("the seal shows what is in it: %s", text)
	}
	for i := range text {
		changed := text[:i] + string('A'+(text[i]+1)%26) + text[i+1:]
		if _, ok := s.OpenText(changed); ok && changed != text {
			t.Fatalf("changed at %d it opens", i)
		}
	}
	for _, wrong := range []string{"", "x", text[1:], text + "A", text + "=", text + text} {
		if _, ok := s.OpenText(wrong); ok {
			t.Errorf("%q opens", wrong)
		}
	}
	position := s.Position(7)
	for _, purpose := range [][]string{
		{"search", "tenant", "ben", "q"},
		{"search", "tenanta", "nna", "q"},
		{"search", "tenant", "anna"},
		{},
	} {
		other := sealer(t, seals, purpose...)
		if _, ok := other.OpenText(text); ok || other.Position(7) == position {
			t.Errorf("it is good for %q", purpose)
		}
	}
	if _, ok := sealer(t, seal.Fixed(nil), "search", "tenant", "anna", "q").OpenText(text); ok {
		t.Error("it opens with another secret")
	}
}

func TestAPositionHidesItsPlace(t *testing.T) {
	s := sealer(t, seal.Fixed(nil), "events", "tenant")
	rising := 0
	for place := range int64(2000) {
		at := s.Position(place)
		if got, ok := s.Place(at); !ok || got != place || at < 1 || at > seal.MaxPosition || at != s.Position(place) {
			t.Fatalf("place %d is %d, and that is %d, %t", place, at, got, ok)
		}
		if s.Position(place+1) > at {
			rising++
		}
		mark, again := s.Mark(place), s.Mark(place)
		if got, ok := s.Place(mark); !ok || got != place || mark == at {
			t.Fatalf("the mark %d of place %d is %d, %t", mark, place, got, ok)
		}
		if place == 0 && mark == again && mark == s.Mark(place) {
			t.Error("marks of one place are alike")
		}
		if got, ok := s.Place(at%seal.MaxPosition + 1); ok && got < 1<<8 {
			t.Fatalf("the number after %d is place %d", at, got)
		}
	}
	if rising < 800 || rising > 1200 {
		t.Errorf("%d of 2,000 positions are larger than the one before", rising)
	}
	for _, wrong := range []int64{0, -1, seal.MaxPosition + 1} {
		if _, ok := s.Place(wrong); ok {
			t.Errorf("%d is a position", wrong)
		}
	}
	if last := int64(1<<40 - 1); s.Position(last) < 1 {
		t.Error("the last place has no position")
	}
}
