package export

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/folder"
)

// place is how far the file has come. An older place is safe: the lines after it are written again.
type place struct {
	Size     int64  `json:"size"`              // durable bytes of the file
	Position int64  `json:"position"`          // number of the last durable entry
	AuditID  string `json:"auditId"`           // its id, which identifies the database; "": unknown
	From     int64  `json:"from"`              // position before the first line of the file
	Rotating int    `json:"rotating,omitzero"` // number under which the file is being put away
}

const (
	fileName    = "audit_log.jsonl"
	awayPattern = "audit_log-%06d.jsonl" // rotated
	allPattern  = "audit_log*.jsonl"
	placeName   = "audit_log.place"
	asideFormat = "aside-%06d" // folder of files without a place
)

// readPlace reads the place of a folder. A damaged one is not known.
func readPlace(dir string) (p place, known bool, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, placeName))
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, false, nil
	}
	if err != nil {
		return place{}, false, err
	}
	if json.Unmarshal(raw, &p, json.RejectUnknownMembers(true)) != nil || p.Size < 0 || p.From < 0 ||
		p.Position < p.From {
		return place{}, false, nil
	}
	return p, true, nil
}

// save replaces the place durably.
func (p place) save(dir string) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return folder.Replace(filepath.Join(dir, placeName), func(w *bufio.Writer) error {
		_, err := w.Write(append(raw, '\n'))
		return err
	})
}
