package jet

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/jet/jettest"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/test/tier"
)

func TestAClusterThatLosesOneServerAfterAnotherLosesNoMessage(t *testing.T) {
	tier.System(t)
	t.Parallel() // it waits a lot
	kills, every := 3, 4*time.Second
	if os.Getenv("RENGA_LONG") != "" {
		kills, every = 24, 5*time.Second
	}
	three := jettest.Cluster(t, 3)
	out, in := open(t, Config{URL: jettest.URLs(three)}).Carrier(), open(t, Config{URL: jettest.URLs(three)}).Carrier()
	info, err := out.Ensure(t.Context(), events.Events)
	if err != nil {
		t.Fatal(err)
	}
	writing, stop := context.WithCancel(t.Context())
	defer stop()
	reading, end := context.WithCancel(t.Context())
	defer end()
	var writers, readers sync.WaitGroup
	acked := make([]map[string]int, events.Partitions) // by key: the number of the last
	tails := make([]*tail, events.Partitions)
	for part := range events.Partitions {
		tails[part] = &tail{last: map[string]int{}}
		writers.Go(func() { acked[part] = relay(writing, t, out, part) })
		readers.Go(func() {
			tails[part].follow(reading, t, in, bus.From{Stream: events.Events, Created: info.Created, Part: part})
		})
	}
	rhythm := time.NewTicker(every)
	defer rhythm.Stop()
	for i := range kills {
		<-rhythm.C
		three[i%3].Kill()
		three[i%3].Start()
	}
	<-rhythm.C
	stop()
	writers.Wait()
	total := 0
	for part, keys := range acked {
		for key, n := range keys {
			total += n
			until(t, func() bool { return tails[part].of(key) >= n })
		}
	}
	end()
	readers.Wait()
	var again int64
	for _, tail := range tails {
		again += tail.repeated.Load()
	}
	t.Logf("%d messages were acknowledged and read over %d kills; %d came twice", total, kills, again)
	if total < 1000 {
		t.Errorf("only %d messages were acknowledged: the test tries too little", total)
	}
}

// relay publishes as a relay does: messages of several keys in a wave, the next of a key
// when the one before is acknowledged, the same one again when it is not.
func relay(ctx context.Context, t *testing.T, c *Carrier, part int) map[string]int {
	const keys = 10
	wave, acked := make([]bus.Message, keys), map[string]int{}
	for i := range wave {
		wave[i] = numbered(0, part)
		wave[i].Key = fmt.Sprint("key", i)
	}
	for ctx.Err() == nil {
		for i := range wave {
			wave[i].Relay.Source = int64(acked[wave[i].Key]) + 1
			wave[i].ID = fmt.Sprintf("%s-%d-%d", wave[i].Key, part, wave[i].Relay.Source)
		}
		for i, ack := range c.Publish(context.WithoutCancel(ctx), wave) {
			switch {
			case ack.Err == nil:
				acked[wave[i].Key]++
			case fault.KindOf(ack.Err) != fault.Unavailable:
				t.Errorf("message %s: %v", wave[i].ID, ack.Err)
				return acked
			}
		}
	}
	return acked
}

// tail is what a reader has read.
type tail struct {
	mu       sync.Mutex
	last     map[string]int
	repeated atomic.Int64
}

func (l *tail) of(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[key]
}

// follow reads as a reader does: from its place, again after any error that may pass.
func (l *tail) follow(ctx context.Context, t *testing.T, c *Carrier, from bus.From) {
	for ctx.Err() == nil {
		f, err := c.Read(ctx, from)
		for err == nil && ctx.Err() == nil {
			var msgs []bus.Message
			msgs, err = f.Next(ctx, 256)
			for _, m := range msgs {
				l.note(t, m)
				from.After = m.Seq
			}
		}
		if err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.Unavailable {
			t.Errorf("partition %d after %d: %v", from.Part, from.After, err)
			return
		}
		if f != nil {
			f.Close()
		}
		select {
		case <-time.After(10 * time.Millisecond): // as a reader would not hurry either
		case <-ctx.Done():
		}
	}
}

// note checks that a message is the next of its key, or one that came before.
func (l *tail) note(t *testing.T, m bus.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch n := int(m.Relay.Source); {
	case n == l.last[m.Key]+1:
		l.last[m.Key] = n
	case n <= l.last[m.Key]:
		l.repeated.Add(1)
	default:
		t.Errorf("%s: message %d of %s came after %d", m.ID, n, m.Key, l.last[m.Key])
	}
}
