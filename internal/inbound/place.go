package inbound

import (
	"os"

	"renga.dev/renga/internal/platform/folder"
)

// place is the folder where a process writes its file. No other process does meanwhile: two that
// write one file would tear it.
type place struct {
	name string
	held *os.File // nil: not held
}

// hold makes the folder and keeps other processes out of it until leave, or until this
// one ends. A folder that was taken away is made and held again.
func (p *place) hold() error {
	if p.holds() {
		return nil
	}
	p.leave()
	held, err := folder.Lock(p.name)
	p.held = held
	return err
}

// holds reports whether what is held is what has the name now.
func (p *place) holds() bool {
	if p.held == nil {
		return false
	}
	held, err := p.held.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(p.name)
	return err == nil && os.SameFile(held, named)
}

// leave lets others in.
func (p *place) leave() {
	if p.held != nil {
		_ = p.held.Close()
		p.held = nil
	}
}
