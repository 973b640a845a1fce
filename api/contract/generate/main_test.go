package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGeneratedFilesAreThoseOfTheContract: who changes the contract runs go generate ./api.
func TestGeneratedFilesAreThoseOfTheContract(t *testing.T) {
	_ = os.Getenv("PWD") // the go command keeps results by it: this is the folder of one clone
	t.Chdir(filepath.Join("..", ".."))
	want, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".", clientDir} {
		names, err := filepath.Glob(filepath.Join(dir, "*_gen.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if want[name] == nil {
				t.Errorf("%s is not generated any more: remove it", name)
			}
		}
	}
	for name, source := range want {
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, source) {
			t.Errorf("%s is not what the contract says: run go generate ./api: %v", name, err)
		}
	}
}
