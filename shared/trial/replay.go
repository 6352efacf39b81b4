package trial

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// Judgement is what became of a replay.
type Judgement string

// The judgements.
const (
	// Same: the version decides every turn as it was recorded.
	Same Judgement = "same"
	// Differs: it decides a turn otherwise.
	Differs Judgement = "differs"
	// Unclear: the recording does not tell enough to say.
	Unclear Judgement = "unclear"
)

// Verdict is a judgement with its reason. Its other fields say where the first difference is, and are zero for Same.
type Verdict struct {
	Judgement Judgement
	Turn      history.Seq
	Event     history.EventID
	At        history.Time
	// Type and Unit are those of the recorded event.
	Type string
	Unit history.UnitKey
	// Field is what of the event differs, Recorded and Now what it was and is; empty where the difference is another one.
	Field, Recorded, Now string
	// Message says it in one sentence.
	Message string
}

// maxLate is how much later than its time a turn may be recorded before it counts as a sign of something else.
const maxLate = time.Minute

// seeds are how many other draws are tried, to find what chance decides.
const seeds = 16

// Replay lets a version of a document decide a recorded history again, turn by turn, and gives the first difference. What
// was drawn by chance is in no command: a value that another draw would change is taken as it was recorded, where the
// recording has the events themselves, and is Unclear where it does not. Check is asked between turns whether to go on.
func Replay(m *definition.Machine, rec *Recording, check func() error) (Verdict, error) {
	r := &replayer{m: m, rec: rec, resources: rec.resources(), folded: history.New()}
	for i := range rec.Turns {
		if check != nil {
			if err := check(); err != nil {
				return Verdict{}, err
			}
		}
		v, err := r.turn(i)
		if err != nil || v.Judgement != Same {
			return v, err
		}
	}
	return Verdict{Judgement: Same}, nil
}

// replayer is a replay under way.
type replayer struct {
	m   *definition.Machine
	rec *Recording
	// resources tells whether events of the recording say what their resource is.
	resources bool
	// s is the state that the version decides on, nil before the first turn.
	s *history.State
	// folded describes: where the recording has its events, it is their fold, else that of the version's own.
	folded *history.State
}

// try is a way in which a turn can be decided.
type try struct {
	m    *definition.Machine
	seed uint64
	// final takes the failures of the turn for such as their workers forbade another try of.
	final bool
	// alone decides without knowing anything besides the history.
	alone bool
}

// turn replays one turn. S and folded are those after it, where the verdict is Same.
func (r *replayer) turn(i int) (Verdict, error) {
	turn := &r.rec.Turns[i]
	shown := turn.Events == nil
	if shown {
		if v := cmp.Or(r.pauses(turn), r.late(turn)); v != (Verdict{}) {
			return v, nil
		}
	}
	from := r.before(i)
	t, err := r.decide(r.s, turn, try{m: r.m}, &r.s)
	if err != nil {
		return cannot(turn, err), nil
	}
	equal := !shown && bytes.Equal(history.EncodeEvents(t.Events), history.EncodeEvents(turn.Events))
	if !equal || r.resources { // equal events may still be of other resources
		v, err := r.compare(turn, t, try{m: r.m}, from)
		if err == nil && v.Judgement == Differs {
			v, err = r.alone(turn, v, &t, from)
		}
		if err == nil && v.Judgement == Differs {
			v, err = r.forbidden(turn, v, &t, from)
		}
		if err != nil || v.Judgement != Same {
			return refusedInput(turn, v), err
		}
	}
	events := turn.Events
	if shown {
		events = t.Events
	}
	if err := r.folded.Apply(turn.Seq, turn.At, t.FirstEvent, events); err != nil {
		return Verdict{}, err
	}
	if !equal && !shown {
		r.s, err = history.Restore(r.folded.Snapshot())
	}
	return Verdict{Judgement: Same}, err
}

// alone looks whether a difference is none if the node that decided knew nothing yet of what all nodes share: then it stopped before
// the first step for which that is needed, and went on in the next turn. T and s are then those of the turn so.
func (r *replayer) alone(turn *Recorded, v Verdict, t *history.Turn, from before) (Verdict, error) {
	stopped, state, judged, err := r.again(turn, try{m: r.m, alone: true}, from)
	if err != nil || judged != Same || !stopped.Stalled {
		return v, err
	}
	*t, r.s = stopped, state
	return Verdict{Judgement: Same}, nil
}

// forbidden looks whether a difference is none if a worker forbade another try of a failure, which no event tells. It did
// where the document that the execution ran would differ as well; t and s are then those of the turn with that.
func (r *replayer) forbidden(turn *Recorded, v Verdict, t *history.Turn, from before) (Verdict, error) {
	if !slices.ContainsFunc(turn.Views, func(v history.View) bool { return unitEvent(v.Type) == "Failed" }) {
		return v, nil
	}
	final, state, judged, err := r.again(turn, try{m: r.m, final: true}, from)
	if err != nil || judged != Same {
		return v, err
	}
	if r.rec.Was != nil {
		_, _, was, err := r.again(turn, try{m: r.rec.Was}, from)
		if err != nil || was == Same {
			return v, err
		}
		*t, r.s = final, state
		return Verdict{Judgement: Same}, nil
	}
	v.Judgement = Unclear
	v.Message += ", unless a worker forbade another try, which is not in a history"
	return v, nil
}

