package frontend_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
)

var sample = frontend.Token{
	Namespace: 3, Execution: 1 << 40, Turn: 300, Row: history.RowRef{Unit: "Ship[3]/Pack#2", Attempt: 2, Offer: 5},
	Session: "0193-session", Worker: "billing-1",
}

func TestTokenRoundTrip(t *testing.T) {
	s := frontend.NewSigner([]byte("key"))
	rapid.Check(t, func(t *rapid.T) {
		want := frontend.Token{
			Namespace: history.NamespaceID(rapid.Int32Min(0).Draw(t, "namespace")),
			Execution: history.ExecutionID(rapid.Int64Min(0).Draw(t, "execution")),
			Turn:      history.Seq(rapid.Int32Min(0).Draw(t, "turn")),
			Row: history.RowRef{
				Unit:    history.UnitKey(rapid.StringN(0, 100, 200).Draw(t, "unit")),
				Attempt: rapid.IntRange(0, 1e9).Draw(t, "attempt"), Offer: rapid.IntRange(0, 1e9).Draw(t, "offer"),
			},
			Session: rapid.StringN(0, 40, 64).Draw(t, "session"), Worker: rapid.StringN(0, 40, 128).Draw(t, "worker"),
		}
		got, err := s.Parse(s.Sign(want))
		if err != nil || got != want {
			t.Fatalf("Parse(Sign(%+v)) = %+v, %v", want, got, err)
		}
	})
}

// TestTokenChanged changes every single bit of a token: none is taken for valid.
func TestTokenChanged(t *testing.T) {
	s := frontend.NewSigner([]byte("key"))
	b, err := base64.RawURLEncoding.DecodeString(s.Sign(sample))
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if got, err := s.Parse(base64.RawURLEncoding.EncodeToString(b)); err == nil {
			t.Errorf("with bit %d changed the token is %+v", i, got)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

func TestTokenRefused(t *testing.T) {
	s := frontend.NewSigner([]byte("key"))
	good := s.Sign(sample)
	tests := map[string]struct {
		text string
		want error
	}{
		"another key":      {frontend.NewSigner([]byte("other")).Sign(sample), frontend.ErrTokenForged},
		"empty":            {"", frontend.ErrTokenMalformed},
		"not base64":       {"!!!", frontend.ErrTokenMalformed},
		"cut":              {good[:len(good)-8], frontend.ErrTokenMalformed},
		"longer":           {good + "AAAA", frontend.ErrTokenMalformed},
		"another version":  {"AAAA" + good[4:], frontend.ErrTokenMalformed},
		"padded":           {good + "=", frontend.ErrTokenMalformed},
		"beyond the bound": {strings.Repeat("A", 5000), frontend.ErrTokenMalformed},
	}
	for name, tt := range tests {
		if _, err := s.Parse(tt.text); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

func FuzzToken(f *testing.F) {
	s := frontend.NewSigner([]byte("key"))
	f.Add(s.Sign(sample))
	f.Add("AQAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if tok, err := s.Parse(text); err == nil && s.Sign(tok) != text {
			t.Errorf("%q parses as %+v, which signs as another text", text, tok)
		}
	})
}
