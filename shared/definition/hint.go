package definition

import (
	"fmt"
	"strings"
)

const (
	// maxHinted is the length of the names that are looked up for a hint: longer
	// ones are no slip of the pen.
	maxHinted = 40
	// maxKnown is how many names a wrong one is compared with, so that a document
	// of many states and many wrong names does not take the product of the two.
	maxKnown = 100
)

// hint ends a message about a wrong name: the name that was probably meant, or
// nothing.
func (r *report) hint(wrong string, known []string) string {
	if r.full {
		return ""
	}
	if near := nearest(wrong, known); near != "" {
		return fmt.Sprintf(" Did you mean %q?", near)
	}
	return ""
}

// nearest gives the known name that a wrong one was probably meant to be: the
// same in another case, or at most two letters away. It is empty where there is
// none.
func nearest(wrong string, known []string) string {
	if len(wrong) > maxHinted || len(known) > maxKnown {
		return ""
	}
	best, distance := "", 3
	for _, name := range known {
		d := editDistance(strings.ToLower(wrong), strings.ToLower(name))
		if d < distance && d <= len(name)/2 {
			best, distance = name, d
		}
	}
	return best
}

// editDistance counts the letters to insert, delete or replace to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
