package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"renga.dev/renga/internal/platform/gate"
)

// Version is the header ETag that shows a version.
func Version(version string) http.Header { return http.Header{"Etag": {`"` + version + `"`}} }

// IfMatch is the version that the header If-Match names, "" without one, "*" for any.
func IfMatch(c *gate.Call) (string, error) {
	values := c.Request.Header.Values("If-Match")
	if len(values) == 0 {
		return "", nil
	}
	text := strings.TrimSpace(values[0])
	if text == "*" && len(values) == 1 {
		return text, nil
	}
	version, quoted := strings.CutPrefix(text, `"`)
	version, closed := strings.CutSuffix(version, `"`)
	if len(values) > 1 || !quoted || !closed || version == "" || strings.Contains(version, `"`) {
		return "", Invalid("If-Match",
			`the header If-Match must be one version in quotes, as the header ETag gave it, or *`)
	}
	return version, nil
}

// Cached is an answer that callers keep and ask about: its ETag is the digest of its body,
// and a caller who has it gets 304.
func Cached(c *gate.Call, reply gate.Reply, control string) gate.Reply {
	sum := sha256.Sum256(reply.Raw)
	reply.Header = Version(hex.EncodeToString(sum[:16]))
	reply.Header.Set("Cache-Control", control)
	tag := reply.Header.Get("Etag")
	for known := range strings.SplitSeq(strings.Join(c.Request.Header.Values("If-None-Match"), ","), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			reply.Status, reply.Raw = http.StatusNotModified, nil
		}
	}
	return reply
}
