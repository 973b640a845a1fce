package gate

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// MinCompressed is the smallest answer that is compressed, in bytes: below it the frames of the network are the cost.
const MinCompressed = 1 << 10

// compressors are writers at work on nothing; each has tables of several hundred KiB.
var compressors = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level exists
	return w
}}

// compressed is an answer as the caller takes it, by the headers of both. One with an entity tag goes out as it is,
// since a tag names its very bytes and callers send it back; so does what was encoded before.
func compressed(raw []byte, h, asked http.Header) []byte {
	if len(raw) < MinCompressed || h.Get("Etag") != "" || h.Get("Content-Encoding") != "" {
		return raw
	}
	h.Add("Vary", "Accept-Encoding")
	if !takesGzip(asked) {
		return raw
	}
	out := bytes.NewBuffer(make([]byte, 0, len(raw)/4))
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(out)
	_, _ = w.Write(raw) // memory takes everything
	if w.Close() != nil || out.Len() >= len(raw) {
		return raw
	}
	h["Content-Encoding"] = []string{"gzip"}
	return out.Bytes()
}

// TakesGzip reports whether the caller accepts an answer that was compressed before.
func (c *Call) TakesGzip() bool { return takesGzip(c.Request.Header) }

// takesGzip reports whether a caller accepts answers that are compressed.
func takesGzip(h http.Header) bool {
	all := false
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, options, _ := strings.Cut(part, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if name != "gzip" && name != "*" {
			continue
		}
		q, weighted := strings.CutPrefix(strings.ToLower(strings.TrimSpace(options)), "q=")
		weight, err := strconv.ParseFloat(q, 64)
		wanted := !weighted || err == nil && weight > 0
		if name == "gzip" {
			return wanted
		}
		all = wanted
	}
	return all
}
