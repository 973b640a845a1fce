package pgtest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
)

// maxMessage bounds a message of a client.
const maxMessage = 64 << 20

// frontend reads what a client says to a PostgreSQL server, message by message, and
// finds the COMMITs: as a query of its own, at the end of one, or as a statement that
// is prepared and executed.
type frontend struct {
	from    io.Reader
	buf     *bufio.Reader
	begun   bool            // the first message has no kind
	named   map[string]bool // prepared statements that commit
	portals map[string]bool // that are bound to one of them
}

// next is the next message with all its bytes, and whether it makes the server commit.
func (f *frontend) next() (message []byte, commit bool, err error) {
	if f.buf == nil {
		f.buf = bufio.NewReaderSize(f.from, 64<<10)
		f.named, f.portals = map[string]bool{}, map[string]bool{}
	}
	head := 5
	if !f.begun {
		head = 4
	}
	start, err := f.buf.Peek(head)
	if err != nil {
		return nil, false, err
	}
	size := head - 4 + int(binary.BigEndian.Uint32(start[head-4:]))
	if size < head || size > maxMessage {
		return nil, false, errors.New("not a message")
	}
	message = make([]byte, size)
	if _, err := io.ReadFull(f.buf, message); err != nil {
		return nil, false, err
	}
	if !f.begun {
		f.begun = true // sslmode=disable: it does not ask for TLS first
		return message, false, nil
	}
	return message, f.commits(message[0], message[head:]), nil
}

// commits follows prepared statements and portals, and reports whether a message
// makes the server commit.
func (f *frontend) commits(kind byte, body []byte) bool {
	first, rest := text(body)
	switch kind {
	case 'Q':
		return isCommit(first)
	case 'P': // name, query
		query, _ := text(rest)
		f.named[first] = isCommit(query)
	case 'B': // portal, name
		name, _ := text(rest)
		f.portals[first] = f.named[name]
	case 'E': // portal
		return f.portals[first]
	}
	return false
}

// text cuts off a string that ends with a zero.
func text(body []byte) (string, []byte) {
	s, rest, _ := bytes.Cut(body, []byte{0})
	return string(s), rest
}

// isCommit reports whether a query ends with a COMMIT.
func isCommit(query string) bool {
	query = strings.TrimRight(query, "; \t\r\n")
	last := query[strings.LastIndexByte(query, ';')+1:]
	return strings.EqualFold(strings.TrimSpace(last), "commit")
}

// finish makes the server act on a message: an executed statement waits for a Sync.
func finish(message []byte) []byte {
	if message[0] == 'E' {
		return append(message, 'S', 0, 0, 0, 4)
	}
	return message
}
