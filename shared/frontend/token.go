package frontend

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/orrery-dev/orrery/shared/history"
)

// Token is what a task token says: the row of the queue that was handed out, and to whom. It is readable by its holder
// and signed, so that a report is told from a foreign or forged one without a look into the database.
//
//	base64url( version 1 | namespace | execution | turn | attempt | offer | unit | session | worker | MAC )
//
// Numbers are varints, texts carry their length before them; the MAC is the first 16 bytes of HMAC-SHA256 over all
// that precedes it. A token task's token has neither session nor worker.
type Token struct {
	Namespace history.NamespaceID
	Execution history.ExecutionID
	// Turn is the one that has handed the task over, where its row may be owed; zero for one that was claimed from its row.
	Turn    history.Seq
	Row     history.RowRef
	Session string
	Worker  string
}

// The errors of Signer.Parse.
var (
	// ErrTokenMalformed is text that no signer makes.
	ErrTokenMalformed = errors.New("frontend: malformed task token")
	// ErrTokenForged is a token with a wrong signature.
	ErrTokenForged = errors.New("frontend: task token with a wrong signature")
)

const (
	tokenVersion = 1
	macSize      = 16
	// maxToken bounds the text of a token, in bytes.
	maxToken = 4096
)

// Signer makes and checks task tokens. It is safe for concurrent use.
type Signer struct{ key []byte }

// NewSigner takes the key of the cluster, which every process shares.
func NewSigner(key []byte) *Signer { return &Signer{key: append([]byte(nil), key...)} }

// Sign makes the text of a token.
func (s *Signer) Sign(t Token) string {
	b := make([]byte, 0, 128)
	b = append(b, tokenVersion)
	b = binary.AppendUvarint(b, uint64(t.Namespace))
	b = binary.AppendUvarint(b, uint64(t.Execution))
	b = binary.AppendUvarint(b, uint64(t.Turn))
	b = binary.AppendUvarint(b, uint64(t.Row.Attempt))
	b = binary.AppendUvarint(b, uint64(t.Row.Offer))
	for _, text := range []string{string(t.Row.Unit), t.Session, t.Worker} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	b = append(b, s.mac(b)...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// Parse reads the text of a token and checks its signature. The error is ErrTokenMalformed or ErrTokenForged.
func (s *Signer) Parse(text string) (Token, error) {
	if len(text) > maxToken {
		return Token{}, ErrTokenMalformed
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) <= 1+macSize || b[0] != tokenVersion {
		return Token{}, ErrTokenMalformed
	}
	signed, mac := b[:len(b)-macSize], b[len(b)-macSize:]
	r := tokenReader{left: signed[1:], ok: true}
	t := Token{Namespace: history.NamespaceID(r.number()), Execution: history.ExecutionID(r.number()), Turn: history.Seq(r.number())}
	t.Row.Attempt, t.Row.Offer = int(r.number()), int(r.number())
	t.Row.Unit, t.Session, t.Worker = history.UnitKey(r.text()), r.text(), r.text()
	if !r.ok || len(r.left) > 0 {
		return Token{}, ErrTokenMalformed
	}
	if !hmac.Equal(mac, s.mac(signed)) {
		return Token{}, ErrTokenForged
	}
	return t, nil
}

func (s *Signer) mac(b []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write(b)
	return h.Sum(nil)[:macSize]
}

// tokenReader takes fields from the front; after one that is not there ok is false for good.
type tokenReader struct {
	left []byte
	ok   bool
}

func (r *tokenReader) number() uint64 {
	n, size := binary.Uvarint(r.left)
	if size <= 0 {
		r.ok, r.left = false, nil
		return 0
	}
	r.left = r.left[size:]
	return n
}

func (r *tokenReader) text() string {
	n := r.number()
	if n > uint64(len(r.left)) {
		r.ok, r.left = false, nil
		return ""
	}
	text := string(r.left[:n])
	r.left = r.left[n:]
	return text
}
