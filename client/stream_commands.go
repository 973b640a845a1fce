package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
)

// LogEntry is an event of an execution's log, or a command that led to none: a guard refused it, or it changed nothing.
type LogEntry struct {
	// Place is where the entry stands: the seq of an event, such as 27, or 27.2 for the second such command after it.
	Place   string      `json:"place"`
	Event   *Event      `json:"event,omitempty"`
	Command *Decided    `json:"command,omitempty"` // without its Number
	Late    *LateResult `json:"lateResult,omitempty"`
}

// StreamCommands follows the log of an execution with the commands that led to no event, after the Place of an entry
// ("" is from the first) and also when the execution has ended: late results, refusals and the archive come as they
// happen. A connection that breaks is opened again, so each entry comes once and in order. It ends with ctx. An error
// is the last thing that comes.
func (c Executions) StreamCommands(ctx context.Context, id, after string) iter.Seq2[LogEntry, error] {
	return func(yield func(LogEntry, error) bool) {
		s := &stream{
			client: c.transport, path: pathOf("/executions/{executionId}/stream", id),
			query: url.Values{"commands": {"true"}}, last: after,
		}
		s.handle = func(f *frame) error {
			entry, err := readEntry(f)
			switch {
			case err != nil:
				return s.unreadable(err)
			case entry == nil:
				return nil
			}
			s.last = f.id
			if !yield(*entry, nil) {
				return errStreamDone
			}
			return nil
		}
		if err := s.run(ctx); err != nil {
			yield(LogEntry{}, err)
		}
	}
}

// readEntry reads the entry of a frame; nil: it is a heartbeat.
func readEntry(f *frame) (*LogEntry, error) {
	entry := &LogEntry{Place: f.id}
	switch f.name {
	case "":
		return nil, nil
	case "command":
		entry.Command = &Decided{}
		var more struct {
			LateResult *LateResult `json:"lateResult"`
		}
		if err := json.Unmarshal(f.data, &more); err != nil {
			return nil, err
		}
		entry.Late = more.LateResult
		return entry, json.Unmarshal(f.data, entry.Command)
	}
	entry.Event = &Event{}
	return entry, json.Unmarshal(f.data, entry.Event)
}
