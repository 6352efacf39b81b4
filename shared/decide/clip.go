package decide

import (
	"strings"
	"unicode/utf8"
)

// clip makes text from outside fit to be recorded: it is cut to so many bytes, and what is no UTF-8 is replaced, because
// it would not be read back as it was written.
func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
