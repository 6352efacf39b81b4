package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/wire"
)

// maxFaults bounds the faults that one answer names.
const maxFaults = 50

// binder fills request structs from parsed JSON and gathers every fault on the way, so that a caller sees them all at
// once. The rules are the check tags of the wire types.
type binder struct {
	maxPayload int
	faults     []wire.Detail
	// oversized is the field of the first payload beyond maxPayload.
	oversized string
}

// place is where a value stands in the request; its text is made only for a fault.
type place struct {
	parent *place
	name   string
	index  int // used when name is empty
}

func (p *place) String() string {
	switch {
	case p.parent == nil:
		return p.name
	case p.name == "":
		return p.parent.String() + "[" + strconv.Itoa(p.index) + "]"
	}
	prefix := p.parent.String()
	if prefix == "" || strings.HasSuffix(prefix, " ") {
		return prefix + p.name
	}
	return prefix + "." + p.name
}

func (b *binder) fault(at *place, rule, message string, args ...any) {
	if len(b.faults) < maxFaults {
		b.faults = append(b.faults, wire.Detail{Field: at.String(), Rule: rule, Message: fmt.Sprintf(message, args...)})
	}
}

// object fills the struct dst, whose members are those of v.
func (b *binder) object(at *place, v expr.Value, dst reflect.Value) {
	o, ok := v.(*expr.Object)
	if !ok {
		b.wrongType(at, "object", v)
		return
	}
	p := planOf(dst.Type())
	for name := range o.All() {
		if _, known := p.byName[name]; !known {
			b.fault(&place{parent: at, name: clip(name)}, "unknown", "there is no such field")
		}
	}
	for i := range p.fields {
		f := &p.fields[i]
		v, given := o.Get(f.name)
		if v == nil && !f.raw {
			given = false
		}
		switch here := (place{parent: at, name: f.name}); {
		case given:
			b.value(&here, v, dst.Field(f.index), &f.rules)
		case f.rules.required:
			b.fault(&here, "required", "must be there")
		case f.rules.fallback != "":
			setDefault(dst.Field(f.index), f.rules.fallback)
		}
	}
}

func setDefault(dst reflect.Value, text string) {
	switch dst.Kind() {
	case reflect.Int, reflect.Int64:
		dst.SetInt(mustInt(text))
	case reflect.String:
		dst.SetString(text)
	default: // any JSON
		dst.SetBytes([]byte(text))
	}
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	timeType = reflect.TypeFor[time.Time]()
)

// value fills dst from v, which is not null unless dst takes any JSON.
func (b *binder) value(at *place, v expr.Value, dst reflect.Value, r *rules) {
	switch dst.Type() {
	case rawType:
		b.payload(at, v, dst, r)
		return
	case timeType:
		b.instant(at, v, dst)
		return
	}
	switch dst.Kind() {
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		b.value(at, v, dst.Elem(), r)
	case reflect.Struct:
		b.object(at, v, dst)
	case reflect.Slice:
		b.list(at, v, dst, r)
	case reflect.String:
		b.text(at, v, dst, r)
	case reflect.Int, reflect.Int64:
		b.integer(at, v, dst, r)
	case reflect.Bool:
		if t, ok := v.(bool); ok {
			dst.SetBool(t)
		} else {
			b.wrongType(at, "boolean", v)
		}
	default:
		panic("api: a request has a field of type " + dst.Type().String())
	}
}

func (b *binder) payload(at *place, v expr.Value, dst reflect.Value, r *rules) {
	text := expr.Marshal(v)
	if r.payload && len(text) > b.maxPayload && b.oversized == "" {
		b.oversized = at.String()
	}
	dst.SetBytes(text)
}

func (b *binder) instant(at *place, v expr.Value, dst reflect.Value) {
	text, ok := v.(string)
	if !ok {
		b.wrongType(at, "string", v)
		return
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		b.fault(at, "timestamp", "must be an RFC 3339 timestamp such as 2026-03-07T07:30:00Z")
		return
	}
	dst.Set(reflect.ValueOf(t.UTC()))
}

func (b *binder) list(at *place, v expr.Value, dst reflect.Value, r *rules) {
	list, ok := v.([]expr.Value)
	if !ok {
		b.wrongType(at, "array", v)
		return
	}
	if !b.bounds(at, int64(len(list)), r, "entries") {
		return
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(list), len(list)))
	for i, e := range list {
		b.value(&place{parent: at, index: i}, e, dst.Index(i), &rules{})
	}
}

func (b *binder) text(at *place, v expr.Value, dst reflect.Value, r *rules) {
	text, ok := v.(string)
	if !ok {
		b.wrongType(at, "string", v)
		return
	}
	if !b.bounds(at, int64(utf8.RuneCountInString(text)), r, "characters") {
		return
	}
	if r.form != nil && !r.form.ok(text) {
		b.fault(at, r.form.rule, "must be %s", r.form.says)
		return
	}
	dst.SetString(text)
}

func (b *binder) integer(at *place, v expr.Value, dst reflect.Value, r *rules) {
	n, ok := v.(expr.Number)
	if !ok {
		b.wrongType(at, "integer", v)
		return
	}
	i, ok := n.Int64()
	if !ok {
		b.fault(at, "type=integer", "must be an integer")
		return
	}
	if b.bounds(at, i, r, "") {
		dst.SetInt(i)
	}
}

// bounds checks a number, or a count of what.
func (b *binder) bounds(at *place, n int64, r *rules, what string) bool {
	if what != "" {
		what = " " + what
	}
	switch {
	case r.hasMin && n < r.min:
		b.fault(at, "min="+strconv.FormatInt(r.min, 10), "must be at least %d%s, not %d", r.min, what, n)
	case r.hasMax && n > r.max:
		b.fault(at, "max="+strconv.FormatInt(r.max, 10), "must be at most %d%s, not %d", r.max, what, n)
	default:
		return true
	}
	return false
}

func (b *binder) wrongType(at *place, want string, v expr.Value) {
	b.fault(at, "type="+want, "must be of type %s, not %s", want, typeName(v))
}

func typeName(v expr.Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case expr.Number:
		return "number"
	case string:
		return "string"
	case []expr.Value:
		return "array"
	}
	return "object"
}

// err is the error for what was gathered, nil for nothing.
func (b *binder) err() error {
	switch {
	case len(b.faults) > 0:
		return wire.Invalid(b.faults...)
	case b.oversized != "":
		e := wire.Errorf(wire.PayloadTooLarge, "a payload may have %d bytes", b.maxPayload)
		e.Details = []wire.Detail{{Field: b.oversized, Rule: "max=" + strconv.Itoa(b.maxPayload)}}
		return e
	}
	return nil
}

// clip shortens a name that a caller has chosen to what an answer shows.
func clip(s string) string {
	const most = 64
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "..."
}
