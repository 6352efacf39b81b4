package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/definition"
)

// validated is what validate says of one file.
type validated struct {
	File     string    `json:"file"`
	Valid    bool      `json:"valid"`
	Hash     string    `json:"hash,omitempty"`
	Problems []problem `json:"problems"`
}

type problem struct {
	Severity definition.Severity `json:"severity"`
	Pointer  string              `json:"pointer"`
	Rule     string              `json:"rule"`
	Message  string              `json:"message"`
}

func (c *cli) validate() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check documents and list everything that is wrong with them",
		Long: "Check documents in JSON or YAML (- for the standard input), without a server, and list everything that is wrong with\n" +
			"them. The status is 0 if all may be published, 1 if one is refused, and 2 if one cannot be read.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files := []validated{}
			var unread, no error
			for _, name := range args {
				text, err := c.readFile(name)
				if err != nil {
					fmt.Fprintln(c.errs, "orrery:", err)
					unread = givenError{fmt.Errorf("not every file could be read")}
					continue
				}
				f := validateFile(name, text, strict)
				if !f.Valid {
					no = errNo
				}
				files = append(files, f)
			}
			if err := c.print(map[string]any{"files": files}, func(t *table) { showValidated(t, files) }); err != nil {
				return err
			}
			if unread != nil {
				return unread
			}
			return no
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "keep to Amazon States Language: refuse the additions and unreachable states")
	return cmd
}

func validateFile(name string, text []byte, strict bool) validated {
	doc, problems := definition.Parse(text, definition.Options{Strict: strict})
	f := validated{File: name, Valid: doc != nil, Problems: []problem{}}
	if doc != nil {
		f.Hash = doc.Hash
	}
	for _, p := range problems {
		f.Problems = append(f.Problems, problem{p.Severity, p.Pointer, p.Rule, p.Message})
	}
	return f
}

func showValidated(t *table, files []validated) {
	t.row("FILE", "SEVERITY", "AT", "RULE", "MESSAGE")
	for _, f := range files {
		if f.Valid {
			t.row(f.File, "valid", "-", "-", "hash "+f.Hash[:12])
		}
		for _, p := range f.Problems {
			at := p.Pointer
			if at == "" {
				at = "/"
			}
			t.row(f.File, p.Severity, at, p.Rule, p.Message)
		}
	}
}
