package gate

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"renga.dev/renga/internal/platform/fault"
)

// MaxBodies is how many bytes of large bodies may be under way at a time, in all
// requests together; more are refused with Unavailable.
const MaxBodies = 64 << 20

const (
	smallBody   = 16 << 10 // bytes up to which a body does not count
	quickBody   = 64 << 10 // bytes up to which a body must be there within the time of its request
	keepScratch = 1 << 20  // the largest answer buffer that is used again
)

var jsonOnly = []string{"application/json"}

// scratch is an answer buffer that is used again.
type scratch struct{ bytes []byte }

var scratches = sync.Pool{New: func() any { return &scratch{make([]byte, 0, 4<<10)} }}

func (s *scratch) release() {
	if cap(s.bytes) <= keepScratch {
		scratches.Put(s)
	}
}

// media is the media type of a body, if the route accepts it. A body without a
// type is refused like one with a wrong type: it is what a web page can send
// without being asked.
func (e *entry) media(r *http.Request) (string, error) {
	value, n := header(r, "Content-Type")
	if coding, n := header(r, "Content-Encoding"); n > 0 && !strings.EqualFold(coding, "identity") {
		return "", fault.New(fault.Unsupported, "", "a compressed body is not accepted")
	}
	if n == 1 && slices.Contains(e.Media, value) {
		return value, nil
	}
	media, params, err := mime.ParseMediaType(value)
	charset := params["charset"]
	if n != 1 || err != nil || !slices.Contains(e.Media, media) || charset != "" &&
		!strings.EqualFold(charset, "utf-8") {
		return "", fault.New(fault.Unsupported, "", "the Content-Type must be %s", strings.Join(e.Media, " or "))
	}
	return media, nil
}

// read is the body of a request, at most MaxBody bytes of memory that is nobody
// else's.
func (e *entry) read(r *http.Request) ([]byte, error) {
	length := r.ContentLength
	if length > e.MaxBody {
		return nil, e.tooLarge()
	}
	if length == 0 {
		return nil, nil
	}
	var body []byte
	var err error
	if length > 0 { // there is room for it: large ones are counted
		body = make([]byte, length)
		_, err = io.ReadFull(r.Body, body)
	} else {
		var buffer bytes.Buffer
		_, err = buffer.ReadFrom(io.LimitReader(r.Body, e.MaxBody+1))
		body = buffer.Bytes()
	}
	if err != nil {
		return nil, &fault.Error{
			Kind: fault.Invalid, Op: "gate.read", Message: "the body ended before it was complete",
			Err: errors.Join(errClient, err),
		}
	}
	if int64(len(body)) > e.MaxBody {
		return nil, e.tooLarge()
	}
	return body, nil
}

// errClient marks failures that the caller's connection caused.
var errClient = errors.New("connection")

func (e *entry) tooLarge() error {
	return fault.New(fault.TooLarge, "", "the body is larger than %d bytes", e.MaxBody).
		With(map[string]int64{"maxBytes": e.MaxBody})
}
