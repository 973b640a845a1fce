package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/client"
)

// told is a command in the log of an execution, with its place.
type told struct {
	Number int `json:"number"` // among all commands of the execution, from 1
	client.Decided
	Guard string `json:"guard,omitzero"`
}

// lastDecided are the last commands of an execution that were accepted, or refused,
// in their order, at least a page when there are so many, and how many there are in
// all. A log may have many thousands; their end is what explains it.
func (r *remote) lastDecided(ctx context.Context, id string, accepted bool) ([]told, int, error) {
	page, err := r.decided(ctx, id, accepted, 1)
	if err != nil || page.Total <= client.MaxPageSize {
		return page.Items, page.Total, err
	}
	last := (page.Total + client.MaxPageSize - 1) / client.MaxPageSize
	var items []told
	for _, number := range []int{last - 1, last} {
		if page, err = r.decided(ctx, id, accepted, number); err != nil {
			return nil, 0, err
		}
		items = append(items, page.Items...)
	}
	return items, page.Total, nil
}

// decided reads a page of commands; the client package reads them all. It is asked of
// the first server that answers.
func (r *remote) decided(ctx context.Context, id string, accepted bool, number int) (client.Page[told], error) {
	query := url.Values{
		"accepted": {strconv.FormatBool(accepted)}, "page": {strconv.Itoa(number)},
		"page_size": {strconv.Itoa(client.MaxPageSize)},
	}
	path := "/executions/" + url.PathEscape(id) + "/commands?" + query.Encode()
	var page client.Page[told]
	var last error
	for server := range strings.SplitSeq(r.app.Server, ",") {
		raw, err := r.get(ctx, strings.TrimSuffix(strings.TrimSpace(server), "/")+path)
		if err != nil {
			last = err
			continue
		}
		err = json.Unmarshal(raw, &page)
		for i := range page.Items {
			page.Items[i].Guard = guardOf(page.Items[i].Error)
		}
		return page, err
	}
	return page, last
}

// get reads a URL that answers with JSON.
func (r *remote) get(ctx context.Context, target string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, client.DefaultTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	if r.app.Tenant != "" {
		req.Header.Set("X-Tenant-Id", r.app.Tenant)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	resp, err := (&http.Client{Transport: r.heard}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", target, resp.Status)
	}
	return r.heard.last(), nil
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

// inOrder puts commands into the order in which they were decided.
func inOrder(lists ...[]told) []told {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b told) int { return a.Number - b.Number })
	return all
}
