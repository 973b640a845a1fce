package flow

// Canonical is the graph as Prepare gives it, also when it cannot run, and its digest.
func (g Graph) Canonical() ([]byte, string, error) {
	body, err := g.withDefaults().canonical()
	return body, digest(body), err
}
