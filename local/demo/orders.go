package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// order is what the demo reads of an order's document.
type order struct {
	ID string `json:"order"`
	// Packing is nil for an order that nobody will pack.
	Packing *struct {
		AfterMS int64           `json:"after_ms"`
		Parcels json.RawMessage `json:"parcels"`
	} `json:"packing"`
	// Expect is how the execution must end.
	Expect outcome `json:"expect"`

	text json.RawMessage
}

// outcome is how an execution ended: a status, and the error's name where it failed.
type outcome struct {
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

func (o outcome) String() string {
	if o.Error == "" {
		return o.Status
	}
	return o.Status + " " + o.Error
}

func (o order) packedAfter() time.Duration {
	return time.Duration(o.Packing.AfterMS) * time.Millisecond
}

func readOrders(file string) ([]order, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("run this in the repository's root: %w", err)
	}
	defer f.Close()
	var all []order
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		o := order{text: append(json.RawMessage(nil), lines.Bytes()...)}
		if err := json.Unmarshal(o.text, &o); err != nil {
			return nil, fmt.Errorf("%s, order %d: %w", file, len(all)+1, err)
		}
		all = append(all, o)
	}
	return all, lines.Err()
}
