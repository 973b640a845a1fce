package reporting

import (
	"math/big"
	"strconv"
	"strings"
)

// unit is how many hundredths a whole one of Money.hi is.
const unit = 1_000_000_000

// Money is a sum of amounts. It has no largest value: hi counts units of ten million, lo
// what is left, in hundredths.
type Money struct{ hi, lo int64 }

// moneyOf is an amount in hundredths.
func moneyOf(hundredths int64) Money { return Money{hundredths / unit, hundredths % unit} }

func (m Money) plus(o Money) Money  { return Money{m.hi + o.hi, m.lo + o.lo} }
func (m Money) times(n int64) Money { return Money{m.hi * n, m.lo * n} }

// String is the sum as a JSON number, exactly.
func (m Money) String() string {
	total := new(big.Int).Mul(big.NewInt(m.hi), big.NewInt(unit))
	text := new(big.Rat).SetFrac(total.Add(total, big.NewInt(m.lo)), big.NewInt(100)).FloatString(2)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// hundred is 100 of something.
var hundred = big.NewRat(100, 1)

// hundredths is an amount in hundredths, halves away from zero, of so many percent.
func hundredths(amount float64, percent *big.Rat) int64 {
	r := exact(amount)
	r.Mul(r, percent)                                  // hundredths of percent hundredths
	n, _ := strconv.ParseInt(r.FloatString(0), 10, 64) // amounts have at most 15 digits before the point
	return n
}

// exact is a number exactly as it is written.
func exact(n float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(n, 'f', -1, 64))
	return r
}
