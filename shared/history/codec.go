package history

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrUnknownEvent is an event that a newer version wrote. It does not fold: the execution waits for a node that knows it.
var ErrUnknownEvent = errors.New("history: unknown event")

// EncodeEvents gives the text of one history row: a JSON array of the events of one turn, in order. Keys are short, what
// is zero is left out, and so is a scope that equals that of the event before (MainScope at the beginning). Literal texts
// stand in it byte for byte.
func EncodeEvents(events []Event) []byte {
	n := 2
	for i := range events {
		n += 64 + events[i].Text.size()
	}
	b := append(make([]byte, 0, n), '[')
	scope := MainScope
	for i := range events {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendEvent(b, &events[i], scope)
		scope = events[i].Scope
	}
	return append(b, ']')
}

func appendEvent(b []byte, ev *Event, scope ScopeID) []byte {
	b = append(b, `{"t":"`...)
	b = append(b, ev.Type...)
	b = append(b, '"')
	if ev.Scope != scope {
		b = appendInt(b, "c", int64(ev.Scope))
	}
	b = appendText(b, "s", ev.State)
	b = appendLetter(b, "k", byte(ev.Kind))
	b = appendLetter(b, "u", byte(ev.Unit))
	b = appendText(b, "n", ev.Name)
	b = appendNumber(b, "i", int64(ev.Index))
	b = appendNumber(b, "l", int64(ev.Limit))
	b = appendNumber(b, "tf", int64(ev.Tolerated))
	b = appendPayload(b, ev.Text)
	b = appendAssigned(b, ev.Assigned)
	b = appendText(b, "e", ev.Error)
	b = appendText(b, "m", ev.Cause)
	b = appendText(b, "y", ev.Key)
	b = appendNumber(b, "r", int64(ev.Retrier))
	b = appendNumber(b, "w", int64(ev.At))
	b = appendNumber(b, "f", int64(ev.Offer))
	if ev.Last {
		b = append(b, `,"z":true`...)
	}
	b = appendLetter(b, "x", byte(ev.Expiry))
	b = appendNumber(b, "tt", ev.Timeout)
	b = appendNumber(b, "hb", ev.Heartbeat)
	b = appendNumber(b, "qt", ev.Queue)
	b = appendNumber(b, "st", int64(ev.Status))
	b = appendText(b, "wk", ev.Worker)
	b = appendText(b, "ss", ev.Session)
	b = appendText(b, "id", ev.RequestID)
	b = appendText(b, "wf", ev.Workflow)
	b = appendNumber(b, "wv", int64(ev.Version))
	if ev.Start != nil {
		row, _ := json.Marshal(ev.Start.row())
		b = append(append(b, `,"start":`...), row...)
	}
	return append(b, '}')
}

// appendPayload writes a text: "o" is the text itself, "p" its parts, where a string is literal and an array of source,
// offset and length is a stretch of a text that the state holds.
func appendPayload(b []byte, t Text) []byte {
	if t.Literal != nil {
		b = append(b, `,"o":`...)
		return append(b, t.Literal...)
	}
	if t.Parts == nil {
		return b
	}
	b = append(b, `,"p":[`...)
	for i, p := range t.Parts {
		if i > 0 {
			b = append(b, ',')
		}
		if p.From == 0 {
			b = appendString(b, p.Literal)
			continue
		}
		b = append(b, '[', '"', byte(p.From), '"', ',')
		b = strconv.AppendInt(b, int64(p.Off), 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, int64(p.Len), 10)
		b = append(b, ']')
	}
	return append(b, ']')
}

