package messages

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
)

// Caller is who sends a message.
type Caller struct {
	Tenant        string
	Subject       string // "": not known
	CorrelationID string
}

// Sent is the answer to whoever sends a message.
type Sent struct {
	Duplicate bool `json:"duplicate"` // a message of this id was sent before: this is what became of it
	Message
}

// maxLooks is how often somebody decides anew because what it went by has changed meanwhile.
const maxLooks = 20

var errRestless = fault.Overloaded("the nodes that wait for the message change all the time; nothing was done, " +
	"send it again")

// Send delivers a message, or keeps it. replay says that the idempotency key was used before and this is its answer.
func (m *Messages) Send(ctx context.Context, c Caller, d Draft, key *canonical.IdempotencyKey) (
	answer Sent, replay bool, err error,
) {
	if d.ID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return answer, false, fault.Wrap("messages.send", err)
		}
		d.ID = messageID(id.String())
	}
	for range maxLooks {
		s := sending{m: m, key: key, delivery: delivery{m: m, tenant: c.Tenant, fresh: true}}
		s.Message = Message{
			ID: string(d.ID), Name: d.Name, Key: d.Key, State: Kept, Sender: c.Subject, CorrelationID: c.CorrelationID,
			Payload: d.Payload,
		}
		if err := s.look(ctx, d); err != nil || s.known {
			return s.answer, s.replay, err
		}
		switch err := s.commit(ctx); {
		case err == nil:
			if s.answer.State == Kept { // a node may have begun to wait since somebody looked
				m.Awaits(c.Tenant, s.awaited())
			}
			return s.answer, false, nil
		case !errors.Is(err, errChanged):
			return answer, false, err
		}
	}
	return answer, false, errRestless
}

// sending is a message on its way in.
type sending struct {
	delivery
	m      *Messages
	key    *canonical.IdempotencyKey
	answer Sent
	known  bool // the answer is that to the key, or what became of the message before
	replay bool
}

// look reads what is to be done with a message.
func (s *sending) look(ctx context.Context, d Draft) error {
	return s.m.read(ctx, "look", func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := s.m.now(ctx, tx)
		if err != nil {
			return err
		}
		s.ReceivedAt, s.ExpiresAt = now, now+canonical.Stamp(time.Duration(d.TTL).Milliseconds())
		if s.known, err = s.remembered(ctx, tx); err != nil || s.known {
			return err
		}
		older, err := oldest(ctx, tx, s.tenant, s.awaited(), now)
		if err != nil {
			return err
		}
		if older == nil { // else it is for that to be delivered first
			if err := s.find(ctx, tx); err != nil || !s.idle() {
				return err
			}
		}
		return hasRoom(ctx, tx, s.tenant)
	})
}

// remembered reads the answer to the key, or what became of the message when it was sent before.
func (s *sending) remembered(ctx context.Context, tx *sqldb.Tx) (known bool, err error) {
	raw, err := s.m.keys.Recall(ctx, tx, idempotency.Request{Tenant: s.tenant, Key: s.key, At: s.ReceivedAt})
	if err != nil {
		return false, err
	}
	if raw != nil {
		s.replay = true
		return true, fromJSON(raw, &s.answer)
	}
	before, err := scanWhole(tx.Row(ctx, selectOne, s.tenant, s.ID))
	switch {
	case errors.Is(err, sqldb.ErrNoRow):
		return false, nil
	case err != nil:
		return false, err
	case before.awaited() != s.awaited() || string(before.Payload) != string(s.Payload):
		return false, fault.New(fault.Conflict, "MESSAGE_EXISTS",
			"there is a message %.128q with another name, key or payload; send this one with another messageId", s.ID)
	}
	before.Payload = nil
	s.answer = Sent{true, before}
	return true, nil
}

// hasRoom refuses a message that would be kept beside too many.
func hasRoom(ctx context.Context, tx *sqldb.Tx, tenant string) error {
	var n int
	err := tx.Row(ctx, `SELECT count(*) FROM (SELECT 1 FROM messages_message WHERE tenant_id = $1 AND state = 1
		LIMIT $2) AS kept`, tenant, MaxKept).Scan(&n)
	if err == nil && n >= MaxKept {
		return fault.New(fault.TooLarge, "TOO_MANY_MESSAGES",
			"%d messages are kept for nodes to come, the most that a tenant may have; see GET /messages?state=KEPT, "+
				"and send with a shorter ttl", n)
	}
	return err
}

// commit stores a message with what it does, and the answer.
func (s *sending) commit(ctx context.Context) error {
	return s.do(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		request := idempotency.Request{Tenant: s.tenant, Key: s.key, At: s.ReceivedAt}
		var replay bool
		var err error
		s.answer, replay, err = idempotency.DoJSON(ctx, tx, s.m.keys, request, func() (Sent, error) {
			if err := s.insert(ctx, tx); err != nil {
				return Sent{}, err
			}
			answer := Sent{false, s.Message}
			answer.Payload = nil
			return answer, nil
		})
		if replay {
			return errChanged // look finds the answer
		}
		return err
	})
}

// insert stores the message. errChanged: one with its id is there.
func (s *sending) insert(ctx context.Context, tx *sqldb.Tx) error {
	deliveries, err := s.outcome()
	if err != nil {
		return err
	}
	stmt := s.row(s.tenant, deliveries)
	n, err := tx.Exec(ctx, stmt.Query, stmt.Args...)
	if err == nil && n == 0 {
		err = errChanged
	}
	return err
}

// row inserts a message, unless there is one with its id.
func (m *Message) row(tenant, deliveries string) sqldb.Stmt {
	return sqldb.Stmt{
		Query: `INSERT INTO messages_message (tenant_id, ` + columns + `, payload)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (tenant_id, id) DO NOTHING`,
		Args: []any{
			tenant, m.ID, m.Name, m.Key, m.State, deliveries, m.Reason, m.Sender, m.CorrelationID, m.ReceivedAt,
			m.ExpiresAt, m.DecidedAt, string(m.Payload),
		},
	}
}
