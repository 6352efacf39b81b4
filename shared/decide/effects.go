package decide

import (
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// touched is a unit that the turn may have changed, as it stood before. A unit that ends by its token counts as two: the
// token's row, and the one by which a worker gets the token.
type touched struct {
	unit history.UnitKey
	standing
	// reported tells that a report has ended the attempt of row or child, expired that nobody had claimed it in time.
	reported, expired bool
}

// standing is what there is of a unit outside of the execution.
type standing struct {
	row    history.RowRef // in the task queue; its Offer is zero where there is none
	status history.UnitStatus
	token  bool   // nobody claims the row
	child  string // name of the execution that runs for the unit, empty for none
	try    int    // the attempt that the child is of
}

// claimed is a row of the queue whose claim the turn takes notice of.
type claimed struct {
	task history.TaskID
	row  history.RowRef
}

// standing tells how a unit stands now.
func (d *decider) standing(unit history.UnitKey) standing {
	var s standing
	v := d.s.Unit(unit)
	if v == nil {
		if v, index, ok := d.s.Kid(unit); ok {
			return standing{child: v.ChildName(index), try: v.Attempt()}
		}
		return s
	}
	if row, ok := v.TokenRow(); ok && row.Unit == unit {
		return standing{row: row, status: history.UnitWaiting, token: true}
	}
	if v.HasRow() && v.Row().Unit == unit {
		_, s.status = v.Unit()
		s.row = v.Row()
	}
	if name, _, ok := v.Child(); ok {
		s.child, s.try = name, v.Attempt()
	}
	return s
}

// fewUnits is up to how many touched units are searched one by one.
const fewUnits = 16

// touch notes how the unit of a visit stands before the turn changes it.
func (d *decider) touch(v *history.Visit) *touched {
	if v.HasRow() && v.Row().Unit != v.Key() {
		d.touchUnit(v.Row().Unit)
	}
	for _, index := range v.Kids() {
		d.touchUnit(v.ChildKey(index))
	}
	return d.touchUnit(v.Key())
}

func (d *decider) touchUnit(unit history.UnitKey) *touched {
	if t := d.findTouched(unit); t != nil {
		return t
	}
	d.touched = append(d.touched, touched{unit: unit, standing: d.standing(unit)})
	if n := len(d.touched); n > fewUnits {
		d.indexTouched()
	}
	return &d.touched[len(d.touched)-1]
}

func (d *decider) findTouched(unit history.UnitKey) *touched {
	if d.touchedAt != nil {
		if i, ok := d.touchedAt[unit]; ok {
			return &d.touched[i]
		}
		return nil
	}
	for i := range d.touched {
		if d.touched[i].unit == unit {
			return &d.touched[i]
		}
	}
	return nil
}

// indexTouched keeps the index complete: it is made once there are many, and then grows by the newest.
func (d *decider) indexTouched() {
	if d.touchedAt == nil {
		d.touchedAt = make(map[history.UnitKey]int, 4*fewUnits)
		for i := range d.touched {
			d.touchedAt[d.touched[i].unit] = i
		}
		return
	}
	n := len(d.touched) - 1
	d.touchedAt[d.touched[n].unit] = n
}

// touchTree notes everything that ends when the visit does.
func (d *decider) touchTree(v *history.Visit) {
	if v.Phase() == history.PhaseOpen || v.Run() != "" {
		d.touch(v)
	}
	for _, c := range v.Branches() {
		if inner := c.Visit(); inner != nil {
			d.touchTree(inner)
		}
	}
}

// effects compares each touched unit with how it stands now.
func (d *decider) effects() {
	for i := range d.touched {
		b := &d.touched[i]
		now := d.standing(b.unit)
		d.give(b, now)
		if now.row != b.row && (now.status == history.UnitQueued || now.token) {
			d.offer(d.s.Unit(b.unit), now)
		}
		if now.child != b.child || now.try != b.try {
			d.children(b, now)
		}
	}
	for _, b := range d.begun {
		if d.standing(b.unit).child != "" {
			d.t.Children = append(d.t.Children, b.child)
		}
	}
	for _, c := range d.claims {
		if b := d.findTouched(c.row.Unit); b == nil || !b.reported || c.row.Attempt > b.row.Attempt {
			d.t.Noticed = append(d.t.Noticed, history.Noticed{Task: c.task})
		}
	}
}

// give takes away what stood in the queue, where another row stands now.
func (d *decider) give(b *touched, now standing) {
	switch {
	case b.row.Offer == 0:
	case now.row.Offer == 0 || now.row.Attempt != b.row.Attempt:
		d.t.Resolved = append(d.t.Resolved, history.Resolved{
			Unit: b.unit, Attempt: b.row.Attempt, Reported: b.reported, OnlyQueued: b.expired,
			CancelNotice: !b.reported && !b.expired,
		})
	case b.status != history.UnitUncertain && (now.row.Offer != b.row.Offer || now.status == history.UnitUncertain):
		d.t.Lost = append(d.t.Lost, b.row)
	}
}

// children starts the child that the unit waits for now, and stops the one that it waited for.
func (d *decider) children(b *touched, now standing) {
	if b.child != "" && !b.reported {
		d.t.Stops = append(d.t.Stops, history.Stop{
			Name: b.child, Reason: "the parent does not wait for it any more", Unit: b.unit, Attempt: b.try,
			Terminate: d.terminating,
		})
	}
	if c, ok := d.began[b.unit]; ok && now.child != "" {
		d.t.Children = append(d.t.Children, c)
	}
}

// Offers gives the open units that have rows in the queue, as the offers that they were: for rows that are not there. Those that
// workers have carry their claims, which lack what a state does not keep, the poll.
func Offers(m *definition.Machine, s *history.State) ([]history.Offer, error) {
	d := &decider{m: m, s: s, t: &history.Turn{}}
	for _, v := range s.OpenVisits() {
		if row, ok := v.TokenRow(); ok {
			d.offer(v, standing{row: row, token: true})
		}
		u, _ := v.View()
		if v.HasRow() && (u.Status == history.UnitQueued || u.Status == history.UnitDispatched) {
			d.offer(v, standing{row: v.Row()})
		}
		if d.err != nil {
			return nil, d.err
		}
		if n := len(d.t.Offers); v.HasRow() && u.Status == history.UnitDispatched {
			d.t.Offers[n-1].Claim = &history.Claim{Session: u.Session, Worker: u.Worker, At: u.DispatchedAt}
		}
	}
	return d.t.Offers, nil
}

// ResourceOf is who does the unit of a visit to a state.
func ResourceOf(v *history.Visit, st *definition.State) *definition.Resource {
	switch {
	case !v.Writes():
		return st.Resource
	case st.Writer.Resource != nil:
		return st.Writer.Resource
	}
	return describing
}

// describing is who describes the executions of a Map.
var describing = &definition.Resource{Kind: definition.ResourceResults, Text: "results", Contract: definition.ResultsContract}

// offer writes a row for the queue.
func (d *decider) offer(v *history.Visit, now standing) {
	st := d.state(v)
	if st == nil {
		return
	}
	key := v.IdempotencyKey()
	if key == "" {
		start := d.s.Start()
		key = start.Namespace + "/" + start.Name + "/" + string(v.Key())
	}
	timeout, heartbeat := v.Timeouts()
	resource := ResourceOf(v, st)
	if resource.Token {
		heartbeat = 0 // whoever claims the row is not the one who has to beat
	}
	input := workOf(resource, v.Work())
	if now.token {
		input = []byte("null") // nobody gets it with this row
	}
	d.t.Offers = append(d.t.Offers, history.Offer{
		RowRef: now.row, Contract: resource.Contract, Language: resource.Language, Priority: st.Priority, TokenTask: now.token,
		Task: history.Task{
			Input: input, IdempotencyKey: key, Redelivery: v.Redelivery(), Timeout: timeout, HeartbeatTimeout: heartbeat,
		},
	})
}
