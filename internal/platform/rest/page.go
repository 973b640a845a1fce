package rest

import (
	"context"
	"slices"

	"renga.dev/renga/internal/platform/gate"
)

// The sizes of a page, and the last one.
const (
	minSize     = 10
	maxSize     = 100
	defaultSize = 50
	LastPage    = 1_000_000_000
)

// Page is the page of a list that is asked for.
type Page struct{ Number, Size int }

// ReadPage reads the parameters of a list: the page, and others that a call may have.
func ReadPage(c *gate.Call, may ...string) (*Query, Page) {
	q := ReadQuery(c, slices.Concat(may, []string{"page", "page_size"})...)
	return q, q.Page()
}

// Page is the page that the parameters page and page_size ask for.
func (q *Query) Page() Page {
	return Page{Number: q.Int("page", 1, LastPage, 1), Size: q.PageSize()}
}

// PageSize is how many rows the parameter page_size asks for.
func (q *Query) PageSize() int { return q.Int("page_size", minSize, maxSize, defaultSize) }

// Offset is how many rows are on the pages before.
func (p Page) Offset() int { return (p.Number - 1) * p.Size }

// List is one page of a list, as it is shown.
type List[T any] struct {
	Items []T `json:"items"`
	Page  int `json:"page"`
	Size  int `json:"page_size"`
	Total int `json:"total"`

	Next string `json:"next,omitempty"` // the cursor of the next page, of lists that have cursors
}

// NewList is a page of rows; total is how many there are on all pages.
func NewList[T any](p Page, rows []T, total int) List[T] {
	if rows == nil {
		rows = []T{}
	}
	return List[T]{Items: rows, Page: p.Number, Size: p.Size, Total: total}
}

// Show is NewList of what show makes of each row.
func Show[R, T any](p Page, rows []R, total int, show func(*R) T) List[T] {
	items := make([]T, len(rows))
	for i := range rows {
		items[i] = show(&rows[i])
	}
	return List[T]{Items: items, Page: p.Number, Size: p.Size, Total: total}
}

// Same shows a row as it is.
func Same[T any](row *T) *T { return row }

// Paged answers a list that has no parameters but its page, with what read reads of a service.
func Paged[S, R, T any](
	of S, read func(of S, ctx context.Context, tenant string, offset, limit int) ([]R, int, error), show func(*R) T,
) Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		q, p := ReadPage(c)
		if q.Err != nil {
			return gate.Reply{}, q.Err
		}
		rows, total, err := read(of, ctx, c.Principal.Tenant, p.Offset(), p.Size)
		return gate.Reply{Body: Show(p, rows, total, show)}, err
	}
}

// Cut is the rows of a page, of a list that is all in memory.
func Cut[T any](p Page, all []T) []T {
	from := min(p.Offset(), len(all))
	return all[from:min(from+p.Size, len(all))]
}
