package wire

// Once is what makes a command safe to repeat: the caller's key, the endpoint it
// was used on, and the digest of the canonical body. Two requests are the same
// when all three are; the same key and endpoint with another hash is a conflict.
type Once struct {
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
