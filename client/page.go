package client

import (
	"context"
	"iter"
	"maps"
	"net/url"
)

// MinPageSize and MaxPageSize are how many items a page may be asked for.
const (
	MinPageSize = 10
	MaxPageSize = 100
)

// Paging names a page; the zero value is the first one of 50 items.
type Paging struct {
	Page int // from 1
	Size int // 10..100

	// Cursor is Next of the page before, in place of Page, of a list that has it.
	Cursor string
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	Page  int `json:"page"`
	Size  int `json:"page_size"`
	Total int `json:"total"` // in all pages

	Next string `json:"next,omitempty"` // the cursor of the next page, of a list that has cursors; "": this is the last
}

// list reads one page.
func list[T any](ctx context.Context, c *transport, path string, query url.Values, at Paging) (*Page[T], error) {
	return get[Page[T]](ctx, c, path, at.query(query))
}

// query adds the page to the parameters of a list.
func (at Paging) query(query url.Values) url.Values {
	pages := given(map[string]string{"page": number(at.Page), "page_size": number(at.Size), "cursor": at.Cursor})
	maps.Copy(pages, query)
	return pages
}

// all reads a list that only grows at its end, from an item on, counted from 1.
func all[T any](ctx context.Context, c *transport, path string, from int) iter.Seq2[T, error] {
	return every(from, func(at Paging) (*Page[T], error) { return list[T](ctx, c, path, nil, at) })
}

// every reads such a list page by page.
func every[T any](from int, read func(Paging) (*Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for next := max(from, 1) - 1; ; {
			page, err := read(Paging{Page: next/MaxPageSize + 1, Size: MaxPageSize})
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			begin := (page.Page - 1) * MaxPageSize
			if next-begin >= len(page.Items) {
				return
			}
			for _, item := range page.Items[next-begin:] {
				if !yield(item, nil) {
					return
				}
				next++
			}
			if next >= page.Total {
				return
			}
		}
	}
}
