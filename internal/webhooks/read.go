package webhooks

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
)

// view runs fn with a webhook and the time.
func (w *Webhooks) view(
	ctx context.Context, op, tenant, id string,
	fn func(ctx context.Context, tx *sqldb.Tx, r *row, now canonical.Stamp) error,
) error {
	return w.read(ctx, op, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := w.now(ctx, tx)
		if err != nil {
			return err
		}
		r, err := scanRow(tx.Row(ctx, selectRow, tenant, id))
		if errors.Is(err, sqldb.ErrNoRow) {
			return unknown(id)
		}
		if err != nil {
			return err
		}
		return fn(ctx, tx, &r, now)
	})
}

// Get is a webhook.
func (w *Webhooks) Get(ctx context.Context, tenant, id string) (found Webhook, err error) {
	err = w.view(ctx, "get", tenant, id, func(_ context.Context, _ *sqldb.Tx, r *row, now canonical.Stamp) error {
		found = r.shown(now)
		return nil
	})
	return found, err
}

// List is a page of a tenant's webhooks, by id, and how many there are.
func (w *Webhooks) List(ctx context.Context, tenant string, offset, limit int) (
	page []Webhook, total int, err error,
) {
	err = w.read(ctx, "list", func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := w.now(ctx, tx)
		if err != nil {
			return err
		}
		if err := tx.Row(ctx, countRows, tenant).Scan(&total); err != nil {
			return err
		}
		page, err = sqldb.Collect(ctx, tx, func(from *sqldb.Row) (Webhook, error) {
			r, err := scanRow(from)
			if err != nil {
				return Webhook{}, err
			}
			return r.shown(now), nil
		}, selectRows, tenant, limit, offset)
		return err
	})
	return page, total, err
}

// DeliveryQuery is which deliveries are wanted; what is zero is any.
type DeliveryQuery struct {
	State         DeliveryState
	EventType     string
	Key           string          // partition key
	From, To      canonical.Stamp // of planning; To is not among them
	Offset, Limit int
}

// Deliveries is a page of a webhook's deliveries, the newest first, and how many there are.
func (w *Webhooks) Deliveries(ctx context.Context, tenant, id string, q DeliveryQuery) (
	page []Delivery, total int, err error,
) {
	list := func(ctx context.Context, tx *sqldb.Tx, r *row, _ canonical.Stamp) error {
		binds := sqldb.Bind(tenant, r.hook)
		where := " FROM webhooks_delivery WHERE tenant_id = $1 AND hook = $2"
		if q.State != 0 {
			where += " AND state = " + binds.Add(q.State)
		}
		if q.EventType != "" {
			where += " AND event_type = " + binds.Add(q.EventType)
		}
		if q.Key != "" {
			where += " AND key = " + binds.Add(q.Key)
		}
		if q.From > 0 {
			where += " AND planned_at >= " + binds.Add(q.From)
		}
		if q.To > 0 {
			where += " AND planned_at < " + binds.Add(q.To)
		}
		counted := slices.Clip(binds.Args())
		if err := tx.Row(ctx, "SELECT count(*)"+where, counted...).Scan(&total); err != nil {
			return err
		}
		rows := "SELECT seq, " + shownColumns + where + " ORDER BY seq DESC LIMIT " + binds.Add(q.Limit) +
			" OFFSET " + binds.Add(q.Offset)
		page, err = sqldb.Collect(ctx, tx, scanDelivery, rows, binds.Args()...)
		return err
	}
	err = w.view(ctx, "deliveries", tenant, id, list)
	return page, total, err
}

// Details is a delivery with what is sent, and its attempts that did not succeed.
type Details struct {
	Delivery
	Event    jsontext.Value `json:"event"`
	Failures []Attempt      `json:"failures"`
}

// mostAttempts is how many attempts of a delivery are shown, the newest.
const mostAttempts = 100

