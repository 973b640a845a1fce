package tidy

import (
	"log"
	"os"
	"path/filepath"
	"testing"
)

// TestMain runs the tests at the root of the repository, from where they name files.
func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}
