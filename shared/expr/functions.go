package expr

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds that the language sets on functions.
const (
	maxRange    = 1_000  // items of ArrayRange
	maxFnString = 10_000 // characters that Base64Encode, Base64Decode and Hash take
)

// function is an intrinsic function.
type function struct {
	min, max int  // arguments; max is -1 for any number
	text     bool // it gives a text, so that it may stand for an error or a cause
	chance   bool // it draws
	apply    func(*invocation) (Value, error)
}

// functions are all intrinsic functions by the name after "States.".
var functions = map[string]*function{
	"Array":          {min: 0, max: -1, apply: arrayOf},
	"ArrayContains":  {min: 2, max: 2, apply: arrayContains},
	"ArrayGetItem":   {min: 2, max: 2, text: true, apply: arrayGetItem},
	"ArrayLength":    {min: 1, max: 1, apply: arrayLength},
	"ArrayPartition": {min: 2, max: 2, apply: arrayPartition},
	"ArrayRange":     {min: 3, max: 3, apply: arrayRange},
	"ArrayUnique":    {min: 1, max: 1, apply: arrayUnique},
	"Base64Decode":   {min: 1, max: 1, text: true, apply: base64Decode},
	"Base64Encode":   {min: 1, max: 1, text: true, apply: base64Encode},
	"Format":         {min: 1, max: -1, text: true, apply: format},
	"Hash":           {min: 2, max: 2, text: true, apply: hashOf},
	"JsonMerge":      {min: 3, max: 3, apply: jsonMerge},
	"JsonToString":   {min: 1, max: 1, text: true, apply: jsonToString},
	"MathAdd":        {min: 2, max: 2, apply: mathAdd},
	"MathRandom":     {min: 2, max: 3, chance: true, apply: mathRandom},
	"StringSplit":    {min: 2, max: 2, apply: stringSplit},
	"StringToJson":   {min: 1, max: 1, apply: stringToJSON},
	"UUID":           {min: 0, max: 0, text: true, chance: true, apply: uuid},
}

// invocation is one application of a function. A plain error from a function
// becomes States.IntrinsicFailure.
type invocation struct {
	ev   *evaluation
	call *call
	args []Value
}

func (in *invocation) list(i int) ([]Value, error) {
	list, ok := in.args[i].([]Value)
	if !ok {
		return nil, in.wrong(i, "an array")
	}
	return list, in.ev.spend(len(list))
}

func (in *invocation) text(i int) (string, error) {
	text, ok := in.args[i].(string)
	if !ok {
		return "", in.wrong(i, "a string")
	}
	return text, in.ev.spend(len(text) / 16)
}

// short is a text of at most maxFnString characters.
func (in *invocation) short(i int) (string, error) {
	text, err := in.text(i)
	if err == nil && utf8.RuneCountInString(text) > maxFnString {
		err = fmt.Errorf("%s takes strings of at most %d characters", in.call.name, maxFnString)
	}
	return text, err
}

// integer rounds its argument: halves go up.
func (in *invocation) integer(i int) (int64, error) {
	n, ok := in.args[i].(Number)
	if !ok {
		return 0, in.wrong(i, "a number")
	}
	v, ok := n.Round()
	if !ok {
		return 0, in.wrong(i, "a number of 64 bits")
	}
	return v, nil
}

func (in *invocation) wrong(i int, wanted string) error {
	return fmt.Errorf("%s needs %s as argument %d, not a value of type %s", in.call.name, wanted, i+1, typeName(in.args[i]))
}

func arrayOf(in *invocation) (Value, error) { return in.args, nil }

func arrayContains(in *invocation) (Value, error) {
	list, err := in.list(0)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if err := in.ev.spend(weight(e)); err != nil {
			return nil, err
		}
		if Equal(e, in.args[1]) {
			return true, nil
		}
	}
	return false, nil
}

func arrayGetItem(in *invocation) (Value, error) {
	list, err := in.list(0)
	if err != nil {
		return nil, err
	}
	n, ok := in.args[1].(Number)
	if !ok {
		return nil, in.wrong(1, "a number")
	}
	if i, ok := n.Int64(); ok && i >= 0 && i < int64(len(list)) {
		return list[i], nil
	}
	return nil, fmt.Errorf("index %s is not in an array of %d items", n, len(list))
}

func arrayLength(in *invocation) (Value, error) {
	list, err := in.list(0)
	return NumberOf(int64(len(list))), err
}

func arrayPartition(in *invocation) (Value, error) {
	list, err := in.list(0)
	if err != nil {
		return nil, err
	}
	size, err := in.integer(1)
	if err != nil {
		return nil, err
	}
	if size < 1 {
		return nil, errors.New("the size of the parts must be a positive integer")
	}
	parts := []Value{}
	for part := range slices.Chunk(list, int(min(size, maxFnPart))) {
		parts = append(parts, part)
	}
	return parts, nil
}

// maxFnPart is more than any array has, and fits every int.
const maxFnPart = 1 << 30

