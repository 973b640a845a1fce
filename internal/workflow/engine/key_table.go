package engine

import (
	"context"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

type storedKey struct {
	Members   map[string]uint32 `json:"m,omitempty"`
	Corr      string            `json:"r,omitempty"`
	Execution flow.ID           `json:"e,omitzero"` // of a creation
	Refused   *flow.Refusal     `json:"f,omitzero"` // of a creation that was refused
	Tasks     []taskRef         `json:"x,omitempty"`
}

// keyTable is the idempotency keys that belong to no execution, of creations and claims, as one
// commit sees them.
type keyTable struct {
	e    *Engine
	ctx  context.Context
	tx   Tx
	rows []KeyRow           // to write
	at   map[KeyRef]int     // their places
	seen map[KeyRef]*KeyRow // that were looked up; nil: not remembered
}

func (k *keyTable) remember(now flow.Time, tenant string, key *canonical.IdempotencyKey, body *storedKey) error {
	body.Members = make(map[string]uint32, len(key.Members))
	for _, m := range key.Members {
		body.Members[m.Name] = m.Digest
	}
	raw, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return fault.Wrap("engine.key", err)
	}
	ref := KeyRef{Tenant: tenant, Endpoint: key.Endpoint, Key: key.Key}
	if k.at == nil {
		k.at = map[KeyRef]int{}
	}
	k.at[ref] = len(k.rows)
	k.rows = append(k.rows, KeyRow{KeyRef: ref, Hash: key.Hash, At: now, Body: raw})
	return nil
}

// refuse answers a creation that the state of another execution refuses; its key remembers that.
func (k *keyTable) refuse(now flow.Time, req *Request, refused *flow.Refusal, err error) (Answer, error) {
	if err != nil {
		return Answer{}, err
	}
	if req.Idempotency.Key != "" {
		body := storedKey{Corr: req.CorrelationID, Refused: refused}
		err = k.remember(now, req.Tenant, &req.Idempotency, &body)
	}
	return Answer{
		Command: req.Command.Name(), CorrelationID: req.CorrelationID, Key: req.Idempotency.Key, Refused: refused,
	}, err
}

// recall finds what is remembered under a key that belongs to no execution.
func (k *keyTable) recall(now flow.Time, tenant string, key *canonical.IdempotencyKey) (*storedKey, error) {
	if key.Key == "" {
		return nil, nil
	}
	ref := KeyRef{Tenant: tenant, Endpoint: key.Endpoint, Key: key.Key}
	found, seen := k.seen[ref]
	if i, ok := k.at[ref]; ok {
		found = &k.rows[i]
	} else if !seen {
		if err := k.look([]KeyRef{ref}); err != nil {
			return nil, err
		}
		found = k.seen[ref]
	}
	if found == nil || found.At+k.e.retention <= now {
		return nil, nil
	}
	var body storedKey
	if err := json.Unmarshal(found.Body, &body); err != nil {
		return nil, fault.Wrap("engine.recall", err)
	}
	if found.Hash != key.Hash {
		return nil, k.e.conflict(key, membersOf(body.Members), found.At)
	}
	return &body, nil
}

func (k *keyTable) look(refs []KeyRef) error {
	rows, err := k.tx.Keys(k.ctx, refs)
	if err != nil {
		return fault.Wrap("engine.recall", err)
	}
	for i, ref := range refs {
		k.seen[ref] = rows[i]
	}
	return nil
}

// lookAll reads the keys of all creations and claims in w at once.
func (k *keyTable) lookAll(w *work) error {
	var refs []KeyRef
	add := func(tenant string, key *canonical.IdempotencyKey) {
		if key.Key != "" {
			refs = append(refs, KeyRef{Tenant: tenant, Endpoint: key.Endpoint, Key: key.Key})
		}
	}
	creations := func(reqs []Request) {
		for i := range reqs {
			if reqs[i].Execution.IsZero() {
				add(reqs[i].Tenant, &reqs[i].Idempotency)
			}
		}
	}
	for _, c := range w.calls {
		creations(c.reqs[c.decided:])
	}
	for _, u := range w.units {
		creations(u.unit.Commands)
	}
	for _, c := range w.claims {
		add(c.req.Tenant, &c.req.Idempotency)
	}
	if len(refs) == 0 {
		return nil
	}
	return k.look(refs)
}

// conflict says that a key was used before with another body, and how they differ.
func (e *Engine) conflict(key *canonical.IdempotencyKey, first []canonical.Member, at flow.Time) error {
	return fault.New(fault.Conflict, "IDEMPOTENCY_CONFLICT",
		"this idempotency key was used before with another body; repeat the first request unchanged or use a new key").
		With(map[string]any{
			"differs":     canonical.Differing(first, key.Members),
			"firstUsedAt": at,
			"expiresAt":   at + e.retention,
		})
}
