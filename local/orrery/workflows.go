package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/wire"
)

// maxFile bounds what is read of one file, in bytes: more than the server takes, so that the server says no.
const maxFile = 8 << 20

func (c *cli) publish() *cobra.Command {
	var req wire.PublishRequest
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "publish FILE",
		Short: "Publish a workflow from a document in JSON or YAML",
		Long: "Publish a workflow from a document in JSON or YAML (- for the standard input). The name is the file's up to\n" +
			"the first dot, unless --name says another. Publishing the same content again changes nothing.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.readFile(args[0])
			if err != nil {
				return err
			}
			if req.Name == "" && args[0] == "-" {
				return usageError{fmt.Errorf("--name is needed for a document from the standard input")}
			}
			if req.Name == "" {
				req.Name, _, _ = strings.Cut(filepath.Base(args[0]), ".")
			}
			if req.Document, err = json.Marshal(string(text)); err != nil {
				return err
			}
			path := wire.Path("workflows")
			if dryRun {
				path += "?dry_run=true"
			}
			var w wire.Workflow
			status, err := c.client.Call(cmd.Context(), http.MethodPost, path, nil, req, &w)
			if err != nil {
				return err
			}
			return c.print(w, func(t *table) {
				what := "published"
				switch {
				case dryRun:
					what = "valid"
				case status == http.StatusOK:
					what = "unchanged"
				}
				t.row(fmt.Sprintf("%s@%d", w.Name, w.Version), what, w.Hash)
				for _, x := range w.Warnings {
					t.row("  warning", x.Rule, x.Field+": "+x.Message)
				}
			})
		},
	}
	cmd.Flags().StringVarP(&req.Name, "name", "n", "", "name of the workflow")
	cmd.Flags().IntVar(&req.Version, "version", 0, "version; the next one when left out")
	cmd.Flags().BoolVar(&req.Strict, "strict", false, "keep to Amazon States Language and the limits of its reference service")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "check only")
	return cmd
}

func (c *cli) workflows() *cobra.Command {
	return &cobra.Command{
		Use: "workflows", Short: "List the published workflows", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var l wire.WorkflowList
			if err := c.get(cmd, wire.Path("workflows")+"?limit=1000", &l); err != nil {
				return err
			}
			return c.print(l, func(t *table) {
				t.row("WORKFLOW", "VERSION", "PUBLISHED", "HASH")
				for _, w := range l.Workflows {
					t.row(w.Name, w.Version, clock(w.PublishedAt), w.Hash[:min(12, len(w.Hash))])
				}
			})
		},
	}
}

// readFile reads a file, or the standard input for -. Its error is a givenError.
func (c *cli) readFile(name string) ([]byte, error) {
	in := c.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, givenError{err}
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	if err != nil {
		return nil, givenError{err}
	}
	return text, nil
}