func arrayRange(in *invocation) (Value, error) {
	var n [3]int64
	for i := range n {
		var err error
		if n[i], err = in.integer(i); err != nil {
			return nil, err
		}
	}
	from, to, by := n[0], n[1], n[2]
	if by == 0 {
		return nil, errors.New("the increment must not be zero")
	}
	list := []Value{}
	for v := from; by > 0 && v <= to || by < 0 && v >= to; v += by {
		if len(list) == maxRange {
			return nil, fmt.Errorf("the range has more than %d items", maxRange)
		}
		list = append(list, NumberOf(v))
		if next := v + by; (next > v) != (by > 0) {
			break // past the largest or smallest integer
		}
	}
	return list, nil
}

func arrayUnique(in *invocation) (Value, error) {
	list, err := in.list(0)
	if err != nil {
		return nil, err
	}
	unique := []Value{}
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		if err := in.ev.spend(weight(e)); err != nil {
			return nil, err
		}
		key := string(appendKey(nil, e))
		if !seen[key] {
			seen[key] = true
			unique = append(unique, e)
		}
	}
	return unique, nil
}

func base64Encode(in *invocation) (Value, error) {
	text, err := in.short(0)
	return base64.StdEncoding.EncodeToString([]byte(text)), err
}

func base64Decode(in *invocation) (Value, error) {
	text, err := in.short(0)
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("the string is not Base64")
	}
	if !utf8.Valid(data) || slices.Contains(data, 0) {
		return nil, errors.New("the decoded string is not text")
	}
	return string(data), nil
}

func hashOf(in *invocation) (Value, error) {
	text, err := in.short(0)
	if err != nil {
		return nil, err
	}
	name, err := in.text(1)
	if err != nil {
		return nil, err
	}
	algorithms := map[string]func() hash.Hash{
		"MD5": md5.New, "SHA-1": sha1.New, "SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New,
	}
	algorithm, ok := algorithms[name]
	if !ok {
		return nil, fmt.Errorf("there is no algorithm %q: it is one of MD5, SHA-1, SHA-256, SHA-384 and SHA-512", clip(name))
	}
	h := algorithm()
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)), nil
}

func jsonMerge(in *invocation) (Value, error) {
	left, ok := in.args[0].(*Object)
	if !ok {
		return nil, in.wrong(0, "an object")
	}
	right, ok := in.args[1].(*Object)
	if !ok {
		return nil, in.wrong(1, "an object")
	}
	if deep, ok := in.args[2].(bool); !ok || deep {
		return nil, errors.New("only the shallow merge exists: argument 3 must be false")
	}
	merged := left.Clone()
	for name, v := range right.All() {
		merged.Set(name, v)
	}
	return merged, in.ev.spend(merged.Len())
}

func jsonToString(in *invocation) (Value, error) {
	if err := in.ev.limits.check(in.args[0]); err != nil {
		return nil, err
	}
	text := string(Marshal(in.args[0]))
	return text, in.ev.spend(len(text) / 16)
}

func mathAdd(in *invocation) (Value, error) {
	a, err := in.integer(0)
	if err != nil {
		return nil, err
	}
	b, err := in.integer(1)
	if err != nil {
		return nil, err
	}
	sum := a + b
	if (sum > a) != (b > 0) && b != 0 {
		return nil, errors.New("the sum does not fit in 64 bits")
	}
	return NumberOf(sum), nil
}

// mathRandom gives an integer from the first argument to below the second. With
// a seed it gives the same one each time.
func mathRandom(in *invocation) (Value, error) {
	from, err := in.integer(0)
	if err != nil {
		return nil, err
	}
	to, err := in.integer(1)
	if err != nil {
		return nil, err
	}
	span := to - from
	if from >= to || span <= 0 {
		return nil, errors.New("the start must be less than the end")
	}
	if len(in.args) == 3 {
		seed, err := in.integer(2)
		if err != nil {
			return nil, err
		}
		return NumberOf(from + rand.New(rand.NewPCG(uint64(seed), 0)).Int64N(span)), nil
	}
	if in.ev.sc.Draw == nil {
		return nil, errNoDraw
	}
	return NumberOf(from + min(int64(in.ev.sc.Draw.Float64()*float64(span)), span-1)), nil
}

var errNoDraw = errors.New("nothing can be drawn here")

func stringSplit(in *invocation) (Value, error) {
	text, err := in.text(0)
	if err != nil {
		return nil, err
	}
	separators, err := in.text(1)
	if err != nil {
		return nil, err
	}
	if err := in.ev.spend(len(text) * (1 + len(separators)/16) / 16); err != nil {
		return nil, err
	}
	pieces := []Value{}
	for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		pieces = append(pieces, piece)
	}
	return pieces, nil
}

func stringToJSON(in *invocation) (Value, error) {
	text, err := in.text(0)
	if err != nil || strings.TrimSpace(text) == "" {
		return nil, err
	}
	v, err := Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	if v == Value(Number("-0")) {
		return Number("0"), nil
	}
	return v, nil
}

func uuid(in *invocation) (Value, error) {
	if in.ev.sc.Draw == nil {
		return nil, errNoDraw
	}
	return in.ev.sc.Draw.UUID(), nil
}
