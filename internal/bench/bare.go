package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb"
)

// bareRig is what this machine does without an engine: commits of one row in a
// database of their own, and echoes of another process.
type bareRig struct {
	db      *sqldb.DB
	worker  *worker
	row     []byte
	request []byte
	rows    int
}

// withBare starts a rig for the time that f runs.
func withBare(ctx context.Context, dir string, f func(*bareRig) error) error {
	echo, err := startSelf(ctx, "/", "bench-echo")
	if err != nil {
		return err
	}
	defer echo.stop()
	err = app.WithDB(ctx, app.Place{DataDir: dir}, func(db *sqldb.DB) error {
		return f(&bareRig{
			db: db, worker: newWorker(1, 1, echo), row: bytes.Repeat([]byte("0123456789"), 40),
			request: []byte(`{"attempt":1,"workerId":"bench","output":{},"next":true}`),
		})
	})
	if err != nil {
		return err
	}
	return echo.stop()
}

// commit writes a row of the size of a log row, durably.
func (b *bareRig) commit(ctx context.Context) error {
	b.rows++
	return b.db.Write(ctx, sqldb.Engine, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, insertBare, 1, b.rows, 1, 1, b.row)
		return err
	})
}

// echo sends a request of the size of a completion and reads it back.
func (b *bareRig) echo(ctx context.Context) error {
	return b.worker.call(ctx, http.MethodPost, "/", b.request, http.StatusOK, new(struct{}))
}

const insertBare = `INSERT INTO engine_log (execution, commit_no, first_seq, last_seq, body)
	VALUES ($1, $2, $3, $4, $5)`

// rowFigures are bare inserts of the log rows that a throughput run wrote.
type rowFigures struct {
	rows, executions, perCommit int
	rate                        float64 // rows a second
}

// show prints the rate beside that of the engine.
func (f *rowFigures) show(engine float64) {
	bare := f.rate / (float64(f.rows) / float64(f.executions))
	fmt.Printf("  bare inserts    %8.0f executions/s  %8.0f rows/s    the same log rows, %d a commit; ratio %.2f\n",
		bare, f.rate, f.perCommit, engine/bare)
}

// bareRow is a row of the log as it is stored.
type bareRow struct {
	execution, commit, first, last int64
	body                           []byte
}

// measureRows writes the log rows of one database into another, in commits of
// the size that group commit makes of full requests.
func measureRows(ctx context.Context, from, to app.Place, executions int) (*rowFigures, error) {
	var rows []bareRow
	err := app.WithDB(ctx, from, func(db *sqldb.DB) (err error) {
		rows, err = readRows(ctx, db, executions)
		return err
	})
	if err != nil {
		return nil, err
	}
	fig := &rowFigures{rows: len(rows), executions: executions, perCommit: 300}
	err = app.WithDB(ctx, to, func(db *sqldb.DB) error {
		write := writeRows
		if db.Dialect() == sqldb.Postgres {
			write = copyRows
		}
		began := time.Now()
		for chunk := range slices.Chunk(rows, fig.perCommit) {
			err := db.Write(ctx, sqldb.Engine, func(ctx context.Context, tx *sqldb.Tx) error {
				return write(ctx, tx, chunk)
			})
			if err != nil {
				return err
			}
		}
		fig.rate = float64(len(rows)) / time.Since(began).Seconds()
		return nil
	})
	return fig, err
}

func readRows(ctx context.Context, db *sqldb.DB, executions int) (rows []bareRow, err error) {
	const query = `SELECT execution, commit_no, first_seq, last_seq, body FROM engine_log WHERE execution IN
		(SELECT num FROM engine_execution ORDER BY num LIMIT $1) ORDER BY commit_no, execution`
	err = db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		for r, err := range tx.Query(ctx, query, executions) {
			if err != nil {
				return err
			}
			var got bareRow
			if err := r.Scan(&got.execution, &got.commit, &got.first, &got.last, &got.body); err != nil {
				return err
			}
			got.body = bytes.Clone(got.body)
			rows = append(rows, got)
		}
		return nil
	})
	return rows, err
}

func writeRows(ctx context.Context, tx *sqldb.Tx, rows []bareRow) error {
	for _, r := range rows {
		if _, err := tx.Exec(ctx, insertBare, r.execution, r.commit, r.first, r.last, r.body); err != nil {
			return err
		}
	}
	return nil
}

// copyRows writes rows in one statement, under executions that nobody has.
func copyRows(ctx context.Context, tx *sqldb.Tx, rows []bareRow) error {
	var execution, commit, first, last []int64
	var body [][]byte
	for _, r := range rows {
		execution, commit = append(execution, -r.execution), append(commit, r.commit)
		first, last, body = append(first, r.first), append(last, r.last), append(body, r.body)
	}
	_, err := tx.Exec(ctx, `INSERT INTO engine_log (execution, commit_no, first_seq, last_seq, body)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])`, execution, commit,
		first, last, body)
	return err
}

// Echo answers every request with its own body.
type Echo struct {
	Addr string `required:""`
}

// Run serves until the process is told to end.
func (c *Echo) Run(ctx context.Context) error {
	srv := &http.Server{
		Addr: c.Addr, ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		}),
	}
	go func() {
		<-ctx.Done()
		_ = srv.Shutdown(context.WithoutCancel(ctx))
	}()
	if err := srv.ListenAndServe(); err != http.ErrServerClosed {
		return fmt.Errorf("echo: %w", err)
	}
	return nil
}
