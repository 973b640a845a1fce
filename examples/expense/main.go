// The worker of expense claims: go run ./examples/expense FOLDER
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"log"
	"os"
	"path/filepath"
	"strconv"

	"renga.dev/renga/client"
)

// books is a folder with a file for each entry; it stands for the bank and the ledger.
type books string

// enter makes an entry once. It gives the amount that is there: whoever comes later gets that of the first.
func (b books) enter(name, id string, amount int) (int, error) {
	draft, entry := filepath.Join(string(b), rand.Text()), filepath.Join(string(b), name+"_"+id)
	if err := os.WriteFile(draft, []byte(strconv.Itoa(amount)), 0o600); err != nil {
		return 0, err
	}
	_, _ = os.Link(draft, entry), os.Remove(draft) // where this makes no entry and none is there, reading it fails
	there, err := os.ReadFile(entry)
	amount, _ = strconv.Atoi(string(there))
	return amount, err
}

func (b books) work(_ context.Context, t *client.Task) (any, error) {
	var in struct {
		Amount                  int
		Account, CostCenter, Of string
	}
	switch err := t.DecodeInput(&in); {
	case err != nil, t.NodeID == "validate" && in.Amount <= 0:
		return nil, &client.NodeError{Code: "INVALID", Message: "a claim has an amount above 0", Final: true}
	case t.NodeID == "pay" && in.Account == "", t.NodeID == "book" && in.CostCenter == "":
		return nil, &client.NodeError{Code: "NOWHERE", Message: "nobody said where to " + t.NodeID + " it", Final: true}
	case t.NodeID == "pay", t.NodeID == "book":
		entered, err := b.enter(t.NodeID, t.ExecutionID, in.Amount)
		return map[string]int{"amount": entered}, err
	case t.NodeID == "refund":
		for _, name := range []string{"pay", "book"} { // an entry of 0 keeps out what comes late
			if entered, err := b.enter(name, cmp.Or(in.Of, t.ExecutionID), 0); err != nil {
				return nil, err
			} else if _, err := b.enter(name+"-back", cmp.Or(in.Of, t.ExecutionID), -entered); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

func main() {
	c := client.New(client.Config{URL: os.Getenv("RENGA_SERVER")})
	w := client.Worker{Client: c, Queues: []string{"expense"}, Handle: books(os.Args[1]).work}
	log.Fatal(w.Run(context.Background()))
}
