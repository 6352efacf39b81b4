package decide

import "strings"

// clip makes text from outside fit to be recorded: it is cut to so many characters, as the API counts them, and what is no
// UTF-8 is replaced, because it would not be read back as it was written.
func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}