// Delivery is a delivery of a webhook.
func (w *Webhooks) Delivery(ctx context.Context, tenant, id, eventID string) (found Details, err error) {
	read := func(ctx context.Context, tx *sqldb.Tx, r *row, _ canonical.Stamp) error {
		found = Details{Event: jsontext.Value("null"), Failures: []Attempt{}}
		if found.Delivery, err = deliveryOf(ctx, tx, r, eventID); err != nil {
			return err
		}
		var body []byte
		err := tx.Row(ctx, "SELECT body FROM webhooks_event WHERE tenant_id = $1 AND event_id = $2", tenant, eventID).
			Scan(&body)
		if err == nil {
			found.Event = body
		} else if !errors.Is(err, sqldb.ErrNoRow) {
			return err
		}
		failures, err := sqldb.Collect(ctx, tx, scanAttempt, "SELECT "+attemptColumns+` FROM webhooks_attempt
			WHERE tenant_id = $1 AND hook = $2 AND seq = $3 ORDER BY attempt DESC LIMIT $4`, tenant, r.hook,
			found.Seq, mostAttempts)
		slices.Reverse(failures)
		found.Failures = append(found.Failures, failures...)
		return err
	}
	err = w.view(ctx, "delivery", tenant, id, read)
	return found, err
}

func deliveryOf(ctx context.Context, tx *sqldb.Tx, r *row, eventID string) (Delivery, error) {
	d, err := scanDelivery(tx.Row(ctx, "SELECT seq, "+shownColumns+` FROM webhooks_delivery
		WHERE tenant_id = $1 AND hook = $2 AND event_id = $3`, r.tenant, r.hook, eventID))
	if errors.Is(err, sqldb.ErrNoRow) {
		err = noDelivery(r.id, eventID)
	}
	return d, err
}

func noDelivery(id, eventID string) error {
	return fault.New(fault.NotFound, "WEBHOOK_DELIVERY_NOT_FOUND",
		"the webhook %s has no delivery of the event %.64q", id, eventID)
}

// Tested is what came of a test.
type Tested struct {
	Delivered bool   `json:"delivered"`
	Took      int64  `json:"milliseconds"`
	Status    int64  `json:"status,omitzero"`
	Error     string `json:"error,omitzero"`
	Answer    string `json:"answer,omitzero"`
}

// Test posts a message of the type webhook.test at once, whatever the state of the webhook, which it does not change.
// A repetition gets the answer of the first.
func (w *Webhooks) Test(
	ctx context.Context, c Caller, id string, key *canonical.IdempotencyKey,
) (t Tested, err error) {
	var to endpoint
	var body, known []byte
	message := uuid.NewString()
	err = w.write(ctx, "test", func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		request := idempotency.Request{Tenant: c.Tenant, Key: key, At: now}
		if known, err = w.keys.Recall(ctx, tx, request); err != nil || known != nil {
			return err
		}
		r, err := lock(ctx, tx, c.Tenant, id)
		if err != nil {
			return err
		}
		to = r.endpoint(now)
		body = testBody(c.Tenant, id, message, now)
		return w.note(ctx, tx, entry{by: c, action: "webhook.test", id: id, at: now})
	})
	if err == nil && known != nil {
		return t, json.Unmarshal(known, &t)
	}
	if err != nil {
		return t, err
	}
	came := w.sender.post(ctx, to, message, body)
	t = Tested{
		Delivered: verdictOf(came.status) == delivered, Took: came.took.Milliseconds(), Status: int64(came.status),
		Error: came.err, Answer: came.answer,
	}
	err = w.write(ctx, "tested", func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		request := idempotency.Request{Tenant: c.Tenant, Key: key, At: now}
		t, _, err = idempotency.DoJSON(ctx, tx, w.keys, request, func() (Tested, error) { return t, nil })
		return err
	})
	return t, err
}

// testBody is the message of a test.
func testBody(tenant, id, message string, now canonical.Stamp) []byte {
	out := canonical.AppendText([]byte(`{"eventId":`), message)
	out = append(now.Append(append(out, `,"eventType":"webhook.test","occurredAt":"`...)), '"')
	out = canonical.AppendText(append(out, `,"tenantId":`...), tenant)
	return append(canonical.AppendText(append(out, `,"payload":{"webhook":`...), id), `}}`...)
}
