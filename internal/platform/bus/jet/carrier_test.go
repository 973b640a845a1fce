package jet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/jet/jettest"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/test/stalltest"
)

// carrier is one over a server inside, with its stream.
func carrier(t *testing.T) (*Server, *Carrier) {
	t.Helper()
	s := open(t, Config{Dir: t.TempDir()})
	ensure(t, s.Carrier())
	return s, s.Carrier()
}

func ensure(t *testing.T, c *Carrier) bus.StreamInfo {
	t.Helper()
	info, err := c.Ensure(t.Context(), events.Events)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// publish stores messages of partition 0.
func publish(t *testing.T, c *Carrier, from, n int) {
	t.Helper()
	var wave []bus.Message
	for i := range n {
		wave = append(wave, numbered(from+i, 0))
	}
	for _, ack := range c.Publish(t.Context(), wave) {
		if ack.Err != nil {
			t.Fatal(ack.Err)
		}
	}
}

func config(t *testing.T, s *Server, st events.Stream) jetstream.StreamConfig {
	t.Helper()
	stream, err := s.stream.Stream(t.Context(), st.String())
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().Config
}

func TestStreamsAreMadeAsDocumented(t *testing.T) {
	t.Parallel()
	alone, _ := carrier(t)
	among := open(t, Config{URL: jettest.URLs(jettest.Cluster(t, 3))})
	for s, copies := range map[*Server]int{alone: 1, among: 3} {
		for _, tt := range []struct {
			stream  events.Stream
			subject string
			size    int64
		}{
			{events.Events, "renga.event.*.*.*", MaxEventsBytes},
			{events.Executions, "renga.execution.*.*", MaxExecutionsBytes},
		} {
			if _, err := s.Carrier().Ensure(t.Context(), tt.stream); err != nil {
				t.Fatal(err)
			}
			got := config(t, s, tt.stream)
			if got.Replicas != copies || len(got.Subjects) != 1 || got.Subjects[0] != tt.subject ||
				got.MaxBytes != tt.size ||
				got.MaxAge != 7*24*time.Hour || got.Duplicates != 20*time.Second ||
				got.Storage != jetstream.FileStorage || !got.AllowDirect {
				t.Errorf("%s with %d copies: %+v", tt.stream, copies, got)
			}
		}
	}
}

func TestAStreamThatSomebodyChangedStaysAsItIs(t *testing.T) {
	s, c := carrier(t)
	changed := config(t, s, events.Events)
	changed.MaxBytes, changed.MaxAge, changed.Subjects = 5<<30, 30*24*time.Hour, append(changed.Subjects, "also.this")
	if _, err := s.stream.UpdateStream(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	ensure(t, c)
	if got := config(t, s, events.Events); got.MaxBytes != changed.MaxBytes || got.MaxAge != changed.MaxAge ||
		len(got.Subjects) != 2 {
		t.Errorf("it is %+v", got)
	}
}

func TestAStreamThatCannotServeIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*jetstream.StreamConfig)
		want  string
	}{
		{
			"other subjects", func(c *jetstream.StreamConfig) { c.Subjects = []string{"renga.event.a.*.*"} },
			"its subjects must hold renga.event.*.*.*",
		},
		{
			"a work queue", func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy },
			"retention must be by limits",
		},
		{
			"refuses when it is full", func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardNew },
			"discard the oldest",
		},
		{
			"keeps the last of a subject", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 },
			"may not limit the messages of a subject",
		},
		{
			"takes small messages only", func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 },
			"must take messages of 1048576 bytes",
		},
		{"does not acknowledge", func(c *jetstream.StreamConfig) { c.NoAck = true }, "without acknowledgements"},
		{"another stream has the subjects", func(c *jetstream.StreamConfig) { c.Name = "THEIRS" }, "another stream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, Config{Dir: t.TempDir()})
			cfg := jetstream.StreamConfig{Name: events.Events.String(), Subjects: []string{"renga.event.*.*.*"}}
			tt.spoil(&cfg)
			if _, err := s.stream.CreateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			_, err := s.Carrier().Ensure(t.Context(), events.Events)
			if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAServerThatCannotServeIsRefused(t *testing.T) {
	small := outside(t, server.Options{JetStream: true, MaxPayload: 1 << 19})
	_, err := open(t, Config{URL: at(small, "")}).Carrier().Ensure(t.Context(), events.Events)
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "raise its max_payload") {
		t.Errorf("of small messages: %v", err)
	}
	full := outside(t, server.Options{JetStream: true, JetStreamMaxStore: 1 << 20, JetStreamMaxMemory: 1 << 20})
	_, err = open(t, Config{URL: at(full, "")}).Carrier().Ensure(t.Context(), events.Events)
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "has not the room") {
		t.Errorf("without room: %v", err)
	}
}

