package tidy

import (
	"log"
	"os"
	"path/filepath"
	"testing"
)

// TestMain runs the tests at the root of the repository, from where they name files. The go command, which knows by
// what a test has read whether its result still holds, is told that the folder matters: with -trimpath it would take
// the result of another clone.
func TestMain(m *testing.M) {
	_ = os.Getenv("PWD")
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}
