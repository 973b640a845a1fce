package canonical

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
)

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 64

// keepBuffer is the largest buffer, in bytes, that is kept for the next body.
const keepBuffer = 64 << 10

// Options says what the canonical form of a body leaves out.
type Options struct {
	Omit []string // top-level members that do not belong to the identity of a body: "trace_id"
}

// Canonical appends the canonical form of one JSON value to dst: names and strings in NFC, names sorted
// by code point at every level, no white space, numbers as exact decimals in ECMAScript layout. It
// decides what strict means: duplicate names (also two that are one after NFC), lone surrogates, bad
// UTF-8, trailing data, nesting over MaxDepth and exponents over MaxExponent are fault.Invalid. On
// error dst comes back as it was.
func Canonical(dst, body []byte, opts Options) ([]byte, error) {
	c := getCanon()
	defer c.release()
	if err := c.run(body, opts); err != nil {
		return dst, err
	}
	return append(dst, c.out...), nil
}

// Digest is "sha256:" and the hexadecimal hash of the canonical form.
func Digest(body []byte, opts Options) (string, error) {
	c := getCanon()
	defer c.release()
	if err := c.run(body, opts); err != nil {
		return "", err
	}
	return Hash(sha256.Sum256(c.out)).String(), nil
}

// String is the digest as it is shown: "sha256:" and hexadecimal.
func (h Hash) String() string {
	return string(hex.AppendEncode([]byte("sha256:"), h[:]))
}

// canon rewrites one body in one pass. Members of an object are written as they
// come and only moved when the object ends and they were not in order.
type canon struct {
	Scanner
	out     []byte
	members []member // of all open objects, innermost last
	tmp     []byte   // a decoded string, or an object being put in order
	omit    []string
}

// member is a member of an open object: places in canon.out.
type member struct {
	start, key, end int  // of `"name":value`; key is the end of name
	escaped         bool // the name holds an escape, so its bytes do not sort as its code points
}

var canons = sync.Pool{New: func() any { return new(canon) }}

func getCanon() *canon { return canons.Get().(*canon) }

func (c *canon) release() {
	c.In, c.omit = nil, nil
	if cap(c.out) <= keepBuffer && cap(c.tmp) <= keepBuffer && cap(c.members) <= keepBuffer/32 {
		canons.Put(c)
	}
}

// run leaves the canonical form of body in c.out and, when it is an object, its
// members in c.members.
func (c *canon) run(body []byte, opts Options) error {
	c.In, c.Pos = body, 0
	c.out, c.members, c.omit = c.out[:0], c.members[:0], opts.Omit
	c.Space()
	if err := c.value(0); err != nil {
		return err
	}
	c.Space()
	if c.Pos != len(c.In) {
		return c.Fail("there is something after the JSON value")
	}
	return nil
}

// value rewrites the value at the cursor, which has depth containers around it.
func (c *canon) value(depth int) error {
	switch b := c.Peek(); b {
	case '{':
		return c.object(depth)
	case '[':
		return c.array(depth)
	case '"':
		_, err := c.str()
		return err
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return c.number()
	}
	return c.Fail("a JSON value was expected")
}

func (c *canon) literal(word string) error {
	if !bytes.HasPrefix(c.In[c.Pos:], []byte(word)) {
		return c.Fail("a JSON value was expected")
	}
	c.Pos += len(word)
	c.out = append(c.out, word...)
	return nil
}

func (c *canon) array(depth int) error {
	if depth == MaxDepth {
		return TooDeep()
	}
	c.Pos++
	c.out = append(c.out, '[')
	c.Space()
	for more := c.Peek() != ']'; more; {
		if err := c.value(depth + 1); err != nil {
			return err
		}
		c.Space()
		switch c.Peek() {
		case ',':
			c.Pos++
			c.out = append(c.out, ',')
			c.Space()
		case ']':
			more = false
		default:
			return c.Fail("',' or ']' was expected after an array element")
		}
	}
	c.Pos++
	c.out = append(c.out, ']')
	return nil
}

