package search

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// cursor is behind which hit a page begins.
type cursor struct {
	of Relevance
	at place
}

// cursorSize is the length of every cursor: none tells by it what it is of.
const cursorSize = 1 + 8 + 16

// text is a cursor in bytes. It names a place of the index: whoever shows it to a caller
// seals it.
func (c cursor) text() string {
	raw := binary.BigEndian.AppendUint64([]byte{byte(c.of)}, uint64(c.at.num))
	id := uuid.MustParse(c.at.id) // records have no other ids
	return string(append(raw, id[:]...))
}

// parseCursor reads a cursor of a search; "" is its beginning.
func parseCursor(text string) (cursor, error) {
	if text == "" {
		return cursor{NameWords, first}, nil
	}
	if len(text) != cursorSize || Relevance(text[0]) < Starts || Relevance(text[0]) > NameWords {
		return cursor{}, about("cursor", "cursor must be next of the page before")
	}
	id := uuid.UUID([]byte(text[9:]))
	return cursor{Relevance(text[0]), place{int64(binary.BigEndian.Uint64([]byte(text[1:9]))), id.String()}}, nil
}
