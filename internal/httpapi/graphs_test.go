package httpapi_test

import (
	"slices"
	"testing"

	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/reporting"
	"renga.dev/renga/internal/crm/search"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/recheck"
)

func TestGraphsOfEveryServiceCanBeRead(t *testing.T) {
	want := []string{
		inbound.GraphPrefix, recheck.GraphPrefix, sharing.GraphPrefix, search.GraphPrefix, reporting.GraphPrefix,
		approval.GraphPrefix,
	}
	if !slices.Equal(httpapi.MadePrefixes, want) {
		t.Errorf("got %q, want %q", httpapi.MadePrefixes, want)
	}
}
