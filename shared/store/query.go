package store

import (
	"embed"
	"fmt"
	"strings"
)

// Each statement is a file that is named after what it does for a method, with its arguments as @name.
//
//go:embed query/*.sql
var queryFiles embed.FS

// query reads one statement, without the lines that are comments: nobody on the other side reads them. It panics for a
// name that has no file, so it is called for package variables only.
func query(name string) string {
	text, err := queryFiles.ReadFile("query/" + name + ".sql")
	if err != nil {
		panic(fmt.Sprintf("store: no statement %q: %v", name, err))
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return b.String()
}
