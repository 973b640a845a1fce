package gate

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func TestAnswersAreCompressedForWhoTakesIt(t *testing.T) {
	long, short := []byte(`"`+strings.Repeat("word ", 1000)+`"`), []byte(`"word"`)
	tagged := Reply{Raw: long, Header: http.Header{"Etag": {`"7"`}}}
	d := openDoor(t, Config{},
		Route{Pattern: "GET /long", Do: do(Reply{Raw: long}, nil)},
		Route{Pattern: "GET /short", Do: do(Reply{Raw: short}, nil)},
		Route{Pattern: "GET /tagged", Do: do(tagged, nil)},
	)
	for _, tc := range []struct {
		path, accept string
		compressed   bool
		varies       string
	}{
		{"/long", "gzip, deflate, br", true, "Accept-Encoding"},
		{"/long", "br;q=1.0, GZIP;q=0.2", true, "Accept-Encoding"},
		{"/long", "*", true, "Accept-Encoding"},
		{"/long", "", false, "Accept-Encoding"},
		{"/long", "gzip;q=0, *", false, "Accept-Encoding"},
		{"/long", "identity, br", false, "Accept-Encoding"},
		{"/short", "gzip", false, ""},
		{"/tagged", "gzip", false, ""}, // the tag is that of these very bytes
	} {
		r := d.ask("GET", tc.path, "", "Accept-Encoding: "+tc.accept)
		h := r.Result().Header
		if got := h.Get("Content-Encoding") == "gzip"; got != tc.compressed || h.Get("Vary") != tc.varies {
			t.Errorf("%s for %q: compressed %t, Vary %q", tc.path, tc.accept, got, h.Get("Vary"))
		}
		if h.Get("Content-Length") != strconv.Itoa(r.Body.Len()) {
			t.Errorf("%s for %q: %s bytes are announced, %d came", tc.path, tc.accept, h.Get("Content-Length"),
				r.Body.Len())
		}
		if !tc.compressed {
			continue
		}
		unpack, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(unpack); err != nil || string(got) != string(long) {
			t.Errorf("%s: got %d bytes, %v, want %d", tc.path, len(got), err, len(long))
		}
	}
}
