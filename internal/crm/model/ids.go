package model

import (
	"crypto/sha1"
	"encoding/hex"
)

// names is the namespace of the ids that follow from names.
var names = [16]byte{0x9e, 0x4d, 0x6a, 0x10, 0x3f, 0x52, 0x5b, 0x8e, 0xa1, 0x0c, 0x72, 0x65, 0x6e, 0x67, 0x61, 0x01}

// named is the UUID, version 5, of a name.
func named(name string) string {
	h := sha1.New()
	h.Write(names[:])
	h.Write([]byte(name))
	id := h.Sum(nil)[:16]
	id[6], id[8] = id[6]&0x0f|0x50, id[8]&0x3f|0x80
	t := hex.EncodeToString(id)
	return t[:8] + "-" + t[8:12] + "-" + t[12:16] + "-" + t[16:20] + "-" + t[20:]
}

// SystemUser is the id of a tenant's system user, who is always there, belongs to the
// server and may do everything.
func SystemUser(tenant string) string { return named("User:" + tenant) }

// standardField is the id of a field that every tenant has.
func standardField(object, name string) string { return named("Field:" + FieldKey(object, name)) }

// ValidID reports whether a text is a UUID in lower case.
func ValidID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return false
		}
	}
	return true
}
