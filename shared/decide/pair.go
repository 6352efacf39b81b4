package decide

import "github.com/orrery-dev/orrery/shared/expr"

// pair is a text with the value that it is the text of. A turn looks at few texts, each of them several times: the result
// of a task is the output of its state, and that the input of the next one.
type pair struct {
	text  []byte
	value expr.Value
}

// used puts the i-th pair first. The last one goes when another is kept: what every iteration of a Map looks at stays, however
// many other texts they have.
func (d *decider) used(i int) pair {
	p := d.pairs[i]
	copy(d.pairs[1:i+1], d.pairs[:i])
	d.pairs[0] = p
	return p
}

// keep remembers a pair in the place of the one that was used longest ago.
func (d *decider) keep(text []byte, value expr.Value) {
	for i := range d.pairs {
		if sameText(d.pairs[i].text, text) {
			return
		}
	}
	d.pairs[len(d.pairs)-1] = pair{text, value}
	d.used(len(d.pairs) - 1)
}

// value parses a text that the state holds; it was made by expr.
func (d *decider) value(text []byte) expr.Value {
	for i := range d.pairs {
		if sameText(d.pairs[i].text, text) {
			return d.used(i).value
		}
	}
	d.work += len(text)
	v, err := expr.Parse(text)
	if err != nil {
		d.faultf("a text of the state: %w", err)
		return nil
	}
	d.keep(text, v)
	return v
}

// text prints a value.
func (d *decider) text(v expr.Value) []byte {
	for i := range d.pairs {
		if sameValue(d.pairs[i].value, v) {
			return d.used(i).text
		}
	}
	text := expr.Marshal(v)
	d.work += len(text)
	d.keep(text, v)
	return text
}

// sameText tells whether two texts are one in memory.
func sameText(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// sameValue tells whether two values are one in memory. Those that are quick to print do not count.
func sameValue(a, b expr.Value) bool {
	switch a := a.(type) {
	case *expr.Object:
		b, ok := b.(*expr.Object)
		return ok && a == b
	case []expr.Value:
		b, ok := b.([]expr.Value)
		return ok && len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
	}
	return false
}
