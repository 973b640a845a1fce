package webhooks

import (
	"slices"
	"strings"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// DeliveryState is what became of a delivery. The numbers are stored.
type DeliveryState int64

// The states of deliveries.
const (
	Waiting   DeliveryState = 1 // for its turn
	Retrying  DeliveryState = 2 // the endpoint refused it; it is tried again
	Delivered DeliveryState = 3
	Failed    DeliveryState = 4 // the endpoint refused it MaxTries times; somebody must decide
	Skipped   DeliveryState = 5 // somebody decided so, or the filter failed
)

var deliveryStates = [...]string{
	Waiting: "WAITING", Retrying: "RETRYING", Delivered: "DELIVERED", Failed: "FAILED", Skipped: "SKIPPED",
}

func (s DeliveryState) String() string { return deliveryStates[s] }

// MarshalText writes the word.
func (s DeliveryState) MarshalText() ([]byte, error) { return []byte(deliveryStates[s]), nil }

// UnmarshalText reads the word, of a stored answer.
func (s *DeliveryState) UnmarshalText(text []byte) error {
	*s, _ = ParseDeliveryState(string(text))
	return nil
}

// ParseDeliveryState is a state by its word.
func ParseDeliveryState(word string) (DeliveryState, bool) {
	at := slices.Index(deliveryStates[:], word)
	return DeliveryState(at), at >= int(Waiting)
}

// What is stored of an answer.
const (
	MaxAnswer = 1024 // bytes of its body
	maxError  = 500
)

// Delivery is an event for a webhook, and what became of it.
type Delivery struct {
	Seq       int64           `json:"number"`
	EventID   string          `json:"eventId"`
	EventType string          `json:"eventType"`
	Key       string          `json:"partitionKey"`
	Size      int64           `json:"bytes"`
	PlannedAt canonical.Stamp `json:"plannedAt"`
	State     DeliveryState   `json:"state"`
	Attempts  int64           `json:"attempts"`
	Tries     int64           `json:"-"` // attempts that count: those that the endpoint refused
	DueAt     canonical.Stamp `json:"dueAt,omitzero"`
	// Of the last attempt:
	TriedAt canonical.Stamp `json:"triedAt,omitzero"`
	Took    int64           `json:"milliseconds,omitzero"`
	Status  int64           `json:"status,omitzero"`
	Error   string          `json:"error,omitzero"`
	Answer  string          `json:"answer,omitzero"`
}

const deliveryColumns = "tenant_id, hook, seq, " + shownColumns

const shownColumns = "event_id, event_type, key, size, planned_at, state, attempts, tries, due_at, tried_at, took, " +
	"status, error, answer"

func scanDelivery(row *sqldb.Row) (d Delivery, err error) {
	err = row.Scan(&d.Seq, &d.EventID, &d.EventType, &d.Key, &d.Size, &d.PlannedAt, &d.State, &d.Attempts, &d.Tries,
		&d.DueAt, &d.TriedAt, &d.Took, &d.Status, &d.Error, &d.Answer)
	return d, err
}

func (d *Delivery) values(tenant, hook string) []any {
	return []any{
		tenant, hook, d.Seq, d.EventID, d.EventType, d.Key, d.Size, d.PlannedAt, d.State, d.Attempts, d.Tries, d.DueAt,
		d.TriedAt, d.Took, d.Status, d.Error, d.Answer,
	}
}

// Attempt is one try of a delivery.
type Attempt struct {
	Number  int64           `json:"number"`
	TriedAt canonical.Stamp `json:"triedAt"`
	Took    int64           `json:"milliseconds"`
	Status  int64           `json:"status,omitzero"` // 0: there was no answer
	Error   string          `json:"error,omitzero"`
	Answer  string          `json:"answer,omitzero"`
}

const attemptColumns = "attempt, tried_at, took, status, error, answer"

func scanAttempt(row *sqldb.Row) (a Attempt, err error) {
	err = row.Scan(&a.Number, &a.TriedAt, &a.Took, &a.Status, &a.Error, &a.Answer)
	return a, err
}

// clip is at most so many bytes of a text, as text that a database takes and a terminal shows.
func clip(text string, most int) string {
	text = text[:min(len(text), most)]
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
