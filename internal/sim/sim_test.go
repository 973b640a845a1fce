package sim

import (
	"io"
	"os"
	"strconv"
	"sync"
	"testing"
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
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	seeds := uint64(200)
	if os.Getenv("RENGA_LONG") != "" {
		seeds *= 20
	}
	var mu sync.Mutex
	var total Stress
	t.Run("all", func(t *testing.T) {
		for seed := range seeds {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				_, stress, err := Run(seed, rounds, nil)
				if err != nil {
					t.Fatalf("make sim SEED=%d: %v", seed, err)
				}
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

func TestTheSameSeedTellsTheSameStory(t *testing.T) {
	digests := map[string]uint64{}
	for seed := range uint64(10) {
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
