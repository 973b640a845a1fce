package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRouter(t *testing.T) {
	r := router{root: newBranch()}
	for _, pattern := range []string{
		"GET /", "GET /a", "POST /a", "GET /a/{x}", "GET /a/list", "DELETE /a/{x}", "GET /a/{x}/b/{y}",
		"GET /files/{path...}", "HEAD /h", "GET /h",
	} {
		if err := r.add(&entry{Route: Route{Pattern: pattern}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.add(&entry{Route: Route{Pattern: "GET /s", Stream: true}}); err != nil {
		t.Fatal(err)
	}
	if err := r.add(&entry{Route: Route{Pattern: "GET /ui/{path}", Rest: true}}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		method, path, want string
		params, allow      []string
	}{
		{"GET", "/", "GET /", nil, nil},
		{"GET", "/a", "GET /a", nil, nil},
		{"HEAD", "/a", "GET /a", nil, nil},
		{"HEAD", "/h", "HEAD /h", nil, nil},
		{"HEAD", "/s", "", nil, []string{"GET"}},
		{"POST", "/a", "POST /a", nil, nil},
		{"PUT", "/a", "", nil, []string{"GET", "HEAD", "POST"}},
		{"GET", "/a/1", "GET /a/{x}", []string{"1"}, nil},
		{"GET", "/a/list", "GET /a/list", nil, nil},
		{"GET", "/a/%6cist", "GET /a/list", nil, nil},
		{"DELETE", "/a/list", "DELETE /a/{x}", []string{"list"}, nil},
		{"PUT", "/a/list", "", nil, []string{"DELETE", "GET", "HEAD"}},
		{"GET", "/a/list/b/2", "GET /a/{x}/b/{y}", []string{"list", "2"}, nil},
		{"GET", "/a/x%2Fy", "GET /a/{x}", []string{"x/y"}, nil},
		{"GET", "/a/1/b/2", "GET /a/{x}/b/{y}", []string{"1", "2"}, nil},
		{"GET", "/a/1/b", "", nil, nil},
		{"GET", "/a/", "", nil, nil},
		{"GET", "//a", "", nil, nil},
		{"GET", "/a/../a", "", nil, nil},
		{"GET", "/files/x/y%20z", "GET /files/{path...}", []string{"x/y z"}, nil},
		{"GET", "/files/", "GET /files/{path...}", []string{""}, nil},
		{"GET", "/files", "", nil, nil},
		{"GET", "/ui/x/y%20z", "GET /ui/{path}", []string{"x/y z"}, nil},
		{"GET", "/ui/", "GET /ui/{path}", []string{""}, nil},
		{"GET", "/ui", "GET /ui/{path}", nil, nil},
		{"PUT", "/ui/x/y", "", nil, []string{"GET", "HEAD"}},
		{"GET", "", "", nil, nil},
		{"OPTIONS", "*", "", nil, nil},
		{"GET", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", "", nil, nil},
	} {
		e, params, allow := r.find(tc.method, tc.path)
		got := ""
		if e != nil {
			got = e.Pattern
		}
		if got != tc.want || !cmp.Equal(params, tc.params) || !cmp.Equal(allow, tc.allow) {
			t.Errorf("%s %s: got %q %q %q, want %q %q %q", tc.method, tc.path, got, params, allow, tc.want, tc.params,
				tc.allow)
		}
	}
}
