package sim

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"testing"

	"renga.dev/renga/test/tier"
)

// rounds is how long a world lives before it is brought to its end.
const rounds = 100

// TestSeeds runs the world from many seeds, or from the one that RENGA_SIM_SEED
// names, then with its whole story.
func TestSeeds(t *testing.T) {
	if s := os.Getenv("RENGA_SIM_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		digest, stress, err := Run(seed, rounds, os.Stdout)
		t.Logf("trace %s, %+v", digest, stress)
		judge(t, &stress, err)
		return
	}
	seeds := uint64(40)
	if os.Getenv("RENGA_LONG") != "" {
		seeds = 4000
	}
	var mu sync.Mutex
	var total Stress
	t.Run("all", func(t *testing.T) {
		for seed := range seeds {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				_, stress, err := Run(seed, rounds, nil)
				if err != nil {
					err = fmt.Errorf("make sim SEED=%d: %w", seed, err)
				}
				judge(t, &stress, err)
				mu.Lock()
				defer mu.Unlock()
				total.Add(&stress)
			})
		}
	})
	t.Logf("%+v", total)
	if lacks := total.Lacks(int(seeds) / 10); lacks != "" && !t.Failed() {
		t.Errorf("too little stress to prove anything: %s", lacks)
	}
}

// judge ends a test whose world went wrong, or was too easy to prove anything. In some, with
// no crash at all, little is repeated; what all of them ask for together is judged as well.
func judge(t *testing.T, s *Stress, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if s.Acks < rounds || s.Replays < rounds/20 || s.Refusals == 0 || s.Executions == 0 {
		t.Fatalf("too little stress to prove anything: %+v", *s)
	}
}

func TestTheSameSeedTellsTheSameStory(t *testing.T) { tellTwice(t, 4) }

// TestMoreSeedsTellTheSameStory is the same with the seeds for which the quick tier has no time.
func TestMoreSeedsTellTheSameStory(t *testing.T) {
	tier.System(t)
	tellTwice(t, 10)
}

// tellTwice runs the world of each seed twice: it goes the same way both times, and another
// way than those of all other seeds.
func tellTwice(t *testing.T, seeds uint64) {
	t.Helper()
	digests := map[string]uint64{}
	for seed := range seeds {
		first, _, err := Run(seed, rounds, nil)
		if err != nil {
			t.Fatal(err)
		}
		second, _, err := Run(seed, rounds, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if first != second {
			t.Errorf("seed %d: trace %s, then %s", seed, first, second)
		}
		if other, ok := digests[first]; ok {
			t.Errorf("seeds %d and %d tell the same story", other, seed)
		}
		digests[first] = seed
	}
}
