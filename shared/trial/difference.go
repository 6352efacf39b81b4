package trial

import (
	"fmt"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// draft is a turn as a version decides it, with one draw.
type draft struct {
	events []history.Event
	views  []history.View
}

// compare compares a recorded turn with the one that the version decides.
func (r *replayer) compare(turn *Recorded, t history.Turn, how try, from before) (Verdict, error) {
	d, err := r.draft(t, how.m, from)
	if err != nil {
		return Verdict{}, err
	}
	c := comparison{turn: turn, now: d}
	v := c.events()
	if v.Judgement == Same {
		return v, nil
	}
	if c.others, err = r.otherDrafts(turn, how, from); err != nil {
		return Verdict{}, err
	}
	if len(c.others) == 0 {
		return v, nil
	}
	v = c.events()
	if c.drawn && v.Judgement == Same && turn.Events == nil {
		v = verdictAt(turn, c.drawnAt, Unclear)
		v.Message = "the execution draws by chance here, and the recording does not have its events themselves"
	}
	return v, nil
}

func (r *replayer) draft(t history.Turn, m *definition.Machine, from before) (draft, error) {
	s, err := from()
	if err != nil {
		return draft{}, err
	}
	var resource func(string) string
	if r.resources {
		resource = func(state string) string { return resourceOf(m, state) }
	}
	views, err := history.Describe(s, t.Seq, t.At, t.FirstEvent, t.Events, resource)
	return draft{t.Events, views}, err
}

// resources tells whether events of the recording say what their resource is.
func (rec *Recording) resources() bool {
	for i := range rec.Turns {
		for j := range rec.Turns[i].Views {
			v := &rec.Turns[i].Views[j]
			if unitEvent(v.Type) == "Scheduled" {
				return detail(*v, "resource") != nil
			}
		}
	}
	return false
}

// otherDrafts decides the turn with other draws; none where none of them can be decided.
func (r *replayer) otherDrafts(turn *Recorded, how try, from before) ([]draft, error) {
	var list []draft
	for range seeds {
		how.seed++
		s, err := from()
		if err != nil {
			return nil, err
		}
		var after *history.State
		t, err := r.decide(s, turn, how, &after)
		if err != nil {
			continue
		}
		d, err := r.draft(t, how.m, from)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// comparison looks for the first difference between a recorded turn and a draft. A difference that other drafts have to
// this one as well is chance.
type comparison struct {
	turn    *Recorded
	now     draft
	others  []draft
	drawn   bool // a value was decided by chance
	drawnAt int  // the first event with one
}

func (c *comparison) events() Verdict {
	for i := range min(len(c.turn.Views), len(c.now.views)) {
		if v := c.event(i); v.Judgement != Same {
			return v
		}
	}
	was, is := len(c.turn.Views), len(c.now.views)
	if was == is {
		return Verdict{Judgement: Same}
	}
	v := verdictAt(c.turn, min(was, is), c.shape())
	if is < was {
		v.Message = fmt.Sprintf("recorded %s, this version does nothing more then", name(c.turn.Views[is]))
	} else {
		v.Message = fmt.Sprintf("recorded nothing more then, this version goes on with %s", name(c.now.views[was]))
	}
	return v
}

// shape is the judgement on turns of other events: chance may have decided which.
func (c *comparison) shape() Judgement {
	for _, o := range c.others {
		if len(o.views) != len(c.now.views) {
			return Unclear
		}
		for i := range o.views {
			if name(o.views[i]) != name(c.now.views[i]) {
				return Unclear
			}
		}
	}
	return Differs
}

// name is what happened to what.
func name(v history.View) string {
	if v.Unit == "" {
		return v.Type
	}
	return fmt.Sprintf("%s of %s", v.Type, v.Unit)
}

func (c *comparison) event(i int) Verdict {
	was, is := c.turn.Views[i], c.now.views[i]
	if name(was) != name(is) {
		v := verdictAt(c.turn, i, c.shape())
		v.Message = fmt.Sprintf("recorded %s, this version gives %s", name(was), name(is))
		return v
	}
	for _, field := range fieldsOf(was, is) {
		if v := c.field(i, field, value(was, field), value(is, field)); v.Judgement != Same {
			return v
		}
	}
	if c.turn.Events == nil {
		return Verdict{Judgement: Same}
	}
	return c.hidden(i)
}

// fieldsOf lists the details of two events.
func fieldsOf(was, is history.View) []string {
	var list []string
	for _, d := range was.Details {
		list = append(list, d.Name)
	}
	for _, d := range is.Details {
		if detail(was, d.Name) == nil {
			list = append(list, d.Name)
		}
	}
	return list
}

// missing stands for a detail that is not there.
type missing struct{}

func value(v history.View, field string) any {
	text := detail(v, field)
	if text == nil {
		return missing{}
	}
	parsed, err := expr.Parse(text)
	if err != nil {
		return missing{}
	}
	return parsed
}

// field compares one detail.
func (c *comparison) field(i int, field string, was, is any) Verdict {
	others := make([]any, 0, len(c.others))
	for _, o := range c.others {
		if i < len(o.views) {
			others = append(others, value(o.views[i], field))
		}
	}
	if c.alike(i, was, is, others) {
		return Verdict{Judgement: Same}
	}
	return c.differs(i, field, shown(was), shown(is))
}

func (c *comparison) differs(i int, field, was, is string) Verdict {
	v := verdictAt(c.turn, i, Differs)
	v.Field, v.Recorded, v.Now = field, was, is
	v.Message = fmt.Sprintf("%s: %s was %s, this version gives %s", name(c.turn.Views[i]), field, orNothing(was), orNothing(is))
	return v
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

func shown(v any) string {
	if _, none := v.(missing); none {
		return ""
	}
	return string(expr.Marshal(v))
}

// alike compares two values but for what chance decides: where the values of other drafts differ from that of this one.
func (c *comparison) alike(i int, was, is any, others []any) bool {
	if same(was, is) {
		return true
	}
	switch is := is.(type) {
	case *expr.Object:
		if was, ok := was.(*expr.Object); ok && sameNames(was, is) {
			for name, member := range is.All() {
				w, _ := was.Get(name)
				if !c.alike(i, w, member, pick(others, func(v any) any { return memberOf(v, name) })) {
					return false
				}
			}
			return true
		}
	case []expr.Value:
		if was, ok := was.([]expr.Value); ok && len(was) == len(is) {
			for n := range is {
				if !c.alike(i, was[n], is[n], pick(others, func(v any) any { return elementOf(v, n) })) {
					return false
				}
			}
			return true
		}
	}
	for _, o := range others {
		if !same(o, is) {
			if !c.drawn {
				c.drawn, c.drawnAt = true, i
			}
			return true
		}
	}
	return false
}

func same(a, b any) bool {
	_, noA := a.(missing)
	_, noB := b.(missing)
	if noA || noB {
		return noA && noB
	}
	return expr.Equal(a, b)
}

func sameNames(a, b *expr.Object) bool {
	if a.Len() != b.Len() {
		return false
	}
	for name := range a.All() {
		if _, ok := b.Get(name); !ok {
			return false
		}
	}
	return true
}

func pick(list []any, f func(any) any) []any {
	picked := make([]any, len(list))
	for i := range list {
		picked[i] = f(list[i])
	}
	return picked
}

func memberOf(v any, name string) any {
	if o, ok := v.(*expr.Object); ok {
		if member, ok := o.Get(name); ok {
			return member
		}
	}
	return missing{}
}

func elementOf(v any, n int) any {
	if list, ok := v.([]expr.Value); ok && n < len(list) {
		return list[n]
	}
	return missing{}
}

// hidden compares what an event decides and does not show.
func (c *comparison) hidden(i int) Verdict {
	was := hiddenOf(c.turn.Events[i])
	for n, is := range hiddenOf(c.now.events[i]) {
		others := make([]any, 0, len(c.others))
		for _, o := range c.others {
			if i < len(o.events) {
				others = append(others, expr.NumberOf(hiddenOf(o.events[i])[n].number))
			}
		}
		if !c.alike(i, expr.NumberOf(was[n].number), expr.NumberOf(is.number), others) {
			return c.differs(i, is.name, was[n].text(), is.text())
		}
	}
	return Verdict{Judgement: Same}
}

// hiddenField is a number of an event that the API does not show.
type hiddenField struct {
	name   string
	number int64
	time   bool
}

func (f hiddenField) text() string {
	switch {
	case f.number == 0:
		return ""
	case f.time:
		return history.Time(f.number).Time().Format("2006-01-02T15:04:05.000Z07:00")
	}
	return fmt.Sprint(f.number)
}

func hiddenOf(ev history.Event) []hiddenField {
	at := int64(ev.At)
	if ev.Type == history.EventDispatched { // when a worker claimed it is nobody's decision
		at = 0
	}
	return []hiddenField{
		{"the number of the retrier", int64(ev.Retrier), false},
		{"the time when it goes on", at, true},
		{"the number of iterations at once", int64(ev.Limit), false},
		{"the limit of the attempt in milliseconds", ev.Timeout, false},
		{"the limit between heartbeats in milliseconds", ev.Heartbeat, false},
		{"the limit in the queue in milliseconds", ev.Queue, false},
	}
}
