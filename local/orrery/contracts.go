package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/wire"
)

func (c *cli) contracts() *cobra.Command {
	cmd := &cobra.Command{Use: "contracts", Short: "Work with the schemas of contracts"}
	cmd.AddCommand(c.contractList(), c.contractShow(), c.contractSet(), c.contractDelete())
	return cmd
}

func (c *cli) contractList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the contracts that have schemas", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var l wire.ContractList
			if err := c.get(cmd, wire.Path("contracts"), &l); err != nil {
				return err
			}
			return c.print(l, func(t *table) {
				t.row("CONTRACT", "REGISTERED", "HASH")
				for _, x := range l.Contracts {
					t.row(nameOf(x), clock(x.RegisteredAt), x.Hash)
				}
			})
		},
	}
}

func (c *cli) contractShow() *cobra.Command {
	return &cobra.Command{
		Use: "show TASK[@VERSION]", Short: "Show the schemas of a contract", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := contractPath(args[0])
			if err != nil {
				return err
			}
			var x wire.ContractSchemas
			if err := c.get(cmd, path, &x); err != nil {
				return err
			}
			return c.print(x, func(t *table) {
				t.row("contract", nameOf(x))
				t.row("input", string(x.Input))
				t.row("output", string(x.Output))
			})
		},
	}
}

func (c *cli) contractSet() *cobra.Command {
	var input, output string
	cmd := &cobra.Command{
		Use: "set TASK[@VERSION]", Short: "Register a contract with its schemas", Args: cobra.ExactArgs(1),
		Long: "Register a version of a contract with the JSON Schemas of its input and output, from files in JSON or YAML (- for the\n" +
			"standard input). A version that is registered never changes: other schemas need another version.",
		Example: "  orrery contracts set payments.charge@2 --input charge.json --output receipt.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := contractPath(args[0])
			if err != nil {
				return err
			}
			var q wire.ContractRequest
			if q.Input, err = c.readSchema(input); err != nil {
				return err
			}
			if q.Output, err = c.readSchema(output); err != nil {
				return err
			}
			var x wire.ContractSchemas
			status, err := c.client.Call(cmd.Context(), http.MethodPut, path, nil, q, &x)
			if err != nil {
				return err
			}
			return c.print(x, func(t *table) {
				what := "registered"
				if status == http.StatusOK {
					what = "unchanged"
				}
				t.row(nameOf(x), what, x.Hash)
			})
		},
	}
	cmd.Flags().StringVar(&input, "input", "", "file with the schema of the input")
	cmd.Flags().StringVar(&output, "output", "", "file with the schema of the output")
	return cmd
}

func (c *cli) contractDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete TASK[@VERSION]", Short: "Take the schemas of a contract away", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := contractPath(args[0])
			if err != nil {
				return err
			}
			var x wire.ContractSchemas
			if _, err := c.client.Call(cmd.Context(), http.MethodDelete, path, nil, nil, &x); err != nil {
				return err
			}
			return c.print(x, func(t *table) { t.row(nameOf(x), "deleted") })
		},
	}
}

func nameOf(x wire.ContractSchemas) string { return fmt.Sprintf("%s@%d", x.Task, x.Version) }

// contractPath is the path of TASK@VERSION, or of version 1 of TASK.
func contractPath(arg string) (string, error) {
	task, version, ok := strings.Cut(arg, "@")
	if !ok {
		version = "1"
	}
	if _, err := strconv.Atoi(version); err != nil || task == "" {
		return "", usageError{fmt.Errorf("%q is not TASK@VERSION, such as payments.charge@2", arg)}
	}
	return wire.Path("contracts", task, version), nil
}

// readSchema reads a schema, as JSON or YAML; nil without a file.
func (c *cli) readSchema(file string) (json.RawMessage, error) {
	if file == "" {
		return nil, nil
	}
	text, err := c.readFile(file)
	if err != nil {
		return nil, err
	}
	v, problems := definition.ReadValue(text, definition.Options{})
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return expr.Marshal(v), nil
}
