package definition

import (
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/expr"
)

// unbuilt stands for the query language of a state that is refused because of
// it. It owns every field that some language owns and makes no evaluator, so
// that everything else about the state is still checked.
type unbuilt struct{ name string }

func (l unbuilt) Name() string { return l.name }

func (unbuilt) Owns(_ expr.Kind, field string) bool { return slices.Contains(languageFields, field) }

func (unbuilt) Flow(expr.Kind, *expr.Object) (expr.Flow, []expr.Problem) { return nil, nil }

func (unbuilt) Rule(_, _ *expr.Object) (expr.Rule, []expr.Problem) { return nil, nil }

func (unbuilt) Catcher(*expr.Object) (expr.Catcher, []expr.Problem) { return nil, nil }

func (unbuilt) Integer(*expr.Object, string) (expr.Field[int64], []expr.Problem) { return nil, nil }

func (unbuilt) Decimal(*expr.Object, string) (expr.Field[float64], []expr.Problem) { return nil, nil }

func (unbuilt) Text(*expr.Object, string) (expr.Field[string], []expr.Problem) { return nil, nil }

func (unbuilt) Instant(*expr.Object, string) (expr.Field[time.Time], []expr.Problem) {
	return nil, nil
}

func (unbuilt) Items(*expr.Object) (expr.Field[[]expr.Value], []expr.Problem) { return nil, nil }

func (unbuilt) Template(*expr.Object, string) (expr.Expression, []expr.Problem) { return nil, nil }
