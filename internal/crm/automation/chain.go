package automation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// What one change may lead to.
const (
	MaxDepth   = 5   // changes by rules that follow one from the other
	MaxActions = 100 // actions of all of them together
)

// CodeLoop is the code of a dead letter whose event is the end of a chain that is too long.
const CodeLoop = "AUTOMATION_LOOP"

// cause is the actions that led to a change, one after the other. Its zero value is a change
// that a user made.
type cause struct {
	depth   int
	actions int
	chain   []string
}

const selectCause = "SELECT depth, actions, chain FROM automation_cause WHERE tenant_id = $1 AND object = $2 AND " +
	"record_id = $3 AND version = $4"

// follow reads the cause of the change to a version, and refuses a chain that is too long.
func (t *turn) follow(ctx context.Context, tx *sqldb.Tx, version canonical.Stamp) error {
	var chain string
	err := tx.Row(ctx, selectCause, t.tenant, t.object, t.record, version).Scan(&t.cause.depth, &t.cause.actions,
		&chain)
	switch {
	case errors.Is(err, sqldb.ErrNoRow):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal([]byte(chain), &t.cause.chain); err != nil {
			return err
		}
	}
	return t.cause.check(t.deeds, t.eventType)
}

// check refuses deeds that would make a chain too long.
func (c *cause) check(deeds []deed, eventType string) error {
	limit := ""
	switch {
	case c.depth > MaxDepth:
		limit = fmt.Sprintf("%d changes", MaxDepth)
	case c.actions+len(deeds) > MaxActions:
		limit = fmt.Sprintf("%d actions", MaxActions)
	default:
		return nil
	}
	next := &deeds[0]
	chain := strings.Join(append(c.chain, fmt.Sprintf("%s would do %s", next.by(), next.action.Key)), ", then ")
	return bus.Permanent(fault.New(fault.Conflict, CodeLoop,
		"rules set each other off: more than %s follow from one. The chain: %s, on %s. Change a rule, then redrive "+
			"or skip this event", limit, chain, eventType).
		With(map[string]any{"depth": c.depth, "actions": c.actions, "chain": c.chain}))
}

// causeStmt stores that deeds of a turn made a version of its record.
func (t *turn) causeStmt(version canonical.Stamp) (sqldb.Stmt, error) {
	var did []string
	for i := range t.deeds {
		if d := &t.deeds[i]; d.action.Type == model.UpdateField {
			did = append(did, fmt.Sprintf("%s did %s", d.by(), d.action.Key))
		}
	}
	link := strings.Join(did, " and ") + " on " + t.eventType + " " + t.eventID
	chain, err := json.Marshal(append(t.cause.chain[:len(t.cause.chain):len(t.cause.chain)], link))
	return sqldb.Stmt{
		Query: `INSERT INTO automation_cause (tenant_id, object, record_id, version, depth, actions, chain, at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		Args: []any{
			t.tenant, t.object, t.record, version, t.cause.depth + 1, t.cause.actions + len(t.deeds),
			string(chain), t.at,
		},
	}, err
}
