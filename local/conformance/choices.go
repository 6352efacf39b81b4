package main

import (
	"encoding/json"
	"fmt"

	"github.com/orrery-dev/orrery/shared/expr"
)

// choiceCase is a line of choices.jsonl: one comparison of a Choice.
type choiceCase struct {
	ID         string          `json:"id"`
	Definition json.RawMessage `json:"definition"`
	Input      json.RawMessage `json:"input"`
	Recorded   struct {
		Output json.RawMessage `json:"output"`
	} `json:"recorded"`
}

func runChoice(line []byte, n int) (verdict, error) {
	var c choiceCase
	if err := json.Unmarshal(line, &c); err != nil {
		return verdict{}, err
	}
	v := verdict{id: fmt.Sprintf("%s:%d", c.ID, n)}
	text, err := expr.Parse(c.Definition)
	if err != nil {
		return v, err
	}
	d, reason, err := documentOf(text)
	switch {
	case reason != "":
		v.skip = reason
		return v, nil
	case err != nil:
		v.fail = err.Error()
		return v, nil
	}
	r, err := d.run(c.Input, answers{})
	if err != nil {
		v.fail = err.Error()
		return v, nil
	}
	want, err := expr.Parse(c.Recorded.Output)
	if err != nil {
		return v, err
	}
	end := r.State.End()
	if end.Output == nil {
		v.fail = fmt.Sprintf("ended %s: %s: %s", end.Status, end.Error, end.Cause)
		return v, nil
	}
	got, err := expr.Parse(end.Output)
	if err != nil {
		return v, err
	}
	v.fail = newMatcher().value("output", decoded(want), got)
	return v, nil
}
