package reporting

import "testing"

func TestAmountsAreSummedExactly(t *testing.T) {
	for _, tt := range []struct {
		amount, percent float64
		want            string
	}{
		{0, 100, "0"},
		{0.1, 100, "0.1"},
		{50000, 100, "50000"},
		{1.005, 100, "1.01"},
		{-1.005, 100, "-1.01"},
		{0.004, 100, "0"},
		{999999999999999, 100, "999999999999999"},
		{333.33, 12.5, "41.67"},
		{100, 0, "0"},
		{-19.99, 100, "-19.99"},
	} {
		if got := moneyOf(hundredths(tt.amount, exact(tt.percent))).String(); got != tt.want {
			t.Errorf("%v%% of %v is %s, want %s", tt.percent, tt.amount, got, tt.want)
		}
	}
	sum, most := Money{}, moneyOf(hundredths(999999999999999, hundred))
	for range 1_000_000 { // much more than fits into 64 bits
		sum = sum.plus(most)
	}
	if got := sum.plus(moneyOf(1)).String(); got != "999999999999999000000.01" {
		t.Errorf("the sum is %s", got)
	}
	for range 1_000_000 {
		sum = sum.plus(most.times(-1))
	}
	if sum != (Money{}) {
		t.Errorf("what is taken away again leaves %+v", sum)
	}
}
