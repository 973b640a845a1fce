package canonical

import (
	"crypto/sha256"
	"hash/crc32"
)

// IdempotencyKey is the idempotency key of a request: the caller's key, the endpoint, and the digest of the
// canonical body. The same key and endpoint with another digest is a conflict.
type IdempotencyKey struct {
	Key      string
	Endpoint string // method and path: "POST /executions/…/start"
	Hash     Hash
	Members  []Member // a short digest per top-level member, to say which differ
}

// Hash is the SHA-256 of a canonical body.
type Hash [32]byte

// Member is the short digest of one top-level member of a body.
type Member struct {
	Name   string
	Digest uint32
}

// MaxMembers is how many members of a body are remembered by their digest.
const MaxMembers = 64

// ParseIdempotencyKey is the identity of a request with this body; an empty body is {}. A
// body that is not strict JSON (see Canonical) is fault.Invalid.
func ParseIdempotencyKey(key, endpoint string, body []byte) (IdempotencyKey, error) {
	return Options{}.ParseIdempotencyKey(key, endpoint, body)
}

// ParseIdempotencyKey is ParseIdempotencyKey of a body without the members that are left out.
func (o Options) ParseIdempotencyKey(key, endpoint string, body []byte) (IdempotencyKey, error) {
	if len(body) == 0 {
		body = empty
	}
	c := getCanon()
	defer c.release()
	if err := c.run(body, o); err != nil {
		return IdempotencyKey{}, err
	}
	return IdempotencyKey{Key: key, Endpoint: endpoint, Hash: sha256.Sum256(c.out), Members: c.digests()}, nil
}

var (
	empty = []byte("{}")
	crc   = crc32.MakeTable(crc32.Castagnoli)
)

// digests are the short digests of the top-level members. All names share one string.
func (c *canon) digests() []Member {
	members := c.members[:min(len(c.members), MaxMembers)]
	if len(members) == 0 {
		return nil
	}
	c.tmp = c.tmp[:0]
	for _, m := range members {
		c.tmp = append(c.tmp, c.name(m)...)
	}
	names, out := string(c.tmp), make([]Member, len(members))
	for i, m := range members {
		n := len(c.name(m))
		out[i] = Member{names[:n], crc32.Checksum(c.out[m.key+2:m.end], crc)}
		names = names[n:]
	}
	return out
}

// Differing names the members that are not the same in both, in order. Both lists
// are as ParseIdempotencyKey made them: sorted by name.
func Differing(a, b []Member) []string {
	var names []string
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Name < b[0].Name:
			names, a = append(names, a[0].Name), a[1:]
		case a[0].Name > b[0].Name:
			names, b = append(names, b[0].Name), b[1:]
		default:
			if a[0].Digest != b[0].Digest {
				names = append(names, a[0].Name)
			}
			a, b = a[1:], b[1:]
		}
	}
	for _, m := range append(a[:len(a):len(a)], b...) {
		names = append(names, m.Name)
	}
	return names
}
