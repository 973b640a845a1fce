package canonical

import (
	"bytes"
	"strconv"

	"renga.dev/renga/internal/platform/fault"
)

// MaxExponent bounds a number: it lies between 10^-9999 and 10^10000. Whoever
// writes a number out in full writes some kilobytes at most.
const MaxExponent = 9999

// The exponents whose numbers ECMAScript writes with plain digits; the others have
// the layout d.de±x.
const (
	minPlain = -6
	maxPlain = 20
)

// number rewrites the number at the cursor.
func (c *canon) number() error {
	n, err := c.scanNumber()
	if err != nil {
		return err
	}
	if !n.fraction && !n.exponent && len(n.whole) <= maxPlain+1 {
		if n.negative && n.whole[0] != '0' {
			c.out = append(c.out, '-')
		}
		c.out = append(c.out, n.whole...)
		return nil
	}
	digits := append(append(c.tmp[:0], n.whole...), n.part...)
	c.tmp = digits
	exp := len(n.whole) - 1 + n.exp // of the first digit
	for len(digits) > 0 && digits[0] == '0' {
		digits = digits[1:]
		exp--
	}
	digits = bytes.TrimRight(digits, "0")
	switch {
	case len(digits) == 0:
		c.out = append(c.out, '0')
		return nil
	case exp < -MaxExponent || exp > MaxExponent:
		return fault.New(
			fault.Invalid,
			CodeInvalid,
			"the body holds a number with an exponent beyond ±%d",
			MaxExponent,
		)
	}
	if n.negative {
		c.out = append(c.out, '-')
	}
	c.out = appendDecimal(c.out, digits, exp)
	return nil
}

// appendDecimal writes d.ddd × 10^exp; digits neither starts nor ends with a zero.
func appendDecimal(dst, digits []byte, exp int) []byte {
	switch n := exp + 1; { // n digits stand before the point
	case exp < minPlain || exp > maxPlain:
		dst = append(dst, digits[0])
		if len(digits) > 1 {
			dst = append(append(dst, '.'), digits[1:]...)
		}
		dst = append(dst, 'e')
		if exp > 0 {
			dst = append(dst, '+')
		}
		return strconv.AppendInt(dst, int64(exp), 10)
	case n <= 0:
		dst = append(dst, "0.000000"[:2-n]...)
		return append(dst, digits...)
	case n < len(digits):
		dst = append(append(dst, digits[:n]...), '.')
		return append(dst, digits[n:]...)
	default:
		dst = append(dst, digits...)
		return append(dst, "000000000000000000000"[:n-len(digits)]...)
	}
}

// decimal is a number as it was written.
type decimal struct {
	negative, fraction, exponent bool
	whole, part                  []byte // digits before and after the point
	exp                          int
}

// scanNumber reads the number at the cursor.
func (s *Scanner) scanNumber() (n decimal, err error) {
	if s.Peek() == '-' {
		n.negative = true
		s.Pos++
	}
	start := s.Pos
	n.whole = s.digits()
	if len(n.whole) == 0 || len(n.whole) > 1 && n.whole[0] == '0' {
		s.Pos = start
		return n, s.Fail("a number is malformed")
	}
	if s.Peek() == '.' {
		s.Pos++
		n.fraction = true
		if n.part = s.digits(); len(n.part) == 0 {
			return n, s.Fail("digits were expected after the decimal point")
		}
	}
	if b := s.Peek(); b == 'e' || b == 'E' {
		s.Pos++
		n.exponent = true
		negative := s.Peek() == '-'
		if negative || s.Peek() == '+' {
			s.Pos++
		}
		digits := s.digits()
		if len(digits) == 0 {
			return n, s.Fail("digits were expected in an exponent")
		}
		n.exp = saturate(digits)
		if negative {
			n.exp = -n.exp
		}
	}
	return n, nil
}

// SkipNumber passes over the number at the cursor and reports whether it has an exponent.
func (s *Scanner) SkipNumber() (exponent bool, err error) {
	n, err := s.scanNumber()
	return n.exponent, err
}

func (s *Scanner) digits() []byte {
	start := s.Pos
	for s.Pos < len(s.In) && s.In[s.Pos]-'0' <= 9 {
		s.Pos++
	}
	return s.In[start:s.Pos]
}

// saturate reads digits and stops where no body is long enough to matter.
func saturate(digits []byte) int {
	const enough = 1 << 40
	n := 0
	for _, d := range digits {
		if n = n*10 + int(d-'0'); n > enough {
			return enough
		}
	}
	return n
}

// ParseInt reads a JSON number that is a whole number, however it is written: 14,
// 14.0 and 1.4e1 are 14. It reports false for anything else and for what does not
// fit.
func ParseInt(raw []byte) (int64, bool) {
	s := Scanner{In: raw}
	n, err := s.scanNumber()
	if err != nil || s.Pos != len(raw) {
		return 0, false
	}
	if !n.fraction && !n.exponent && len(n.whole) < 19 {
		v := int64(0)
		for _, d := range n.whole {
			v = v*10 + int64(d-'0')
		}
		if n.negative {
			v = -v
		}
		return v, true
	}
	c := getCanon()
	defer c.release()
	if c.run(raw, Options{}) != nil {
		return 0, false
	}
	v, err := strconv.ParseInt(string(c.out), 10, 64)
	return v, err == nil
}
