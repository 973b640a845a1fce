package expr

// Branches is what the expression of a CUSTOM join looks at: all branches of its
// fork, and those of them that have ended, in the same order.
type Branches struct{ Expected, Completed, Failed, Canceled []string }

func (b Branches) vars() map[string]any {
	return map[string]any{
		"expected": some(b.Expected), "completed": some(b.Completed), "failed": some(b.Failed),
		"canceled": some(b.Canceled),
	}
}

// some makes no list an empty one: an expression asks for its size.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
