package inbound

import (
	"bufio"
	"context"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/folder"
	"renga.dev/renga/internal/platform/sqldb"
)

// ReceiptsFile is where the document has its receipts, under the data directory.
const ReceiptsFile = "artifacts/mfcloud-expense-receipt-reconcile/_workflow_events/receipts.json"

// The pace of an export.
const (
	exportPause = 200 * time.Millisecond // between two: what changes meanwhile goes with the next
	exportPoll  = 500 * time.Millisecond // other processes tell nobody of their receipts
	exportIdle  = time.Hour              // on SQLite, where nobody else writes
	exportLast  = 2 * time.Second        // how long the last one may take, when it ends
	exportChunk = 1000                   // receipts that are read at once
)

// Export keeps a file with all receipts that count, of all tenants, until ctx ends: within a second
// after a change the file has it. One process alone replaces it, as a whole. A file that cannot be
// written is logged, and tried again.
func (t *Deliveries) Export(ctx context.Context, file string) error {
	return newExport(t, file, func() {}).run(ctx)
}

// export is a file of receipts in the making.
type export struct {
	t       *Deliveries
	file    string
	dir     place
	was     version
	failing bool   // and it was said
	wrote   func() // called when the file is there
}

func newExport(t *Deliveries, file string, wrote func()) *export {
	return &export{t: t, file: file, dir: place{name: filepath.Dir(file)}, was: version{receipts: -1}, wrote: wrote}
}

func (x *export) run(ctx context.Context) error {
	defer x.dir.leave()
	for ctx.Err() == nil {
		wait, err := x.keep(ctx)
		if ctx.Err() == nil {
			x.report(ctx, err)
		}
		if err != nil {
			wait = exportPoll
		}
		if !pause(ctx, exportPause, nil) || !pause(ctx, wait-exportPause, x.t.changes) {
			break
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportLast)
	defer cancel()
	_, err := x.keep(last)
	x.report(last, err)
	return nil
}

// report logs that the file cannot be written, and that it can again: once each.
func (x *export) report(ctx context.Context, err error) {
	switch was := x.failing; {
	case err != nil && !was:
		x.t.cfg.Log.WarnContext(ctx, "the file of receipts cannot be written; it is tried again until it can", "path",
			x.file, "error", err)
	case err == nil && was:
		x.t.cfg.Log.InfoContext(ctx, "the file of receipts is written again", "path", x.file)
	}
	x.failing = err != nil
}

// version is what a file was written from.
type version struct {
	receipts int64           // of all tenants together, ever
	until    canonical.Stamp // when the first of them stops to count; 0: none
}

// pause waits, until wake at the latest, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// keep writes the file if it is not current, and gives how long it will be unless
// somebody tells.
func (x *export) keep(ctx context.Context) (time.Duration, error) {
	var now canonical.Stamp
	last := map[string]int64{} // of each tenant, the number of its last receipt
	sum := int64(0)
	err := x.t.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		if now, err = x.t.now(ctx, tx); err != nil {
			return err
		}
		return tx.Batch(ctx, sqldb.Stmt{
			Query: "SELECT tenant_id, receipts FROM trigger_tenant",
			Row: func(row *sqldb.Row) error {
				var tenant string
				var n int64
				err := row.Scan(&tenant, &n)
				last[tenant] = n
				sum += n
				return err
			},
		})
	})
	if err != nil {
		return 0, fault.Wrap("inbound.export", err)
	}
	if sum != x.was.receipts || x.was.until != 0 && now > x.was.until {
		until, err := x.replace(ctx, now, last)
		if err != nil {
			return 0, fault.Wrap("inbound.export", err)
		}
		x.was = version{sum, until}
		x.wrote()
	}
	wait := exportPoll
	if x.t.alone() {
		wait = exportIdle
	}
	if x.was.until != 0 {
		wait = min(wait, time.Duration(x.was.until-now+1)*time.Millisecond)
	}
	return wait, nil
}

// replace writes the file anew.
func (x *export) replace(
	ctx context.Context,
	now canonical.Stamp,
	last map[string]int64,
) (until canonical.Stamp, err error) {
	if err := x.dir.hold(); err != nil {
		return 0, err
	}
	err = folder.Replace(x.file, func(out *bufio.Writer) (err error) {
		until, err = x.write(ctx, out, now, last)
		return err
	})
	return until, err
}

// line is a receipt in the file.
type line struct {
	Tenant     string          `json:"tenant"`
	Key        string          `json:"idempotency_key"`
	Run        string          `json:"run_id"`
	TemplateID string          `json:"template_id"`
	At         canonical.Stamp `json:"at"`
	n          int64
}

// write writes the receipts that count, oldest first of each tenant.
func (x *export) write(ctx context.Context, out *bufio.Writer, now canonical.Stamp, last map[string]int64) (
	until canonical.Stamp, err error,
) {
	first := true
	_, _ = out.WriteString("{\"receipts\":[") // a writer keeps its first error for Flush
	for place := (line{}); ; {
		part, err := x.read(ctx, place)
		if err != nil {
			return 0, err
		}
		for _, l := range part {
			r := receipt{n: l.n, at: l.At}
			if !x.t.counts(&r, &desk{now: now, receipts: last[l.Tenant]}) {
				continue
			}
			body, err := json.Marshal(l)
			if err != nil {
				return 0, err
			}
			if !first {
				_ = out.WriteByte(',')
			}
			_ = out.WriteByte('\n')
			_, _ = out.Write(body)
			if end := l.At + canonical.Stamp(x.t.cfg.TTL.Milliseconds()); first || end < until {
				until = end
			}
			first = false
		}
		if len(part) < exportChunk {
			_, _ = out.WriteString("\n]}\n")
			return until, nil
		}
		place = part[len(part)-1]
	}
}

const selectReceipts = `SELECT tenant_id, n, idempotency_key, run_id, template_id, at FROM trigger_receipt
	WHERE (tenant_id, n) > ($1, $2) ORDER BY tenant_id, n LIMIT $3`

// read gives receipts after one of them.
func (x *export) read(ctx context.Context, after line) (part []line, err error) {
	err = x.t.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		part, err = sqldb.Collect(ctx, tx, func(row *sqldb.Row) (l line, err error) {
			return l, row.Scan(&l.Tenant, &l.n, &l.Key, &l.Run, &l.TemplateID, &l.At)
		}, selectReceipts, after.Tenant, after.n, exportChunk)
		return err
	})
	return part, err
}
