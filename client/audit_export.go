package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Export writes all entries of the audit log that a filter selects to w, oldest
// first, each as one line of JSON (an AuditEntry). A call that brings nothing is repeated
// as others are; once something was written it is not, and the error says that the export
// is not complete.
func (c Audit) Export(ctx context.Context, f AuditFilter, w io.Writer) error {
	q := call{method: http.MethodGet, path: "/audit/export", query: f.query()}
	return c.repeat(ctx, &q, func(server string) error { return c.download(ctx, server, &q, w) })
}

// brokenOff is an answer that ended before its time, after a part of it was handed on.
type brokenOff struct {
	size  int64
	cause error
}

func (e brokenOff) Error() string {
	return fmt.Sprintf("client: the answer broke off after %d bytes; what was written is not complete: %v", e.size,
		e.cause)
}
func (e brokenOff) Unwrap() error        { return e.cause }
func (e brokenOff) Is(target error) bool { return target == ErrUnavailable }

// download sends a call once and copies the answer as it comes. It may take as long as it
// wants, but not be still for long.
func (c *transport) download(ctx context.Context, server string, q *call, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dead := time.AfterFunc(c.cfg.Timeout, cancel)
	defer dead.Stop()
	resp, err := c.send(ctx, server, q, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return noAnswer{err}
		}
		return readError(resp.StatusCode, resp.Header, body)
	}
	var size int64
	for buf := make([]byte, 64<<10); ; {
		dead.Reset(silence)
		n, err := resp.Body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return &Error{Message: "what was exported cannot be written: " + err.Error()}
			}
			size += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && size == 0:
			return noAnswer{err}
		case err != nil:
			return brokenOff{size, err}
		}
	}
}
