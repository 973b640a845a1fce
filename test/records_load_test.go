package test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// TestRecordsAreUpdatedInBulksAtSpeed updates opportunities in bulks of 50 from 16 clients
// at once, with their events published and taken by whoever follows them.
func TestRecordsAreUpdatedInBulksAtSpeed(t *testing.T) {
	if !long() {
		t.Skip("SKIP: it measures; RENGA_LONG=1 runs it")
	}
	const (
		clients = 16
		size    = 50
		lasts   = 10 * time.Second
		least   = 2000 // updates a second
	)
	s := serve(t, newSite(t))
	send := func(body string) (results []struct {
		Status int    `json:"status"`
		ID     string `json:"id"`
	},
	) {
		resp, err := http.Post(s.url+"/records/Opportunity/bulk", "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return nil
		}
		defer resp.Body.Close()
		var answer struct {
			Results []struct {
				Status int    `json:"status"`
				ID     string `json:"id"`
			} `json:"results"`
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(text, &answer) != nil {
			t.Errorf("%d %s %v", resp.StatusCode, text, err)
		}
		return answer.Results
	}
	ids := make([][]string, clients)
	for i := range ids {
		ops := make([]string, size)
		for j := range ops {
			ops[j] = fmt.Sprintf(
				`{"op":"create","fields":{"Name":"Deal %d-%d","StageName":"Qualification","CloseDate":"2026-02-28",
					"Amount":1,"NextStep":"Call"}}`,
				i,
				j,
			)
		}
		for _, r := range send(`{"operations":[` + strings.Join(ops, ",") + `]}`) {
			ids[i] = append(ids[i], r.ID)
		}
	}
	var done atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for i := range ids {
		all.Go(func() {
			for n := 2; time.Since(began) < lasts; n++ {
				ops := make([]string, size)
				for j, id := range ids[i] {
					ops[j] = fmt.Sprintf(`{"op":"update","id":%q,"fields":{"Amount":%d}}`, id, n)
				}
				for _, r := range send(`{"operations":[` + strings.Join(ops, ",") + `]}`) {
					if r.Status == http.StatusOK {
						done.Add(1)
					} else {
						t.Errorf("an update was answered %d", r.Status)
					}
				}
			}
		})
	}
	all.Wait()
	rate := float64(done.Load()) / time.Since(began).Seconds()
	t.Logf("%.0f record updates a second in bulks of %d from %d clients", rate, size, clients)
	if rate < least {
		t.Errorf("%.0f updates a second, want %d", rate, least)
	}
}