// TestAStreamIsMadeOnceHoweverManyWantIt is about the start of a process: a server with
// room for one such stream must not say to anybody that it has none.
func TestAStreamIsMadeOnceHoweverManyWantIt(t *testing.T) {
	for range 5 {
		c := open(t, Config{Dir: t.TempDir()}).Carrier()
		if _, err := c.Ensure(t.Context(), events.Executions); err != nil {
			t.Fatal(err)
		}
		errs := make(chan error)
		for range 16 {
			go func() {
				_, err := c.Ensure(t.Context(), events.Events)
				errs <- err
			}()
		}
		for range 16 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWhatIsUnderWayFailsWithItsConnection(t *testing.T) {
	n := jettest.Start(t)
	s := open(t, Config{URL: n.URL()})
	c := s.Carrier()
	ensure(t, c)
	n.Freeze() // it takes the message and does not answer
	acks, stalls, began := make(chan bus.Ack, 1), stalltest.New(t), time.Now()
	go func() { acks <- c.Publish(t.Context(), []bus.Message{numbered(1, 0)})[0] }()
	until(t, func() bool { return s.conn.Stats().OutMsgs > 0 && s.acks.underWay() == 1 })
	n.Kill()
	ack := stalltest.Within(t, "the acknowledgement", acks)
	if took := stalls.Since(began); fault.KindOf(ack.Err) != fault.Unavailable || took > ackTimeout/2 {
		t.Errorf("got %+v after %v", ack, took)
	}
	began = time.Now()
	ack = c.Publish(t.Context(), []bus.Message{numbered(1, 0)})[0]
	if took := stalls.Since(began); fault.KindOf(ack.Err) != fault.Unavailable || took > time.Second {
		t.Errorf("without a connection: got %+v after %v", ack, took)
	}
	if s.acks.underWay() > 0 {
		t.Error("something is still under way")
	}
}

// underWay counts waves that wait for their acknowledgements.
func (a *acks) underWay() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waves)
}

func TestAnAnswerThatDoesNotComeIsAnError(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	if _, err := s.conn.Subscribe("renga.event.>", func(*nats.Msg) {}); err != nil { // takes it and keeps nothing
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ack := s.Carrier().Publish(ctx, []bus.Message{numbered(1, 0)})[0]
	if fault.KindOf(ack.Err) != fault.Unavailable || !errors.Is(ack.Err, errOpen) {
		t.Errorf("got %+v", ack)
	}
}

func TestAnAnswerOfTheWrongStreamIsAnError(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	if _, err := s.stream.CreateStream(t.Context(), jetstream.StreamConfig{
		Name:     "THEIRS",
		Subjects: []string{"renga.event.>"},
	}); err != nil {
		t.Fatal(err)
	}
	ack := s.Carrier().Publish(t.Context(), []bus.Message{numbered(1, 0)})[0]
	if fault.KindOf(ack.Err) != fault.Conflict {
		t.Errorf("got %+v", ack)
	}
}

func TestTheUsualAnswerIsReadAsJSONWouldBe(t *testing.T) {
	w := &wave{stream: "S"}
	for _, tt := range []struct {
		text string
		seq  uint64
		kind fault.Kind
	}{
		{`{"stream":"S","seq":7}`, 7, 0},
		{`{"stream":"S", "seq":7}`, 7, 0},
		{`{"stream":"S","seq":7,"duplicate":true}`, 7, 0},
		{`{"stream":"S","domain":"d","seq":7}`, 7, 0},
		{`{"stream":"T","seq":7}`, 0, fault.Conflict},
		{`{"stream":"S","seq":x}`, 0, fault.Unavailable},
		{
			`{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"},"stream":"S","seq":0}`, 0,
			fault.Unavailable,
		},
		{`{"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum allowed"},` +
			`"stream":"S","seq":0}`, 0, fault.TooLarge},
		{``, 0, fault.Unavailable},
	} {
		got := w.read(&nats.Msg{Data: []byte(tt.text)})
		if got.Seq != tt.seq || (got.Err == nil) != (tt.kind == 0) || got.Err != nil &&
			fault.KindOf(got.Err) != tt.kind {
			t.Errorf("%s: got %+v", tt.text, got)
		}
	}
}
