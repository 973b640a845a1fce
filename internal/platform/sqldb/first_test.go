package sqldb

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
)

// TestTheEngineDoesNotWaitForReaders takes all places of readers, and reads first.
func TestTheEngineDoesNotWaitForReaders(t *testing.T) {
	const places = 2
	test := func(cfg Config) func(t *testing.T) {
		return func(t *testing.T) {
			cfg.Readers = places
			db := start(t, cfg)
			held, hold := make(chan struct{}, places), make(chan struct{})
			var readers sync.WaitGroup
			defer readers.Wait()
			defer close(hold)
			for i := range places {
				readers.Go(func() {
					err := db.Read(For(t.Context(), fmt.Sprint("tenant ", i)), func(context.Context, *Tx) error {
						held <- struct{}{}
						<-hold
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			for range places {
				stalltest.Within(t, "a reader with its place", held)
			}
			short, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if err := db.ReadFirst(short, func(context.Context, *Tx) error { return nil }); err != nil {
				t.Error(err)
			}
		}
	}
	t.Run("sqlite", test(Config{}))
	t.Run("postgres", func(t *testing.T) { test(Config{URL: pgtest.New(t)})(t) })
}
