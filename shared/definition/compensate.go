package definition

import "github.com/orrery-dev/orrery/shared/expr"

// compensation reads the Compensate of a Task. In Cleanup there is none: what Cleanup does is never undone.
func (b *builder) compensation(s *State, f fields, lang expr.Language) {
	c, ok := f.object("Compensate")
	if !ok {
		return
	}
	if b.cleaning {
		b.errorf(f.at.member("Compensate"), RuleMisplaced, "Cleanup cannot have the field \"Compensate\": what it does is not undone.")
	}
	if s.Resource != nil && s.Resource.Kind == ResourceSignal {
		b.errorf(f.at.member("Compensate"), RuleMisplaced, "A Task that waits for a signal does not have the field \"Compensate\": it does nothing.")
	}
	c.only("Compensate", append(ownedBy(lang, expr.Compensate), compensateFields...), languageFields)
	c.text("Comment")
	arguments, problems := lang.Template(c.o, "Parameters")
	b.fromExpr(c.at, problems)
	s.Compensate = &Compensation{Arguments: arguments, Task: b.undoing(s, c, lang)}
}

// undoing makes the Task of a compensation.
func (b *builder) undoing(s *State, f fields, lang expr.Language) *State {
	t := &State{Name: s.Name, Type: Task, Pointer: f.at.String(), Machine: s.Machine, End: true}
	t.Flow, _ = lang.Flow(expr.Task, expr.NewObject())
	b.resource(t, f)
	if t.Resource != nil && t.Resource.Kind == ResourceSignal {
		b.errorf(f.at.member("Resource"), RuleResource, "Resource: a compensation must do something, and a signal is only waited for.")
	}
	b.attempts(t, f, lang)
	retry, _ := f.list("Retry")
	t.Retry = b.retriers(f, retry)
	return t
}
