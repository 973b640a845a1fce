package store_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

// placedPublication is a row of the log that is published.
func placedPublication(num, commit int64, at flow.Time) engine.LogRow {
	id := idOf(num<<20 + commit)
	row := logRow(num, commit)
	row.Body = fmt.Appendf(nil, `[{"c":"StartExecution","t":%d,"a":["system"],"i":%q,"e":[[2,{}]]}]`, at,
		base64.RawURLEncoding.EncodeToString(id[:]))
	return row
}

// tell appends a row to an execution in a commit.
func tell(ctx context.Context, tx engine.Tx, h engine.Head, row engine.LogRow) error {
	return tx.Write(ctx, &engine.Batch{Log: []engine.LogRow{row}, Publications: []engine.Publication{
		{Tenant: h.Tenant, Execution: h.ID, Main: true},
	}})
}

// TestRowsAreFoundByTheirInstant looks for instants in a log whose rows are about in
// their order, as processes side by side write them.
func TestRowsAreFoundByTheirInstant(t *testing.T) {
	for name, where := range map[string]func() string{
		"sqlite":   func() string { return filepath.Join(t.TempDir(), "test.db") },
		"postgres": func() string { return pgtest.New(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, where())
			source := store.NewSource(s, store.SourceConfig{})
			if n, err := source.Before(t.Context(), 1); n != 0 || err != nil {
				t.Errorf("in an empty log: got %d, %v", n, err)
			}
			h := execution(t, s)
			const rows, apart, disorder = 500, 10_000, 50_000
			base := flow.At(time.Now()) - rows*apart
			draw := rand.New(rand.NewPCG(1, 2))
			var at [rows + 2]flow.Time
			for no := int64(2); no <= rows; no++ {
				at[no] = base + flow.Time(no*apart+draw.Int64N(disorder))
				row := placedPublication(h.Num, no, at[no])
				if no%50 == 0 {
					row.Body = []byte("damaged")
				}
				commit(t, s, func(ctx context.Context, tx engine.Tx) error { return tell(ctx, tx, h, row) })
			}
			for range 200 {
				asked := base + flow.Time(draw.Int64N((rows+20)*apart))
				n, err := source.Before(t.Context(), canonical.Stamp(asked))
				if err != nil {
					t.Fatal(err)
				}
				next := int64(1) // the newest row that is older than the room asks for
				for no := int64(2); no <= rows; no++ {
					if no%50 != 0 && no-1 <= n && at[no] >= asked {
						t.Errorf("before %d: got number %d, and row %d is of %d", asked, n, no-1, at[no])
					}
					if at[no] < asked-60_000-rows*apart/100-disorder {
						next = no - 1
					}
				}
				if n < next-10 {
					t.Errorf("before %d: got number %d, want about %d", asked, n, next)
				}
			}
		})
	}
}