// refusedInput takes a difference for unclear that may come from the document of another workflow, which a replay does not have:
// it did not take an input.
func refusedInput(turn *Recorded, v Verdict) Verdict {
	i := slices.IndexFunc(turn.Views, func(w history.View) bool { return w.ID == v.Event })
	if v.Judgement == Differs && i >= 0 && textDetail(turn.Views[i], "error") == decide.OrreryInvalidInput {
		v.Judgement = Unclear
		v.Message += ", unless the input does not fit the workflow that it was for, whose document is not known"
	}
	return v
}

// again decides a turn once more, from the state before it; Differs also where it cannot be decided.
func (r *replayer) again(turn *Recorded, how try, from before) (history.Turn, *history.State, Judgement, error) {
	s, err := from()
	if err != nil {
		return history.Turn{}, nil, "", err
	}
	var after *history.State
	t, err := r.decide(s, turn, how, &after)
	if err != nil {
		return t, nil, Differs, nil
	}
	v, err := r.compare(turn, t, how, from)
	return t, after, v.Judgement, err
}

// before makes the state before a turn, as often as it is asked.
type before func() (*history.State, error)

func (r *replayer) before(turn int) before {
	if turn == 0 {
		return func() (*history.State, error) { return history.New(), nil }
	}
	snapshot := sync.OnceValue(r.folded.Snapshot)
	return func() (*history.State, error) { return history.Restore(snapshot()) }
}

// decide lets a version decide a turn on s; after is the state after it.
func (r *replayer) decide(s *history.State, turn *Recorded, how try, after **history.State) (history.Turn, error) {
	var t history.Turn
	var err error
	var handed map[history.UnitKey]history.Claim
	if s == nil || s.Status() == 0 {
		start := r.rec.Start
		start.Seed = how.seed
		_, handed = derive(history.New(), turn, how)
		s, t, err = decide.Start(how.m, 1, start, turn.At)
	} else {
		var cmds []history.Command
		cmds, handed = derive(s, turn, how)
		w := decide.World{}
		if !how.alone {
			w = knownThen(turn, how.seed)
		}
		t, err = w.Handle(how.m, s, cmds, turn.At)
	}
	*after = s
	if err != nil {
		return t, err
	}
	return t, handOver(how.m, s, &t, handed)
}

// knownThen is what the decision of a recorded turn was told: the workflows of the executions that it has started, those that
// it found missing, and the names that it found taken. It stopped at the first workflow that it did not know.
func knownThen(turn *Recorded, seed uint64) decide.World {
	started := 0
	causes := map[string]bool{}
	for i := range turn.Views {
		v := &turn.Views[i]
		switch unitEvent(v.Type) {
		case "Started":
			if detail(*v, "workerName") == nil {
				started++
			}
		case "Failed":
			causes[textDetail(*v, "cause")] = true
		}
	}
	w := known(seed)
	w.Workflow = func(ref history.WorkflowRef) decide.Answer {
		switch {
		case started == 0:
			return decide.Answer{}
		case causes[decide.MissingWorkflow(ref)]:
			return decide.Answer{Known: true}
		}
		started--
		return standsFor(ref)
	}
	w.Taken = func(name string) bool { return causes[decide.TakenName(name)] }
	return w
}

// handOver gives what the turn offers to those who took it in the same turn.
func handOver(m *definition.Machine, s *history.State, t *history.Turn, handed map[history.UnitKey]history.Claim) error {
	for i := range t.Offers {
		if claim, ok := handed[s.Unit(t.Offers[i].Unit).Key()]; ok && !t.Offers[i].TokenTask {
			if err := decide.HandOver(m, s, t, i, claim); err != nil {
				return err
			}
		}
	}
	return nil
}

// late looks whether the version would have gone on by itself long before the recorded turn.
func (r *replayer) late(turn *Recorded) Verdict {
	if r.s == nil {
		return Verdict{}
	}
	for unit, at := range heard(r.s, turn) {
		r.s.Heard(unit, at)
	}
	wake := r.s.WakeAt()
	if wake == 0 || turn.At.Sub(wake) <= maxLate {
		return Verdict{}
	}
	v := verdictAt(turn, 0, Unclear)
	v.Message = fmt.Sprintf("the turn was recorded %s after the time at which this version goes on by itself: it was late, or this version waits less",
		turn.At.Sub(wake))
	return v
}

// pauses looks whether the turn ends a pause before the version would, whose length chance decides.
func (r *replayer) pauses(turn *Recorded) Verdict {
	if r.s == nil {
		return Verdict{}
	}
	for i := range turn.Views {
		u := r.s.Unit(turn.Views[i].Unit)
		if u == nil || u.Phase() != history.PhaseRetrying {
			continue
		}
		view, _ := u.View()
		if st := r.m.Find(view.State); view.Deadline > turn.At && st != nil && slices.ContainsFunc(st.Retry, isDrawn) {
			v := verdictAt(turn, i, Unclear)
			v.Message = "the pause before this try is drawn by chance, and the recording does not have its events themselves"
			return v
		}
	}
	return Verdict{}
}

func isDrawn(r definition.Retrier) bool { return r.FullJitter }

// cannot is the verdict on a version that cannot decide a turn at all.
func cannot(turn *Recorded, err error) Verdict {
	v := verdictAt(turn, 0, Differs)
	v.Message = fmt.Sprintf("this version cannot go on: %v", err)
	return v
}

// verdictAt is a verdict about the i-th event of a turn, or about its last one where it has fewer.
func verdictAt(turn *Recorded, i int, j Judgement) Verdict {
	v := Verdict{Judgement: j, Turn: turn.Seq, At: turn.At}
	if i = min(i, len(turn.Views)-1); i >= 0 {
		v.Event, v.Type, v.Unit = turn.Views[i].ID, turn.Views[i].Type, turn.Views[i].Unit
	}
	return v
}
