package bulk

import (
	"context"
	"testing"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// TestAStopSeesTheEndThatIsBeingWritten stops a bulk while another process writes its last
// results, on PostgreSQL: what is done stays done.
func TestAStopSeesTheEndThatIsBeingWritten(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		if r.db.Dialect() == sqldb.SQLite {
			t.Skip("SQLite has one writer")
		}
		id := r.frozen(1)
		r.start(id)
		var ans Answer
		waits, err := sqltest.During(t, r.db, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE bulk SET status = $2 WHERE id = $1", id, int64(Done))
			return err
		}, func() (err error) {
			ans, err = r.Stop(t.Context(), r.order(id, "stop"))
			return err
		})
		if err != nil || !waits || ans.Refused != GuardNotEnded || ans.Status != Done {
			t.Errorf("it waits: %t, %+v %v; want a refusal: the bulk is done", waits, ans, err)
		}
		r.is(id, Done)
	})
}