func (c *canon) object(depth int) error {
	if depth == MaxDepth {
		return TooDeep()
	}
	c.Pos++
	open, first, ordered := len(c.out), len(c.members), true
	c.out = append(c.out, '{')
	c.Space()
	for more := c.Peek() != '}'; more; {
		m, err := c.member(depth)
		if err != nil {
			return err
		}
		if n := len(c.members); n > first && ordered {
			switch order := c.compare(c.members[n-1], m); {
			case order == 0:
				return Duplicate(c.name(m))
			case order > 0:
				ordered = false
			}
		}
		c.members = append(c.members, m)
		c.Space()
		switch c.Peek() {
		case ',':
			c.Pos++
			c.out = append(c.out, ',')
			c.Space()
		case '}':
			more = false
		default:
			return c.Fail("',' or '}' was expected after a member")
		}
	}
	c.Pos++
	c.out = append(c.out, '}')
	return c.close(depth, open, first, ordered)
}

// member rewrites `"name": value` at the cursor.
func (c *canon) member(depth int) (m member, err error) {
	if c.Peek() != '"' {
		return m, c.Fail("a member name in quotes was expected")
	}
	m.start = len(c.out)
	if m.escaped, err = c.str(); err != nil {
		return m, err
	}
	m.key = len(c.out) - 1
	c.Space()
	if c.Peek() != ':' {
		return m, c.Fail("':' was expected after a member name")
	}
	c.Pos++
	c.out = append(c.out, ':')
	c.Space()
	err = c.value(depth + 1)
	m.end = len(c.out)
	return m, err
}

// close puts the members of the object that opened at open in order, refuses
// duplicates and leaves out what is to be left out.
func (c *canon) close(depth, open, first int, ordered bool) error {
	omit := depth == 0 && len(c.omit) > 0
	if !ordered || omit {
		if !ordered {
			if err := c.sort(first); err != nil {
				return err
			}
		}
		c.rebuild(open, first, omit)
	}
	if depth > 0 {
		c.members = c.members[:first]
	}
	return nil
}

func (c *canon) sort(first int) error {
	members := c.members[first:]
	slices.SortFunc(members, c.compare)
	for i := 1; i < len(members); i++ {
		if c.compare(members[i-1], members[i]) == 0 {
			return Duplicate(c.name(members[i]))
		}
	}
	return nil
}

// rebuild writes the object at open again, in the order of its members, and
// gives the members their new places.
func (c *canon) rebuild(open, first int, omit bool) {
	members, kept := c.members[first:], first
	c.tmp = append(c.tmp[:0], '{')
	for _, m := range members {
		if omit && slices.Contains(c.omit, string(c.name(m))) {
			continue
		}
		if kept > first {
			c.tmp = append(c.tmp, ',')
		}
		shift := open + len(c.tmp) - m.start
		c.tmp = append(c.tmp, c.out[m.start:m.end]...)
		c.members[kept] = member{m.start + shift, m.key + shift, m.end + shift, m.escaped}
		kept++
	}
	c.tmp = append(c.tmp, '}')
	c.members = c.members[:kept]
	c.out = append(c.out[:open], c.tmp...)
}

// name is the name of a member, without escapes.
func (c *canon) name(m member) []byte {
	raw := c.out[m.start+1 : m.key]
	if !m.escaped {
		return raw
	}
	return unescape(raw)
}

// compare orders members by the code points of their names, which is the order of
// their UTF-8 bytes.
func (c *canon) compare(a, b member) int {
	x, y := c.out[a.start+1:a.key], c.out[b.start+1:b.key]
	if !a.escaped && !b.escaped {
		return bytes.Compare(x, y)
	}
	for len(x) > 0 && len(y) > 0 {
		var p, q byte
		p, x = firstByte(x)
		q, y = firstByte(y)
		if p != q {
			return cmp.Compare(p, q)
		}
	}
	return cmp.Compare(len(x), len(y))
}
