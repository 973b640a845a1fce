// Package tier says which tests run: the quick ones of make test, the system tests of make
// test-system, and how much the full counts of make test-long ask for.
//
// A system test kills processes, fills disks, cuts connections, races for long or counts to
// thousands. It begins with System(t), by which make test-system finds it.
package tier

import (
	"os"
	"testing"
)

// System skips a test unless system tests are to run. It is the first statement of the test.
func System(t testing.TB) {
	t.Helper()
	if os.Getenv("RENGA_SYSTEM") == "" && !Long() {
		t.Skip("a system test: make test-system runs it")
	}
}

// Long says that the full counts are wanted.
func Long() bool { return os.Getenv("RENGA_LONG") != "" }
