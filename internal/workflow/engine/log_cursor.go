package engine

import (
	"cmp"
	"context"
	"errors"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// LogPlace is a place in the log of an execution: after an event, and after so many of the commands that follow this
// event and led to none.
type LogPlace struct {
	Seq  uint64
	Then int
}

func (p LogPlace) compare(other LogPlace) int {
	return cmp.Or(cmp.Compare(p.Seq, other.Seq), cmp.Compare(p.Then, other.Then))
}

// LogItem is an event, or a command that led to none: it was refused, or changed nothing.
type LogItem struct {
	LogPlace // after it
	At       flow.Time
	Event    *flow.Event
	Command  *Decided // without its number
}

// LogCursor reads the log of an execution from a place on: every event and every command that led to none, once and
// in the order in which they were decided.
type LogCursor struct {
	reads  *Reads
	id     flow.ID
	num    int64
	commit int64    // the last row that was read
	read   LogPlace // after that row
	given  LogPlace // up to here items are left out
}

// ErrNoPlace says that a log does not have a place.
var ErrNoPlace = errors.New("engine: the log ends before this place")

// OpenLog opens a cursor after a place of the log; ErrNoPlace when it has no such place.
func (r *Reads) OpenLog(ctx context.Context, tenant string, id flow.ID, after LogPlace) (*LogCursor, error) {
	head, newest, err := r.store.Head(ctx, tenant, id)
	if err != nil {
		return nil, readFault(id, err)
	}
	c := &LogCursor{reads: r, id: id, num: head.Num, given: after}
	switch {
	case after.Seq > newest.LastSeq:
		return nil, ErrNoPlace
	case after.Seq > 0:
		rows, err := r.store.Rows(ctx, head.Num, after.Seq, 1)
		if err != nil {
			return nil, fault.Wrap("engine.log", err)
		}
		for i := range rows {
			if row := &rows[i]; after.Seq >= row.FirstSeq && after.Seq <= row.LastSeq {
				// Commands before the first event of this row follow an earlier event than the place.
				c.commit, c.read = row.CommitNo-1, LogPlace{Seq: row.FirstSeq - 1}
			}
		}
	}
	if after.Then == 0 {
		return c, nil
	}
	probe := *c
	probe.given.Then--
	items, err := probe.Next(ctx, 1)
	if err == nil && (len(items) == 0 || items[0].LogPlace != after) {
		err = ErrNoPlace
	}
	return c, err
}

// Next reads what follows in up to so many rows of the log. None: there is nothing more, for now.
func (c *LogCursor) Next(ctx context.Context, limit int) (items []LogItem, err error) {
	for len(items) == 0 {
		rows, err := c.reads.store.RowsAfter(ctx, c.num, c.commit, limit)
		if err != nil || len(rows) == 0 {
			return nil, fault.Wrap("engine.log", err)
		}
		for i := range rows {
			if items, err = c.add(items, &rows[i]); err != nil {
				return nil, fault.Wrap("engine.log", err)
			}
		}
	}
	return items, nil
}

func (c *LogCursor) add(items []LogItem, row *LogRow) ([]LogItem, error) {
	records, err := parseRow(c.id, row)
	if err != nil {
		return nil, err
	}
	c.commit = row.CommitNo
	add := func(place LogPlace, one LogItem) {
		if c.read = place; place.compare(c.given) > 0 {
			one.LogPlace = place
			items = append(items, one)
		}
	}
	for _, r := range records {
		for i := range r.Events {
			add(LogPlace{Seq: r.Events[i].Seq}, LogItem{At: r.At, Event: &r.Events[i]})
		}
		if len(r.Events) == 0 {
			d := decided(r, 0)
			add(LogPlace{Seq: c.read.Seq, Then: c.read.Then + 1}, LogItem{At: r.At, Command: &d})
		}
	}
	return items, nil
}
