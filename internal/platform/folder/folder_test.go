package folder

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestALockedFolderIsForOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); err == nil || !strings.Contains(err.Error(), "another process writes to "+dir) {
		t.Errorf("got %v, want that another process writes", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = second.Close()
}

func TestAFailedReplacementLeavesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	full := errors.New("full")
	for _, fails := range []error{nil, full} {
		err := Replace(name, func(w *bufio.Writer) error {
			_, err := w.WriteString(map[bool]string{true: "old", false: "new"}[fails == nil])
			return errors.Join(err, fails)
		})
		if !errors.Is(err, fails) {
			t.Errorf("got %v, want %v", err, fails)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != "old" {
			t.Errorf("got %q %v, want the old file", got, err)
		}
	}
}
