package webhooks

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Webhook is a webhook and how it does.
type Webhook struct {
	ID string `json:"id"`
	Definition
	HeaderNames []string        `json:"headerNames"`
	State       State           `json:"state"`
	Reason      string          `json:"reason,omitzero"`
	Since       canonical.Stamp `json:"since"`            // of the state
	RetryAt     canonical.Stamp `json:"retryAt,omitzero"` // of Parked
	DisablesAt  canonical.Stamp `json:"disablesAt,omitzero"`
	SucceededAt canonical.Stamp `json:"succeededAt,omitzero"`
	Open        int64           `json:"open"` // deliveries that are not settled
	MissedSince canonical.Stamp `json:"missedSince,omitzero"`
	Recovery    *Recovery       `json:"recovery,omitzero"`
	PublicKeys  []string        `json:"publicKeys"`
	RotatedTo   canonical.Stamp `json:"previousSecretUntil,omitzero"`
	CreatedAt   canonical.Stamp `json:"createdAt"`
	UpdatedAt   canonical.Stamp `json:"updatedAt"`
	// Secret is there in the answer that made it, and nowhere else.
	Secret string `json:"secret,omitzero"`
}

// Recovery is how far deliveries are recovered.
type Recovery struct {
	Since   canonical.Stamp `json:"since"`
	Planned int64           `json:"planned"`
	EndedAt canonical.Stamp `json:"endedAt,omitzero"`
}

// row is a webhook as it is stored.
type row struct {
	tenant string
	id     string
	hook   string
	def    Definition
	body   string
	header map[string]string
	health
	success canonical.Stamp
	secrets
	lastSeq int64
	open    int64
	missed  canonical.Stamp
	look    canonical.Stamp
	held    canonical.Stamp
	holder  string
	rec     Recovery
	place   int64 // of the recovery; only with rec.Since and without rec.EndedAt
	created canonical.Stamp
	updated canonical.Stamp
}

const rowColumns = "tenant_id, id, hook, body, headers, state, reason, since, strikes, success_at, secret, seed, " +
	"old_secret, old_seed, old_until, last_seq, open_count, missed_at, look_at, held_until, holder, recover_since, " +
	"recover_place, recover_planned, recover_ended_at, created_at, updated_at"

const (
	selectRow  = "SELECT " + rowColumns + " FROM webhooks_webhook WHERE tenant_id = $1 AND id = $2"
	selectRows = "SELECT " + rowColumns + " FROM webhooks_webhook WHERE tenant_id = $1 ORDER BY id LIMIT $2 OFFSET $3"
	countRows  = "SELECT count(*) FROM webhooks_webhook WHERE tenant_id = $1"
)

func scanRow(from *sqldb.Row) (r row, err error) {
	var headers string
	err = from.Scan(&r.tenant, &r.id, &r.hook, &r.body, &headers, &r.state, &r.reason, &r.since, &r.strikes,
		&r.success, &r.current.shared, &r.current.seed, &r.previous.shared, &r.previous.seed, &r.until, &r.lastSeq,
		&r.open, &r.missed, &r.look, &r.held, &r.holder, &r.rec.Since, &r.place, &r.rec.Planned, &r.rec.EndedAt,
		&r.created, &r.updated)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(headers), &r.header); err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(r.body), &r.def)
}

// lock reads a webhook and holds it until the transaction ends.
func lock(ctx context.Context, tx *sqldb.Tx, tenant, id string) (r row, err error) {
	r, err = scanRow(tx.Row(ctx, selectRow+forUpdate(tx), tenant, id))
	if errors.Is(err, sqldb.ErrNoRow) {
		err = unknown(id)
	}
	return r, err
}

// forUpdate locks the rows that a statement selects, where there is more than one writer.
func forUpdate(tx *sqldb.Tx) string {
	if tx.Dialect() == sqldb.SQLite {
		return ""
	}
	return " FOR UPDATE"
}

const insertRow = "INSERT INTO webhooks_webhook (" + rowColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, " +
	"$10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)"

const updateRow = `UPDATE webhooks_webhook SET hook = $3, body = $4, headers = $5, state = $6, reason = $7, since = $8,
	strikes = $9, success_at = $10, secret = $11, seed = $12, old_secret = $13, old_seed = $14, old_until = $15,
	last_seq = $16, open_count = $17, missed_at = $18, look_at = $19, held_until = $20, holder = $21,
	recover_since = $22, recover_place = $23, recover_planned = $24, recover_ended_at = $25, created_at = $26,
	updated_at = $27 WHERE tenant_id = $1 AND id = $2`

// stmt stores the row, which is locked or new.
func (r *row) stmt(query string) (sqldb.Stmt, error) {
	headers, err := json.Marshal(r.header, json.Deterministic(true))
	if err != nil {
		return sqldb.Stmt{}, err
	}
	return sqldb.Stmt{Query: query, Args: []any{
		r.tenant, r.id, r.hook, r.body, string(headers), r.state, r.reason, r.since, r.strikes, r.success,
		r.current.shared, r.current.seed, given(r.previous.shared), given(r.previous.seed), r.until, r.lastSeq, r.open,
		r.missed, r.look, r.held, r.holder, r.rec.Since, r.place, r.rec.Planned, r.rec.EndedAt, r.created, r.updated,
	}}, nil
}

// given is bytes that are not NULL.
func given(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// recovering reports whether deliveries are being recovered.
func (r *row) recovering() bool { return r.rec.Since > 0 && r.rec.EndedAt == 0 }

// sends reports whether deliveries are sent.
func (r *row) sends() bool { return r.state == Active || r.state == Parked }

// wake lets somebody look at the webhook at once, unless its endpoint is left alone for a while.
func (r *row) wake(now canonical.Stamp) {
	if r.look == 0 || r.look > now && r.strikes == 0 {
		r.look = now
	}
}

// shown is the webhook as it is shown: without secrets and values of headers.
func (r *row) shown(now canonical.Stamp) Webhook {
	w := Webhook{
		ID: r.id, Definition: r.def, HeaderNames: slices.Sorted(maps.Keys(r.header)), State: r.state, Reason: r.reason,
		Since: r.since, SucceededAt: r.success, Open: r.open, MissedSince: r.missed, CreatedAt: r.created,
		UpdatedAt: r.updated,
	}
	if w.HeaderNames == nil {
		w.HeaderNames = []string{}
	}
	with := r.at(now)
	for _, s := range with {
		w.PublicKeys = append(w.PublicKeys, s.public())
	}
	if len(with) > 1 {
		w.RotatedTo = r.until
	}
	if r.state == Parked {
		w.RetryAt, w.DisablesAt = r.look, r.since+stamps(DisableAfter)
	}
	if r.rec.Since > 0 {
		rec := r.rec
		w.Recovery = &rec
	}
	return w
}

// unknown says that there is no such webhook.
func unknown(id string) error {
	return fault.New(fault.NotFound, "WEBHOOK_NOT_FOUND",
		"there is no webhook %.80q; store it with PUT /webhooks/{id}", id)
}
