package cli

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/client"
)

// logged is a command in the log of an execution.
type logged struct {
	client.Decided
	Guard string `json:"guard,omitzero"`
}

// lastDecided are the last commands of an execution that were accepted, or refused, in their order: all, or at least a
// page; and how many there are in all.
func (r *remote) lastDecided(ctx context.Context, id string, accepted bool) (items []logged, total int, err error) {
	read := func(number int) error {
		page, err := r.Executions.ListCommands(ctx, id, accepted, client.Paging{Page: number, Size: client.MaxPageSize})
		if err != nil {
			return err
		}
		total = page.Total
		for _, d := range page.Items {
			items = append(items, logged{d, guardOf(d.Error)})
		}
		return nil
	}
	if err = read(1); err != nil || total <= client.MaxPageSize {
		return items, total, err
	}
	items = nil
	last := (total + client.MaxPageSize - 1) / client.MaxPageSize
	if err = read(last - 1); err == nil {
		err = read(last)
	}
	return items, total, err
}

// guardOf is the guard that refused a command, "" when none did.
func guardOf(e *client.Error) string {
	switch {
	case e == nil:
		return ""
	case e.Guard != "" || len(e.Details) == 0:
		return e.Guard
	}
	var details struct {
		Guard string `json:"guard"`
	}
	_ = json.Unmarshal(e.Details, &details) // no guard is shown as none
	return details.Guard
}

func inOrder(lists ...[]logged) []logged {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b logged) int { return a.Number - b.Number })
	return all
}