func appendAssigned(b []byte, list []Assignment) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(b, `,"a":[`...)
	for i, a := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"n":`...)
		b = appendString(b, a.Name)
		b = appendPayload(b, a.Text)
		b = append(b, '}')
	}
	return append(b, ']')
}

func appendInt(b []byte, key string, n int64) []byte {
	b = append(b, ',', '"')
	b = append(b, key...)
	b = append(b, '"', ':')
	return strconv.AppendInt(b, n, 10)
}

func appendNumber(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	return appendInt(b, key, n)
}

func appendLetter(b []byte, key string, c byte) []byte {
	if c == 0 {
		return b
	}
	return appendText(b, key, string(rune(c)))
}

func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, key...)
	b = append(b, '"', ':')
	return appendString(b, s)
}

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string. Bytes that are no UTF-8 become U+FFFD, as they would when read back.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		if c < ' ' {
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		} else {
			b = append(b, '\\', c)
		}
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

// rowStart is a Start as JSON.
type rowStart struct {
	Behaviour int        `json:"v"`
	Namespace string     `json:"ns,omitempty"`
	Name      string     `json:"n,omitempty"`
	Workflow  string     `json:"wf,omitempty"`
	Version   int        `json:"wv,omitempty"`
	Hash      string     `json:"h,omitempty"` // hexadecimal, or shorter: see shortHash
	Timeout   int64      `json:"tt,omitempty"`
	RequestID string     `json:"id,omitempty"`
	Trace     string     `json:"tr,omitempty"`
	ContextID string     `json:"xid,omitempty"`
	MachineID string     `json:"mid,omitempty"`
	Processor string     `json:"of,omitempty"`
	Parent    *rowParent `json:"up,omitempty"`

	Occurrence *rowOccurrence `json:"occ,omitempty"`
	Attributes []Attribute    `json:"at,omitempty"`
}

// rowParent is a Parent as JSON.
type rowParent struct {
	Execution ExecutionID `json:"x"`
	Name      string      `json:"n"`
	Root      string      `json:"r"`
	Unit      UnitKey     `json:"u"`
	Attempt   int         `json:"a"`
	Depth     int         `json:"d"`
	Waits     bool        `json:"w,omitempty"`
}

// rowOccurrence is an Occurrence as JSON.
type rowOccurrence struct {
	ID       OccurrenceID `json:"id"`
	Schedule string       `json:"s"`
	Instant  Time         `json:"at"`
	Trigger  string       `json:"by"`
	Retry    int          `json:"r,omitempty"`
	Token    int64        `json:"f,omitempty"`
}

func (s *Start) row() rowStart {
	return rowStart{
		Behaviour: s.Behaviour, Namespace: s.Namespace, Name: s.Name, Workflow: s.Workflow, Version: s.Version,
		Hash: shortHash(s.Hash), Timeout: s.Timeout, RequestID: s.RequestID, Trace: s.Trace,
		ContextID: s.ContextID, MachineID: s.MachineID, Processor: s.Processor, Parent: (*rowParent)(s.Parent),
		Occurrence: (*rowOccurrence)(s.Occurrence), Attributes: s.Attributes,
	}
}

// shortHash writes a SHA-256 in hexadecimal as base64, which is a third shorter; anything else stays as it is.
func shortHash(h string) string {
	if b, err := hex.DecodeString(h); err == nil && len(b) == sha256.Size && h == strings.ToLower(h) {
		return base64.RawURLEncoding.EncodeToString(b)
	}
	return h
}

// longHash is the inverse of shortHash.
func longHash(h string) string {
	if b, err := base64.RawURLEncoding.Strict().DecodeString(h); err == nil && len(b) == sha256.Size {
		return hex.EncodeToString(b)
	}
	return h
}

func (r *rowStart) start() *Start {
	return &Start{
		Behaviour: r.Behaviour, Namespace: r.Namespace, Name: r.Name, Workflow: r.Workflow, Version: r.Version,
		Hash: longHash(r.Hash), Timeout: r.Timeout, RequestID: r.RequestID, Trace: r.Trace,
		ContextID: r.ContextID, MachineID: r.MachineID, Processor: r.Processor, Parent: (*Parent)(r.Parent),
		Occurrence: (*Occurrence)(r.Occurrence), Attributes: r.Attributes,
	}
}
