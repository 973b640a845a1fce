package jet

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
)

// filled stores three events each of tenants A and B, and an execution's of A.
func filled(t *testing.T) *Server {
	t.Helper()
	s := listening(t)
	c := s.Carrier()
	ensure(t, c)
	if _, err := c.Ensure(t.Context(), events.Executions); err != nil {
		t.Fatal(err)
	}
	publish(t, c, 0, 3)
	other := numbered(3, 1)
	other.Tenant = tenantB
	third, fourth, run := other, other, numbered(6, 2)
	third.ID, fourth.ID = "b2", "b3"
	run.Stream, run.Type = events.Executions, events.ExecutionChanged
	for _, m := range []bus.Message{other, third, fourth, run} {
		if ack := c.Publish(t.Context(), []bus.Message{m})[0]; ack.Err != nil {
			t.Fatal(ack.Err)
		}
	}
	return s
}

func TestAFollowerReadsItsTenantsEventsWithAnyClient(t *testing.T) {
	s := filled(t)
	conn, log := as(t, s, "eve")
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		stream, filter string
		want           int
	}{
		{"RENGA_EVENTS", "renga.event." + tenantA + ".>", 3},
		{"RENGA_EXECUTIONS", "renga.execution." + tenantA + ".>", 1},
		{"RENGA_EVENTS", "renga.event." + tenantA + ".*.RecordUpdated", 3},
		{"RENGA_EVENTS", "renga.event." + tenantA + ".*.RecordDeleted", 0},
	} {
		consumer, err := js.CreateOrUpdateConsumer(t.Context(), tt.stream, jetstream.ConsumerConfig{
			Durable: "eve", FilterSubject: tt.filter, AckPolicy: jetstream.AckExplicitPolicy,
		})
		if err != nil {
			t.Fatalf("%s: %v", tt.filter, err)
		}
		batch, err := consumer.Fetch(10, jetstream.FetchMaxWait(300*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for m := range batch.Messages() {
			n++
			if got := m.Headers().Get("ce-tenantid"); got != tenantA {
				t.Errorf("%s: got a message of %s", tt.filter, got)
			}
			if err := m.DoubleAck(t.Context()); err != nil {
				t.Errorf("%s: %v", tt.filter, err)
			}
		}
		info, err := consumer.Info(t.Context())
		if n != tt.want || err != nil || info.NumAckPending != 0 || info.NumPending != 0 {
			t.Errorf("%s: got %d messages, want %d, then %+v, %v", tt.filter, n, tt.want, info, err)
		}
		if err := js.DeleteConsumer(t.Context(), tt.stream, "eve"); err != nil {
			t.Errorf("%s: %v", tt.filter, err)
		}
	}
	if log.String() != "" {
		t.Errorf("the server complains: %s", log)
	}
}

func TestAFollowerHearsItsTenantsEventsAsTheyCome(t *testing.T) {
	s := filled(t)
	conn, _ := as(t, s, "eve")
	sub, err := conn.SubscribeSync("renga.event." + tenantA + ".>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	other := numbered(100, 1)
	other.Tenant = tenantB
	s.Carrier().Publish(t.Context(), []bus.Message{other})
	publish(t, s.Carrier(), 101, 1)
	m, err := sub.NextMsg(maxWait)
	if err != nil || m.Header.Get("ce-id") != numbered(101, 0).ID {
		t.Errorf("got %+v, %v", m, err)
	}
}

// eve is a follower that tries everything. What must hold after each try: nothing
// was stored or lost, no other follower and nobody inside heard anything.
func TestAHostileFollowerReachesNothingOfOthers(t *testing.T) {
	s := filled(t)
	eve, log := as(t, s, "eve")
	bob, _ := as(t, s, "bob")
	adam, _ := as(t, s, "adam")
	for user, conn := range map[string]*nats.Conn{"bob": bob, "adam": adam} {
		makeConsumer(t, conn, user, map[string]string{"bob": tenantB, "adam": tenantA}[user])
	}
	makeConsumer(t, eve, "eve", tenantA)
	heard := newNotes()
	hear := func(conn *nats.Conn, subject string) {
		if _, err := conn.Subscribe(subject, func(m *nats.Msg) {
			_,
				_ = heard.Write([]byte(m.Subject + "\n"))
		}); err != nil {
			t.Fatal(err)
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	hear(bob, "_INBOX.victim.>")
	hear(adam, "_INBOX.victim.>")
	hear(bob, "renga.event."+tenantB+".>")
	hear(s.conn, "renga.ready.>")
	hear(s.conn, "_INBOX.victim.>")
	before := state(t, s)

	for _, subject := range []string{
		">", "*.>", "renga.>", "renga.event.>", "renga.event.*.>", "renga.event." + tenantB + ".>",
		"renga.event.*.1.RecordUpdated",
		"renga.execution." + tenantB + ".>", "renga.ready.>", "renga.ready." + tenantA, "renga.follow.>", "$SYS.>",
		"$JS.>", "$JS.API.>", "$JS.EVENT.ADVISORY.>", "_R_.>",
	} {
		denied(t, eve, log, func() error { _, err := eve.Subscribe(subject, func(*nats.Msg) {}); return err }, "hears "+
			subject)
	}
	own := `{"stream_name":"RENGA_EVENTS","config":{"name":"eve","filter_subject":"renga.event.` + tenantA + `.>"}}`
	for _, subject := range []string{
		"renga.event." + tenantA + ".0.RecordUpdated", "renga.event." + tenantB + ".0.RecordUpdated",
		"renga.execution." + tenantA + ".0", "renga.ready." + tenantA,
		"renga.follow.bob.RENGA_EVENTS.renga.event." + tenantB + ".>", "_INBOX.victim.x", "$SYS.REQ.SERVER.PING",
		"$SYS.REQ.ACCOUNT.PING.CONNZ",
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.RENGA_EVENTS",
		"$JS.API.STREAM.DELETE.RENGA_EVENTS",
		"$JS.API.STREAM.PURGE.RENGA_EVENTS", "$JS.API.STREAM.UPDATE.RENGA_EVENTS", "$JS.API.STREAM.CREATE.MINE",
		"$JS.API.STREAM.SNAPSHOT.RENGA_EVENTS",
		"$JS.API.STREAM.MSG.GET.RENGA_EVENTS", "$JS.API.STREAM.MSG.DELETE.RENGA_EVENTS",
		"$JS.API.DIRECT.GET.RENGA_EVENTS",
		"$JS.API.DIRECT.GET.RENGA_EVENTS.renga.event." + tenantB + ".1.RecordUpdated",
		"$JS.API.CONSUMER.NAMES.RENGA_EVENTS", "$JS.API.CONSUMER.LIST.RENGA_EVENTS",
		"$JS.API.CONSUMER.CREATE.RENGA_EVENTS", "$JS.API.CONSUMER.CREATE.RENGA_EVENTS.eve",
		"$JS.API.CONSUMER.DURABLE.CREATE.RENGA_EVENTS.eve",
		"$JS.API.CONSUMER.CREATE.RENGA_EVENTS.eve.>", "$JS.API.CONSUMER.CREATE.RENGA_EVENTS.eve.renga.event.>",
		"$JS.API.CONSUMER.CREATE.RENGA_EVENTS.eve.renga.event.*.>",
		"$JS.API.CONSUMER.CREATE.RENGA_EVENTS.eve.renga.event." + tenantB + ".>",
		"$JS.API.CONSUMER.CREATE.RENGA_EVENTS.bob.renga.event." + tenantB + ".>",
		"$JS.API.CONSUMER.CREATE.RENGA_EVENTS.adam.renga.event." + tenantA + ".>",
		"$JS.API.CONSUMER.MSG.NEXT.RENGA_EVENTS.bob", "$JS.API.CONSUMER.MSG.NEXT.RENGA_EVENTS.adam",
		"$JS.API.CONSUMER.INFO.RENGA_EVENTS.bob", "$JS.API.CONSUMER.DELETE.RENGA_EVENTS.bob",
		"$JS.API.CONSUMER.DELETE.RENGA_EVENTS.adam",
		"$JS.API.CONSUMER.PAUSE.RENGA_EVENTS.eve", "$JS.API.CONSUMER.RESET.RENGA_EVENTS.eve",
		"$JS.API.CONSUMER.LEADER.STEPDOWN.RENGA_EVENTS.eve",
		"$JS.ACK.RENGA_EVENTS.bob.1.1.1.1.1", "$JS.FC.RENGA_EVENTS.eve.x", "$KV.x", "$O.x", "$MQTT.x",
	} {
		denied(t, eve, log, func() error { return eve.PublishRequest(subject, "_INBOX.x", []byte(own)) }, "says "+
			subject)
	}

	// What it may say, with an answer that goes elsewhere.
	for _, reply := range []string{
		"$JS.API.STREAM.DELETE.RENGA_EVENTS", "$JS.API.STREAM.PURGE.RENGA_EVENTS",
		"$JS.API.CONSUMER.DELETE.RENGA_EVENTS.bob",
		"renga.event." + tenantB + ".1.RecordUpdated", "renga.event." + tenantA + ".1.RecordUpdated",
		"renga.execution." + tenantB + ".1", "renga.ready." + tenantB,
		"_INBOX.victim.x", "$JS.ACK.RENGA_EVENTS.bob.1.1.1.1.1", "$SYS.REQ.SERVER.PING",
	} {
		for _, request := range []struct{ subject, body string }{
			{"$JS.API.CONSUMER.MSG.NEXT.RENGA_EVENTS.eve", `{"batch":100,"no_wait":true}`},
			{"$JS.API.CONSUMER.MSG.NEXT.RENGA_EVENTS.eve", `{"batch":1,"no_wait":true}`}, // whose answer is empty now
			{"$JS.API.CONSUMER.MSG.NEXT.RENGA_EVENTS.eve", `{"batch":1,"expires":1000000,"idle_heartbeat":400000}`},
			{"$JS.API.CONSUMER.INFO.RENGA_EVENTS.eve", ``},
			{"$JS.API.CONSUMER.CREATE.RENGA_EVENTS.eve.renga.event." + tenantA + ".>", own},
			{"$JS.API.CONSUMER.CREATE.RENGA_EVENTS.eve.renga.event." + tenantA + ".>", `nonsense`},
			{"$JS.ACK.RENGA_EVENTS.eve.1.1.1.1.1", `+NXT {"batch":3}`},
			{"$JS.ACK.RENGA_EVENTS.eve.1.1.1.1.1", `+ACK`},
		} {
			for _, header := range []nats.Header{
				nil,
				{"Nats-Trace-Dest": {reply}},
				{"Nats-Request-Info": {`{"acc":"$G","svc":"$G"}`}},
				{"Nats-Msg-Id": {"x"}},
			} {
				err := eve.PublishMsg(&nats.Msg{
					Subject: request.subject, Reply: reply, Data: []byte(request.body),
					Header: header,
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	// All of it is worked through, by the server and by this process, when this comes back.
	makeConsumer(t, eve, "eve", tenantA)
	for range 3 {
		if err := errors.Join(eve.Flush(), s.conn.Flush(), bob.Flush(), adam.Flush(),
			s.Check(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if heard.String() != "" {
		t.Errorf("others heard:\n%s", heard)
	}
	if after := state(t, s); after != before {
		t.Errorf("the streams are\n%s, they were\n%s", after, before)
	}
}

// state is what the streams hold and who reads them.
func state(t *testing.T, s *Server) string {
	t.Helper()
	var text strings.Builder
	for _, st := range followed {
		stream, err := s.stream.Stream(t.Context(), st.String())
		if err != nil {
			t.Fatal(err)
		}
		info := stream.CachedInfo()
		fmt.Fprintf(&text, "%s %v %d..%d of %d messages, %d consumers\n", st, info.Created, info.State.FirstSeq,
			info.State.LastSeq, info.State.Msgs, info.State.Consumers)
	}
	return text.String()
}

// makeConsumer makes the consumer that a follower may have.
func makeConsumer(t *testing.T, conn *nats.Conn, user, tenant string) {
	t.Helper()
	js, err := jetstream.New(conn)
	if err == nil {
		_, err = js.CreateOrUpdateConsumer(t.Context(), "RENGA_EVENTS", jetstream.ConsumerConfig{
			Durable:       user,
			FilterSubject: "renga.event." + tenant + ".>",
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// denied does something and waits until the server complains of it.
func denied(t *testing.T, conn *nats.Conn, log *notes, try func() error, what string) {
	t.Helper()
	count := strings.Count(log.String(), "Permissions Violation")
	if err := try(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	late := time.After(maxWait)
	for strings.Count(log.String(), "Permissions Violation") == count {
		select {
		case <-log.wrote:
		case <-late:
			t.Errorf("it %s, and nobody minds", what)
			return
		}
	}
}

func TestAFollowersConsumerIsWhatItMayBe(t *testing.T) {
	s := filled(t)
	conn, _ := as(t, s, "eve")
	const subject = "$JS.API.CONSUMER.CREATE.RENGA_EVENTS.eve.renga.event." + tenantA + ".>"
	sound := map[string]any{"name": "eve", "filter_subject": "renga.event." + tenantA + ".>"}
	for name, tt := range map[string]struct {
		change map[string]any
		want   string
	}{
		"sound":   {nil, ""},
		"durable": {map[string]any{"durable_name": "eve", "ack_policy": "explicit"}, ""},
		"from a time": {map[string]any{
			"deliver_policy": "by_start_time",
			"opt_start_time": "2026-01-01T00:00:00Z",
		}, ""},
		"push": {map[string]any{"deliver_subject": "_INBOX.x"}, "pull consumers only"},
		"push to the API": {
			map[string]any{"deliver_subject": "$JS.API.STREAM.DELETE.RENGA_EVENTS"},
			"pull consumers only",
		},
		"push to a group": {map[string]any{"deliver_group": "g"}, "pull consumers only"},
		"another filter": {
			map[string]any{"filter_subject": "renga.event." + tenantB + ".>"},
			"filter_subject must be",
		},
		"no filter": {map[string]any{"filter_subject": ""}, "filter_subject must be"},
		"several filters": {map[string]any{"filter_subject": "", "filter_subjects": []string{
			"renga.event." + tenantA + ".>", "renga.event." + tenantB + ".>",
		}}, "filter_subject must be"},
		"one and several": {
			map[string]any{"filter_subjects": []string{"renga.event." + tenantB + ".>"}},
			"filter_subject must be",
		},
		"another name":              {map[string]any{"name": "bob"}, "must be named eve"},
		"another durable":           {map[string]any{"durable_name": "bob"}, "must be named eve"},
		"no name":                   {map[string]any{"name": ""}, "must be named eve"},
		"too many requests":         {map[string]any{"max_waiting": 100_000}, "max_waiting"},
		"too many unacknowledged":   {map[string]any{"max_ack_pending": 1_000_000}, "max_ack_pending"},
		"redelivered without pause": {map[string]any{"ack_wait": 1}, "ack_wait"},
		"what is dropped is harmless": {map[string]any{
			"sample_freq": "100", "num_replicas": 5,
			"metadata": map[string]string{"a": "b"}, "flow_control": true,
		}, ""},
	} {
		config := map[string]any{}
		for _, m := range []map[string]any{sound, tt.change} {
			for k, v := range m {
				config[k] = v
			}
		}
		body, err := json.Marshal(map[string]any{"stream_name": "RENGA_EXECUTIONS", "config": config})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Error  *struct{ Description string } `json:"error"`
			Name   string                        `json:"name"`
			Stream string                        `json:"stream_name"`
			Config jetstream.ConsumerConfig      `json:"config"`
		}
		m, err := conn.Request(subject, body, maxWait)
		if err == nil {
			err = json.Unmarshal(m.Data, &answer)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch {
		case tt.want != "":
			if answer.Error == nil || !strings.Contains(answer.Error.Description, tt.want) {
				t.Errorf("%s: got %s, want %q", name, m.Data, tt.want)
			}
		case answer.Error != nil:
			t.Errorf("%s: %s", name, answer.Error.Description)
		case answer.Name != "eve" || answer.Stream != "RENGA_EVENTS" ||
			answer.Config.MaxWaiting != maxFollowerWaiting ||
			answer.Config.SampleFrequency != "" || answer.Config.DeliverSubject != "":
			t.Errorf("%s: got %s", name, m.Data)
		}
		if err := s.stream.DeleteConsumer(t.Context(), "RENGA_EVENTS", "eve"); err != nil &&
			!errors.Is(err, jetstream.ErrConsumerNotFound) {
			t.Fatal(err)
		}
	}
}
