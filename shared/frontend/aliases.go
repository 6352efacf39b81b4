package frontend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// SetAlias makes an alias of published versions, or changes it. Executions that run keep the version that they started with.
func (f *Frontend) SetAlias(ctx context.Context, c auth.Call, workflow, alias string, q wire.AliasRequest) (wire.Alias, bool, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.Alias{}, false, err
	}
	if err := checkRoutes(q.Versions); err != nil {
		return wire.Alias{}, false, err
	}
	a := store.Alias{Namespace: ns, Workflow: workflow, Name: alias}
	for _, v := range q.Versions {
		a.Routes = append(a.Routes, history.Route{Version: v.Version, Weight: v.Weight})
	}
	var created bool
	err = retried(ctx, true, func() (err error) { a, created, err = f.store.SetAlias(ctx, a); return err })
	var unpublished *store.UnpublishedError
	switch {
	case errors.As(err, &unpublished):
		return wire.Alias{}, false, f.unpublished(ctx, ns, workflow, q.Versions, unpublished.Versions)
	case errors.Is(err, store.ErrFull):
		return wire.Alias{}, false, wire.Invalid(wire.Detail{
			Field: "path alias", Rule: "max=" + strconv.Itoa(store.MaxAliases), Message: "the workflow has that many aliases",
		})
	case err != nil:
		return wire.Alias{}, false, failed("set the alias "+alias, err)
	}
	return aliasOf(a), created, nil
}

// checkRoutes refuses what no single field shows.
func checkRoutes(list []wire.AliasVersion) error {
	var faults []wire.Detail
	sum := 0
	for i, v := range list {
		sum += v.Weight
		if slices.ContainsFunc(list[:i], func(w wire.AliasVersion) bool { return w.Version == v.Version }) {
			faults = append(faults, versionFault(i, "unique", "stands there before"))
		}
	}
	if sum != history.AllWeights {
		faults = append(faults, wire.Detail{
			Field: "versions", Rule: fmt.Sprintf("sum=%d", history.AllWeights), Message: fmt.Sprintf("the weights add up to %d", sum),
		})
	}
	if faults != nil {
		return wire.Invalid(faults...)
	}
	return nil
}

func versionFault(i int, rule, message string) wire.Detail {
	return wire.Detail{Field: fmt.Sprintf("versions[%d].version", i), Rule: rule, Message: message}
}

// unpublished says that the workflow is not there, or which of its versions are not.
func (f *Frontend) unpublished(ctx context.Context, ns history.NamespaceID, workflow string, list []wire.AliasVersion, missing []int) error {
	if _, _, err := f.store.Definition(ctx, ns, workflow, 0); err != nil {
		return notFound(err, noWorkflow, workflow)
	}
	var faults []wire.Detail
	for i, v := range list {
		if slices.Contains(missing, v.Version) {
			faults = append(faults, versionFault(i, "published", "is not published"))
		}
	}
	return wire.Invalid(faults...)
}

// ListAliases lists the aliases of a workflow.
func (f *Frontend) ListAliases(ctx context.Context, c auth.Call, workflow string) (wire.AliasList, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.AliasList{}, err
	}
	list, err := f.store.Aliases(ctx, ns, workflow)
	if err != nil {
		return wire.AliasList{}, failed("list the aliases of "+workflow, err)
	}
	if len(list) == 0 {
		if _, _, err := f.store.Definition(ctx, ns, workflow, 0); err != nil {
			return wire.AliasList{}, notFound(err, noWorkflow, workflow)
		}
	}
	out := wire.AliasList{Aliases: []wire.Alias{}}
	for _, a := range list {
		out.Aliases = append(out.Aliases, aliasOf(a))
	}
	return out, nil
}

// GetAlias reads an alias.
func (f *Frontend) GetAlias(ctx context.Context, c auth.Call, workflow, alias string) (wire.Alias, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.Alias{}, err
	}
	a, err := f.store.Alias(ctx, ns, workflow, alias)
	if err != nil {
		return wire.Alias{}, notFound(err, noAlias, workflow+":"+alias)
	}
	return aliasOf(a), nil
}

// DeleteAlias takes an alias away. What names it cannot start any more.
func (f *Frontend) DeleteAlias(ctx context.Context, c auth.Call, workflow, alias string) (wire.Alias, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.Alias{}, err
	}
	a, err := f.store.DeleteAlias(ctx, ns, workflow, alias)
	if err != nil {
		return wire.Alias{}, notFound(err, noAlias, workflow+":"+alias)
	}
	return aliasOf(a), nil
}

func aliasOf(a store.Alias) wire.Alias {
	out := wire.Alias{Workflow: a.Workflow, Alias: a.Name, CreatedAt: a.CreatedAt.Time(), UpdatedAt: a.UpdatedAt.Time()}
	for _, r := range a.Routes {
		out.Versions = append(out.Versions, wire.AliasVersion{Version: r.Version, Weight: r.Weight})
	}
	return out
}

// version finds what an execution of the name starts with, and the database's time. The version is zero for the newest.
func (f *Frontend) version(ctx context.Context, of history.WorkflowRef, ns history.NamespaceID, execution string) (store.Definition, history.Time, error) {
	if of.Alias != "" {
		a, err := f.store.Alias(ctx, ns, of.Name, of.Alias)
		if err != nil {
			return store.Definition{}, 0, notFound(err, noAlias, of.String())
		}
		of.Version, of.Alias = a.Routes.Version(execution), ""
	}
	d, now, err := f.store.Definition(ctx, ns, of.Name, of.Version)
	if err != nil {
		return store.Definition{}, 0, notFound(err, noWorkflow, of.String())
	}
	return d, now, nil
}
