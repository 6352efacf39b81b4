package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

const order = `{"order":"o-1044","customer":{"name":"Zoë","city":"Bern"},"items":[{"sku":"a-1","n":2},{"sku":"b-7","n":1}]}`

func TestShorten(t *testing.T) {
	result := `{"charge":"ch_0123456789","status":"paid","receipt":"https://example.org/r/1"}`
	have := sources{{FromValue, []byte(result)}, {FromInput, []byte(order)}}
	for _, c := range []struct {
		name, text string
		most       int // bytes that it may take
	}{
		{"the usual text", result, 0},
		{"another whole text", order, 14},
		{"a part of the input", `{"name":"Zoë","city":"Bern"}`, 14},
		{"a longer part of it", `{"name":"Zoë","city":"Bern"},"items":[{"sku":"a-1","n":2},{"sku":"b-7","n":1}]`, 14},
		{"the result put into the input", strings.TrimSuffix(order, "}") + `,"payment":` + result + `}`, 68},
		{"a result wrapped", `{"a":[` + result + `]}`, 60},
		{"nothing in common", `"something else that is long enough to be worth a reference, but is nowhere"`, 80},
		{"short", `1`, 1},
	} {
		got := have.shorten([]byte(c.text))
		if n := got.size(); n > c.most {
			t.Errorf("%s: %d bytes, %+v", c.name, n, got)
		}
		if back, ok := have.resolve(got); !ok || string(back) != c.text {
			t.Errorf("%s: comes back as %q, %v", c.name, back, ok)
		}
	}
}

func TestShortenNeverCutsACharacter(t *testing.T) {
	// The texts differ in the last byte of a character, with equal bytes on both sides of it.
	a := strings.Repeat("a", 80) + "é" + strings.Repeat("b", 80)
	b := strings.Repeat("a", 80) + "è" + strings.Repeat("b", 80)
	have := sources{{FromValue, []byte("0")}, {FromInput, []byte(a)}}
	got := have.shorten([]byte(b))
	if len(got.Parts) != 3 || !utf8.ValidString(got.Parts[1].Literal) {
		t.Errorf("got %+v", got)
	}
	if back, ok := have.resolve(got); !ok || string(back) != b {
		t.Errorf("comes back as %q", back)
	}
}

func TestShortenProperty(t *testing.T) {
	words := []string{"a", "é", `"`, "日本", strings.Repeat("long ", 12), order, "{", "}"}
	text := rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 8).Draw(t, "words"), ""))
	})
	rapid.Check(t, func(t *rapid.T) {
		have := sources{{FromValue, text.Draw(t, "value")}, {FromInput, text.Draw(t, "input")}, {FromWork, text.Draw(t, "work")}}
		want := text.Draw(t, "text")
		short := have.shorten(want)
		if back, ok := have.resolve(short); !ok || !bytes.Equal(back, want) {
			t.Fatalf("%q comes back as %q from %+v", want, back, short)
		}
		if short.size() > len(want) {
			t.Fatalf("%d bytes became %d: %+v", len(want), short.size(), short)
		}
		for _, p := range short.Parts {
			if !utf8.ValidString(p.Literal) {
				t.Fatalf("a character is cut: %q", p.Literal)
			}
		}
	})
}

func TestResolveRefuses(t *testing.T) {
	have := sources{{FromValue, []byte("0123456789")}}
	for _, p := range []Part{
		{From: FromInput, Len: 1}, {From: FromValue, Off: 5, Len: 6}, {From: FromValue, Off: -1, Len: 1},
		{From: FromValue, Len: -1}, {From: FromValue, Off: 1 << 62, Len: 1 << 62},
	} {
		if text, ok := have.resolve(Text{Parts: []Part{{Literal: "x"}, p}}); ok {
			t.Errorf("%+v gives %q", p, text)
		}
	}
	if _, ok := sources(nil).resolve(Text{}); ok {
		t.Error("there is a usual text where nothing is")
	}
}

func TestSplitArray(t *testing.T) {
	for _, text := range []string{
		`[]`, `[ ]`, `[1]`, `[1,2 , 3]`, `["a,b","]",{"x":[1,2]},[[]],"\"","\\"]`, `[null]`,
	} {
		var want []json.RawMessage
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		got, ok := splitArray([]byte(text))
		if a, b := fmt.Sprintf("%s", got), fmt.Sprintf("%s", want); !ok || a != b {
			t.Errorf("%s: got %s", text, a)
		}
	}
	for _, text := range []string{``, `{}`, `"["`, `[`, `1`} {
		if _, ok := splitArray([]byte(text)); ok {
			t.Errorf("%q is an array", text)
		}
	}
}

// TestTimers compares the heap with a naive list.
func TestTimers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h timers
		visits := make([]*Visit, 12)
		for i := range visits {
			visits[i] = &Visit{scope: &Scope{id: ScopeID(i + 1)}}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			v := rapid.SampledFrom(visits).Draw(t, "visit")
			h.set(v, Time(rapid.IntRange(0, 5).Draw(t, "due")))
			n := 0
			var first *Visit
			for _, v := range visits {
				if v.due == 0 {
					continue
				}
				n++
				if first == nil || v.due < first.due {
					first = v
				}
			}
			if len(h) != n || n > 0 && h[0] != first {
				t.Fatalf("the heap has %d of %d, and begins with %+v instead of %+v", len(h), n, h[0], first)
			}
		}
		before := Time(0)
		for len(h) > 0 {
			if h[0].due < before {
				t.Fatalf("%d after %d", h[0].due, before)
			}
			before = h[0].due
			h.remove(h[0])
		}
	})
}
