package expr

import "unicode/utf8"

// Append adds v as compact JSON text to dst.
func Append(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		if v {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case Number:
		return append(dst, v...)
	case string:
		return appendString(dst, v)
	case []Value:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, e)
		}
		return append(dst, ']')
	case *Object:
		return appendObject(dst, v)
	}
	panic(notValue(v))
}

// Marshal gives v as compact JSON text.
func Marshal(v Value) []byte { return Append(nil, v) }

func appendObject(dst []byte, o *Object) []byte {
	dst = append(dst, '{')
	if o != nil {
		for i := range o.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, o.members[i].Name)
			dst = append(dst, ':')
			dst = Append(dst, o.members[i].Value)
		}
	}
	return append(dst, '}')
}

const hexDigits = "0123456789abcdef"

// appendString quotes s. Only what JSON demands is escaped; bytes that are not
// UTF-8 become the replacement character.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		if e := shortEscape(c); e != 0 {
			dst = append(dst, '\\', e)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// shortEscape is the letter after the backslash for the characters that have
// one, else 0.
func shortEscape(c byte) byte {
	switch c {
	case '"', '\\':
		return c
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	}
	return 0
}
