package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/wire"
)

func (c *cli) aliases() *cobra.Command {
	cmd := &cobra.Command{Use: "aliases", Short: "Work with names that stand for versions of a workflow"}
	cmd.AddCommand(c.aliasList(), c.aliasSet(), c.aliasDelete())
	return cmd
}

func (c *cli) aliasList() *cobra.Command {
	return &cobra.Command{
		Use: "list WORKFLOW", Short: "List the aliases of a workflow", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var l wire.AliasList
			if err := c.get(cmd, wire.Path("workflows", args[0], "aliases"), &l); err != nil {
				return err
			}
			return c.print(l, func(t *table) {
				t.row("ALIAS", "VERSIONS", "UPDATED")
				for _, a := range l.Aliases {
					t.row(a.Alias, splitOf(a.Versions), clock(a.UpdatedAt))
				}
			})
		},
	}
}

func (c *cli) aliasSet() *cobra.Command {
	return &cobra.Command{
		Use: "set WORKFLOW ALIAS VERSION[=WEIGHT]...", Short: "Make or change an alias", Args: cobra.MinimumNArgs(3),
		Long: "Make or change an alias. It splits starts between versions by weights that add up to 100; one version needs none. Which\n" +
			"side an execution is on follows from its name. Executions that run keep their version.",
		Example: "  orrery aliases set ship live 7\n  orrery aliases set ship live 7=90 8=10\n  orrery start ship:live",
		RunE: func(cmd *cobra.Command, args []string) error {
			versions, err := readSplit(args[2:])
			if err != nil {
				return err
			}
			var a wire.Alias
			path := wire.Path("workflows", args[0], "aliases", args[1])
			if _, err := c.client.Call(cmd.Context(), http.MethodPut, path, nil, wire.AliasRequest{Versions: versions}, &a); err != nil {
				return err
			}
			return c.print(a, func(t *table) { t.row(a.Workflow+":"+a.Alias, splitOf(a.Versions)) })
		},
	}
}

func (c *cli) aliasDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete WORKFLOW ALIAS", Short: "Take an alias away", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var a wire.Alias
			path := wire.Path("workflows", args[0], "aliases", args[1])
			if _, err := c.client.Call(cmd.Context(), http.MethodDelete, path, nil, nil, &a); err != nil {
				return err
			}
			return c.print(a, func(t *table) { t.row(a.Workflow+":"+a.Alias, "deleted") })
		},
	}
}

// readSplit reads VERSION=WEIGHT for each version; one that stands alone may go without its weight.
func readSplit(args []string) ([]wire.AliasVersion, error) {
	out := make([]wire.AliasVersion, len(args))
	for i, arg := range args {
		version, weight, weighed := strings.Cut(arg, "=")
		if !weighed && len(args) == 1 {
			weight = "100"
		}
		v, err := strconv.Atoi(version)
		w, noWeight := strconv.Atoi(weight)
		if err != nil || noWeight != nil {
			return nil, usageError{fmt.Errorf("%q is not VERSION=WEIGHT, such as 7=90", arg)}
		}
		out[i] = wire.AliasVersion{Version: v, Weight: w}
	}
	return out, nil
}

// splitOf shows versions as readSplit reads them.
func splitOf(versions []wire.AliasVersion) string {
	if len(versions) == 1 {
		return strconv.Itoa(versions[0].Version)
	}
	parts := make([]string, len(versions))
	for i, v := range versions {
		parts[i] = fmt.Sprintf("%d=%d", v.Version, v.Weight)
	}
	return strings.Join(parts, " ")
}
