package fault_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/fault"
)

// TestMain is, as a child, a caller that recovers from everything.
func TestMain(m *testing.M) {
	if os.Getenv("RENGA_TEST_FATAL") == "" {
		os.Exit(m.Run())
	}
	defer func() {
		_ = recover()
		os.Exit(0)
	}()
	sharedStep()
}

func sharedStep() {
	defer fault.Fatal()
	panic("halfway")
}

func TestFatalCannotBeRecoveredFrom(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "RENGA_TEST_FATAL=1")
	said, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("the process went on")
	}
	for _, want := range []string{"halfway", "sharedStep"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("its last words do not hold %q:\n%s", want, said)
		}
	}
}

func TestFatalLetsWhatReturnsReturn(t *testing.T) {
	func() { defer fault.Fatal() }()
}
