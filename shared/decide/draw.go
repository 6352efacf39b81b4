package decide

import "fmt"

// draw gives what chance decides, from a seed (SplitMix64). What it gives ends up in events.
type draw struct{ state uint64 }

func newDraw(seed uint64) *draw { return &draw{state: seed} }

func (d *draw) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Float64 gives a number in [0, 1).
func (d *draw) Float64() float64 { return float64(d.next()>>11) / (1 << 53) }

// UUID gives a UUID of version 4.
func (d *draw) UUID() string {
	a, b := d.next(), d.next()
	a = a&^0xf000 | 0x4000
	b = b&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&(1<<48-1))
}
