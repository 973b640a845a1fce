package engine

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// CommandQuery selects commands in the log of one execution, in their order.
type CommandQuery struct {
	Tenant    string
	Execution flow.ID
	Accepted  *bool // only these; nil: all
	Offset    int
	Limit     int
}

// Decided is a command in the log: what was asked and by whom, and the outcome of
// it. A refusal without a key and without a result is not in the log.
type Decided struct {
	Number        int // its place among all commands of the execution, from 1
	Command       string
	Node          string
	Key           string
	At            flow.Time
	Actor         flow.Actor
	CorrelationID string
	FirstSeq      uint64 // of its events; 0: there are none
	LastSeq       uint64
	CancelSeq     uint64 // with CancelExecution: the seq where cancel won
	Refused       *flow.Refusal
	Late          *LateResult
}

// commandChunk is how many events' rows are read at once.
const commandChunk = 1000

// Commands are a page of an execution's commands, and how many match in all.
func (r *Reads) Commands(ctx context.Context, q CommandQuery) ([]Decided, int, error) {
	head, newest, err := r.store.Head(ctx, q.Tenant, q.Execution)
	if err != nil {
		return nil, 0, readFault(q.Execution, err)
	}
	page := commandPage{query: q}
	from, done := uint64(1), int64(0)
	for done < newest.CommitNo {
		rows, err := r.store.Rows(ctx, head.Num, from, commandChunk)
		if err != nil {
			return nil, 0, fault.Wrap("engine.commands", err)
		}
		before := done
		for i := range rows {
			row := &rows[i]
			if row.CommitNo <= done || row.CommitNo > newest.CommitNo {
				continue
			}
			if err := page.add(row); err != nil {
				return nil, 0, fault.Wrap("engine.commands", err)
			}
			// The next read begins with this row again, since rows without an event may follow it.
			done, from = row.CommitNo, max(row.LastSeq, 1)
		}
		if done == before {
			return nil, 0, fmt.Errorf("engine: the log of %v ends at commit %d, not %d", q.Execution, done,
				newest.CommitNo)
		}
	}
	return page.found, page.total, nil
}

type commandPage struct {
	query CommandQuery
	found []Decided
	seen  int // commands so far
	total int // those that match
}

// add adds one more row. Only rows that the page needs are read in full.
func (p *commandPage) add(row *LogRow) error {
	var brief []struct {
		Refused jsontext.Value `json:"f"`
	}
	if err := json.Unmarshal(row.Body, &brief, flow.Stored); err != nil {
		return fmt.Errorf("log row %d of %v: %w", row.CommitNo, p.query.Execution, err)
	}
	var records []*record
	for i := range brief {
		p.seen++
		if p.query.Accepted != nil && *p.query.Accepted != (brief[i].Refused == nil) {
			continue
		}
		p.total++
		if p.total <= p.query.Offset || len(p.found) == p.query.Limit {
			continue
		}
		if records == nil {
			var err error
			if records, err = parseRow(p.query.Execution, row); err != nil {
				return err
			}
		}
		p.found = append(p.found, decided(records[i], p.seen))
	}
	return nil
}

func decided(r *record, number int) Decided {
	d := Decided{
		Number: number, Command: r.Command, Node: r.Node, Key: r.Idempotency.Key, At: r.At, Actor: r.Actor,
		CorrelationID: r.Corr,
		CancelSeq:     r.CancelSeq, Refused: r.Refused, Late: r.Late,
	}
	if n := len(r.Events); n > 0 {
		d.FirstSeq, d.LastSeq = r.Events[0].Seq, r.Events[n-1].Seq
	}
	return d
}
