package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"renga.dev/renga/client"
)

func TestTasksShowTheirOutputsAndTheSizeOfLargeOnes(t *testing.T) {
	var out strings.Builder
	printTasks(&printer{w: &out}, []client.Task{{
		NodeID: "ship", Outputs: map[string]json.RawMessage{"pay": json.RawMessage(`{"receipt":"R-1"}`)},
		OutputRefs: map[string]client.DataRef{"quote": {Seq: 9, Size: 5012}},
	}})
	if want := `pay={"receipt":"R-1"} quote=(5012 bytes)`; !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant %s in it", &out, want)
	}
}
