package decide

import "github.com/orrery-dev/orrery/shared/history"

// touched is a unit that the turn may have changed, as it stood before.
type touched struct {
	unit history.UnitKey
	// row is what stood in the task queue; its Offer is zero where nothing did.
	row history.RowRef
	// lost tells that the row had been given up before: it is there, but 'lost'.
	lost bool
	// reported tells that a report has ended the attempt of row, expired that nobody had claimed it in time.
	reported, expired bool
}

// claimed is a row of the queue whose claim the turn takes notice of.
type claimed struct {
	task history.TaskID
	row  history.RowRef
}

// fewUnits is up to how many touched units are searched one by one.
const fewUnits = 16

// touch notes how a unit stands before the turn changes it.
func (d *decider) touch(v *history.Visit) *touched {
	if t := d.findTouched(v.Key()); t != nil {
		return t
	}
	t := touched{unit: v.Key()}
	if v.HasRow() {
		_, status := v.Unit()
		t.row, t.lost = v.Row(), status == history.UnitUncertain
	}
	d.touched = append(d.touched, t)
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
	if v.HasRow() {
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
		var row history.RowRef
		var status history.UnitStatus
		if v := d.s.Unit(b.unit); v != nil && v.HasRow() {
			row = v.Row()
			_, status = v.Unit()
		}
		d.give(b, row, status)
		if status == history.UnitQueued && row != b.row {
			d.offer(d.s.Unit(b.unit))
		}
	}
	for _, c := range d.claims {
		if b := d.findTouched(c.row.Unit); b == nil || !b.reported || c.row.Attempt > b.row.Attempt {
			d.t.Noticed = append(d.t.Noticed, history.Noticed{Task: c.task})
		}
	}
}

// give takes away what stood in the queue, where row, which stands now, is another one.
func (d *decider) give(b *touched, row history.RowRef, status history.UnitStatus) {
	switch {
	case b.row.Offer == 0:
	case row.Offer == 0 || row.Attempt != b.row.Attempt:
		d.t.Resolved = append(d.t.Resolved, history.Resolved{
			Unit: b.unit, Attempt: b.row.Attempt, Reported: b.reported, OnlyQueued: b.expired,
			CancelNotice: !b.reported && !b.expired,
		})
	case !b.lost && (row.Offer != b.row.Offer || status == history.UnitUncertain):
		d.t.Lost = append(d.t.Lost, b.row)
	}
}

// offer writes a row for the queue.
func (d *decider) offer(v *history.Visit) {
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
	d.t.Offers = append(d.t.Offers, history.Offer{
		RowRef: v.Row(), Contract: st.Resource.Contract, Language: st.Resource.Language, Priority: st.Priority,
		Task: history.Task{
			Input: v.Work(), IdempotencyKey: key, Redelivery: v.Redelivery(), Timeout: timeout, HeartbeatTimeout: heartbeat,
		},
	})
}
