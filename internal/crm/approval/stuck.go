package approval

import (
	"context"
	"fmt"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// coreConsumer is what core is called on the bus.
const coreConsumer = "core"

// stuck is why core does not take the end of an approval: an event that became a dead
// letter. Nothing but an operator's decision helps.
type stuck struct {
	letter string // its id; "": there is none, and core will take it in a moment
	help   string // what to do, as a sentence
}

// stuckAt looks for a dead letter that keeps core from taking the end of an approval: the
// first of the approval that is open, since what is behind it waits.
func stuckAt(ctx context.Context, tx *sqldb.Tx, tenant, id string) (stuck, error) {
	letters, err := bus.OpenDead(ctx, tx, tenant, coreConsumer, events.RecordKey("Approval", tenant, id))
	if err != nil || len(letters) == 0 {
		return stuck{}, err
	}
	l := &letters[0]
	return stuck{l.ID, fmt.Sprintf("its event %s is the dead letter %s: when its cause is put right, an operator "+
		"redrives it (renga dlq redrive %s)", l.EventType, l.ID, l.ID)}, nil
}
