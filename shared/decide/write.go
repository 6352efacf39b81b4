package decide

import (
	"strings"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// write has the server write what the executions of a Map gave, or describe them; f is why the run has failed, where it has.
func (d *decider) write(v *history.Visit, st *definition.State, f failure) {
	work, fault, err := d.writing(v, st, f)
	if err != nil {
		fault = evaluation(v, err)
	}
	if fault.code != "" {
		if f.code == "" {
			f = fault
		}
		d.runFailed(v, st, f)
		return
	}
	d.touchTree(v)
	d.touchUnit(history.WriteKey(v.Key()))
	d.emit(history.Event{
		Type: history.EventWriting, Scope: v.Scope().ID(), Text: history.Text{Literal: expr.Marshal(work)}, Error: f.code, Cause: f.cause,
	})
}

// writing is what the server is asked for; the failure says why it cannot be.
func (d *decider) writing(v *history.Visit, st *definition.State, f failure) (*expr.Object, failure, error) {
	w, start := st.Writer, d.s.Start()
	var runs []expr.Value
	for _, name := range v.Runs() {
		runs = append(runs, idOfRun(name))
	}
	work := expr.NewObject()
	if w.Resource != nil {
		sc, entry, err := d.flow(d.placeOf(v), st, v.Input())
		if err != nil {
			return nil, failure{}, err
		}
		given := entry.Effective
		if w.Parameters != nil {
			if given, err = w.Parameters.Eval(sc.With(entry.Input)); err != nil {
				return nil, failure{}, err
			}
		}
		bucket, key, fault := placeOfResults(given, runs[0].(string))
		if fault.code != "" {
			return nil, fault, nil
		}
		work.Set("Resource", w.Resource.Text)
		work.Set("Bucket", bucket)
		work.Set("Folder", key)
	}
	work.Set("Transformation", string(w.Transformation))
	work.Set("Lines", w.Lines)
	work.Set("MapRunArn", v.Run())
	work.Set("ExecutionArn", d.executionID(start.Workflow, ""))
	work.Set("StateMachineArn", d.machineID(start.Workflow))
	work.Set("Runs", runs)
	work.Set("Items", expr.NumberOf(int64(v.Items())))
	if f.code != "" {
		work.Set("Pending", d.pending(v))
	}
	return work, failure{}, nil
}

// pending are the items of a failed run that no execution was started for.
func (d *decider) pending(v *history.Visit) []expr.Value {
	list := []expr.Value{}
	for _, i := range v.Unstarted(d.t.Seq) {
		list = append(list, expr.NewObject(
			expr.Member{Name: "Index", Value: expr.NumberOf(int64(i))}, expr.Member{Name: "Input", Value: d.value(v.Item(i))},
		))
	}
	return list
}

// idOfRun is what the names of the executions of a run begin with.
func idOfRun(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// placeOfResults reads the Parameters of a ResultWriter: the bucket, and what the keys of a run begin with.
func placeOfResults(given expr.Value, run string) (bucket, folder string, fault failure) {
	fail := func(cause string) (string, string, failure) {
		return "", "", failure{code: expr.StatesResultWriterFailed, cause: cause}
	}
	o, ok := given.(*expr.Object)
	if !ok {
		return fail("The Parameters of a ResultWriter must be an Object")
	}
	for name, v := range o.All() {
		text, isText := v.(string)
		switch {
		case name != "Bucket" && name != "Prefix":
			return fail("The field '" + clip(name, maxCode) + "' is not supported in the Parameters of a ResultWriter")
		case !isText:
			return fail("The field '" + name + "' must be a String")
		case name == "Bucket":
			bucket = text
		case text != "":
			folder = strings.TrimSuffix(text, "/") + "/"
		}
	}
	if bucket == "" {
		return fail("The field 'Bucket' is required but was missing")
	}
	return bucket, folder + run + "/", failure{}
}

// haveWritten records what the Map gives: where its results are, or what the server says of its executions.
func (d *decider) haveWritten(ev history.Event, v *history.Visit, st *definition.State, said expr.Value) history.EventID {
	if st.Writer.Resource != nil {
		work, _ := d.value(v.Work()).(*expr.Object)
		bucket, _ := work.Get("Bucket")
		folder, _ := work.Get("Folder")
		key, _ := folder.(string)
		said = expr.NewObject(
			expr.Member{Name: "MapRunArn", Value: v.Run()},
			expr.Member{Name: "ResultWriterDetails", Value: expr.NewObject(
				expr.Member{Name: "Bucket", Value: bucket}, expr.Member{Name: "Key", Value: key + "manifest.json"},
			)},
		)
	}
	text := d.text(said)
	if len(text) > d.limits.PayloadBytes {
		return d.notWritten(ev, tooLarge(st.Name))
	}
	ev.Text.Literal = text
	return d.emit(ev)
}

// notWritten records why the results could not be written. ev is the event so far.
func (d *decider) notWritten(ev history.Event, f failure) history.EventID {
	ev.Type, ev.Text, ev.Error, ev.Cause = history.EventUnwritten, history.Text{}, f.code, f.cause
	return d.emit(ev)
}

// flattened takes the elements of results that are arrays in the place of these.
func flattened(results expr.Value) expr.Value {
	list, _ := results.([]expr.Value)
	flat := []expr.Value{}
	for _, v := range list {
		if inner, ok := v.([]expr.Value); ok {
			flat = append(flat, inner...)
			continue
		}
		flat = append(flat, v)
	}
	return flat
}
