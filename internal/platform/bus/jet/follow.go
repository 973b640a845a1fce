package jet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/internal/platform/events"
)

// followed are the streams that followers may read.
var followed = []events.Stream{events.Events, events.Executions}

// prefix begins the subjects of a tenant.
func prefix(s events.Stream, tenant string) string {
	return strings.TrimSuffix(events.Subject(s, tenant, 0, "x"),
		map[events.Stream]string{events.Events: "0.x", events.Executions: "0"}[s])
}

// createSubject prefixes followers' requests for a consumer: user, stream and filter follow.
const createSubject = "renga.follow."

// admit imports into a follower's account what it may use of ours. Subject permissions would not do: JetStream
// replies, with its own rights, to any subject that a request names, so whoever may request a message could have it
// delivered to another tenant, into a stream, or to the subject that deletes it. In an account of its own a follower
// receives replies nowhere else. This process makes its consumer, which has delivery subjects too (create).
func (g *guest) admit(ours *server.Account) error {
	share := []*server.Account{g.account}
	service := func(from, to string, kind server.ServiceRespType) error {
		if err := ours.AddServiceExportWithResponse(to, kind, share); err != nil {
			return err
		}
		return g.account.AddServiceImport(ours, from, to)
	}
	for _, s := range followed {
		own := s.String() + "." + g.User
		api := jetstream.DefaultAPIPrefix + "CONSUMER."
		subjects := prefix(s, g.Tenant) + ">"
		if err := ours.AddStreamExport(subjects, share); err != nil {
			return err
		}
		if err := g.account.AddStreamImport(ours, subjects, ""); err != nil {
			return err
		}
		for _, one := range []struct {
			from, to string
			kind     server.ServiceRespType
		}{
			{api + "CREATE." + own + ".>", createSubject + g.User + "." + s.String() + ".>", server.Singleton},
			{api + "MSG.NEXT." + own, api + "MSG.NEXT." + own, server.Streamed},
			{api + "INFO." + own, api + "INFO." + own, server.Singleton},
			{api + "DELETE." + own, api + "DELETE." + own, server.Singleton},
			{"$JS.ACK." + own + ".>", "$JS.ACK." + own + ".>", server.Singleton},
		} {
			if err := service(one.from, one.to, one.kind); err != nil {
				return fmt.Errorf("%s: %w", one.from, err)
			}
		}
	}
	return nil
}

// permissions are a follower's in its account. They make mistakes visible; the account protects others.
func (g *guest) permissions() *server.Permissions {
	var say, hear []string
	for _, s := range followed {
		own, api := s.String()+"."+g.User, jetstream.DefaultAPIPrefix+"CONSUMER."
		say = append(say, api+"CREATE."+own+"."+prefix(s, g.Tenant)+">",
			api+"MSG.NEXT."+own, api+"INFO."+own, api+"DELETE."+own, "$JS.ACK."+own+".>")
		hear = append(hear, prefix(s, g.Tenant)+">")
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: say},
		Subscribe: &server.SubjectPermission{Allow: append(hear, "_INBOX.>")},
	}
}

// Limits of a follower's consumer.
const (
	maxFollowerWaiting = 64
	maxFollowerPending = 10_000
	minFollowerAckWait = time.Second
)

// create makes consumers that followers request.
func (d *door) create(s *Server) func(m *nats.Msg) {
	return func(m *nats.Msg) {
		user, rest, _ := strings.Cut(strings.TrimPrefix(m.Subject, createSubject), ".")
		stream, filter, _ := strings.Cut(rest, ".")
		d.mu.Lock()
		g := d.guests[user]
		d.mu.Unlock()
		if g == nil {
			return
		}
		request, err := g.consumer(stream, filter, m.Data)
		if err != nil {
			_ = m.Respond(refusal(400, err.Error()))
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		subject := jetstream.DefaultAPIPrefix + "CONSUMER.CREATE." + stream + "." + user + "." + filter
		answer, err := s.conn.RequestWithContext(ctx, subject, request)
		if err != nil {
			_ = m.Respond(refusal(503, "JetStream does not answer"))
			return
		}
		_ = m.Respond(answer.Data)
	}
}

func refusal(code int, why string) []byte {
	text, _ := json.Marshal(map[string]any{
		"type":  "io.nats.jetstream.api.v1.consumer_create_response",
		"error": map[string]any{"code": code, "err_code": jetstream.JSErrCodeBadRequest, "description": why},
	})
	return text
}

// consumer builds the request for a follower's consumer; what is not named here is dropped or refused.
func (g *guest) consumer(stream, filter string, asked []byte) ([]byte, error) {
	var in struct {
		Action string                   `json:"action"`
		Config jetstream.ConsumerConfig `json:"config"`
	}
	if err := json.Unmarshal(asked, &in); err != nil {
		return nil, fmt.Errorf("the request cannot be read")
	}
	c := in.Config
	switch {
	case c.DeliverSubject != "" || c.DeliverGroup != "":
		return nil, fmt.Errorf("followers have pull consumers only: leave deliver_subject out")
	case len(c.FilterSubjects) > 0 || c.FilterSubject != filter:
		return nil, fmt.Errorf("filter_subject must be the one subject that the request is sent to")
	case !g.mayFilter(stream, filter):
		return nil, fmt.Errorf("filter_subject must begin with %s or %s", prefix(events.Events, g.Tenant),
			prefix(events.Executions, g.Tenant))
	case c.Name != "" && c.Name != g.User || c.Durable != "" && c.Durable != g.User || c.Name == "" && c.Durable == "":
		return nil, fmt.Errorf("the consumer must be named %s", g.User)
	case c.MaxWaiting > maxFollowerWaiting || c.MaxAckPending > maxFollowerPending:
		return nil, fmt.Errorf("max_waiting may be %d, max_ack_pending %d", maxFollowerWaiting, maxFollowerPending)
	case c.AckWait != 0 && c.AckWait < minFollowerAckWait:
		return nil, fmt.Errorf("ack_wait must be %v at least", minFollowerAckWait)
	}
	out := jetstream.ConsumerConfig{
		Name: g.User, Durable: c.Durable, FilterSubject: filter,
		DeliverPolicy: c.DeliverPolicy, OptStartSeq: c.OptStartSeq, OptStartTime: c.OptStartTime,
		AckPolicy: c.AckPolicy, AckWait: c.AckWait, MaxDeliver: c.MaxDeliver,
		MaxWaiting: c.MaxWaiting, MaxAckPending: c.MaxAckPending, HeadersOnly: c.HeadersOnly,
		InactiveThreshold: c.InactiveThreshold,
	}
	if out.MaxWaiting <= 0 {
		out.MaxWaiting = maxFollowerWaiting
	}
	if out.MaxAckPending <= 0 && out.AckPolicy != jetstream.AckNonePolicy {
		out.MaxAckPending = maxFollowerPending
	}
	return json.Marshal(map[string]any{"stream_name": stream, "config": out, "action": in.Action})
}

// mayFilter reports whether a filter passes only the tenant's messages.
func (g *guest) mayFilter(stream, filter string) bool {
	for _, s := range followed {
		if rest, ok := strings.CutPrefix(filter, prefix(s, g.Tenant)); ok && s.String() == stream {
			return rest != ""
		}
	}
	return false
}
