package schedule

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
)

// The time zone database is embedded, and nothing else is ever read: the
// machine's own copy may be of any age, and two nodes with different rules
// would plan different instants. zoneinfo/update.sh renews it.

//go:embed zoneinfo/zoneinfo.zip
var zoneData []byte

//go:embed zoneinfo/version
var zoneVersion string

// ZonesVersion is the version of the time zone database, such as 2026f. It is
// written beside planned instants: those that were planned with another version
// are planned again.
func ZonesVersion() string {
	return strings.TrimPrefix(strings.TrimSpace(zoneVersion), "# version ")
}

// A zone is a place where the clocks change together.
type zone struct{ location *time.Location }

var utcZone = zone{time.UTC}

// zoneFiles are the embedded files by the name of their zone.
var zoneFiles = sync.OnceValues(func() (map[string]*zip.File, error) {
	r, err := zip.NewReader(bytes.NewReader(zoneData), int64(len(zoneData)))
	if err != nil {
		return nil, fmt.Errorf("time zone database: %w", err)
	}
	files := make(map[string]*zip.File, len(r.File))
	for _, f := range r.File {
		files[f.Name] = f
	}
	return files, nil
})

// zones has the zones that were loaded: name to zone. They are never changed.
var zones sync.Map

// loadZone finds a zone by its exact name in the database.
func loadZone(name string) (zone, error) {
	if z, ok := zones.Load(name); ok {
		return z.(zone), nil
	}
	files, err := zoneFiles()
	if err != nil {
		return zone{}, err
	}
	f, ok := files[name]
	if !ok {
		return zone{}, fmt.Errorf("the time zone database %s has no zone %.60q", ZonesVersion(), name)
	}
	location, err := readZone(f)
	if err != nil {
		return zone{}, fmt.Errorf("time zone %s: %w", name, err)
	}
	zones.Store(name, zone{location})
	return zone{location}, nil
}

func readZone(f *zip.File) (*time.Location, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return time.LoadLocationFromTZData(f.Name, data)
}

// lookBack is longer than any change of a clock, in seconds: the longest ones,
// at the date line, leave out or repeat a day.
const lookBack = 26 * hourSeconds

// A piece is a stretch of time in which the offset of a zone is constant, in
// instants [from, to). It may be a part of a longer one.
type piece struct {
	from, to int64
	offset   int64 // seconds to add to an instant for the wall time
	// before is the offset up to from, where a change of at most lookBack ago
	// still matters: walls in [change+before, change+offset) were left out, or
	// those in [change+offset, change+before) come again.
	change, before int64
}

// gap gives the wall times that the change at the beginning of the piece leaves
// out, as [from, to).
func (p piece) gap() (from, to int64, ok bool) {
	return p.change + p.before, p.change + p.offset, p.offset > p.before
}

// repeat gives the instants [from, to) that show wall times for the second time.
func (p piece) repeat() (from, to int64, ok bool) {
	return p.change, p.change + p.before - p.offset, p.before > p.offset
}

// at is the piece from an instant on.
func (z zone) at(instant int64) piece {
	p := z.bare(instant - lookBack)
	change, before := p.from, p.offset
	for p.to <= instant {
		next := z.bare(p.to)
		if next.offset != p.offset {
			change, before = next.from, p.offset
		}
		p = next
	}
	p.from, p.change, p.before = instant, change, before
	return p
}

// bare is the piece from an instant on, without what was before.
func (z zone) bare(instant int64) piece {
	t := time.Unix(instant, 0).In(z.location)
	_, offset := t.Zone()
	p := piece{from: instant, to: math.MaxInt64, offset: int64(offset)}
	if _, end := t.ZoneBounds(); !end.IsZero() {
		p.to = end.Unix()
	}
	if p.to <= instant {
		// On the last day of a leap year the time package takes the beginning of
		// that day for the end of the year, and for the end of the piece.
		p.to = (floorDiv(instant, daySeconds) + 1) * daySeconds
	}
	return p
}

// shown tells which showing of its wall time an instant is, from 1, and of how
// many.
func (z zone) shown(instant int64) (nth, of int) {
	p := z.at(instant)
	if from, to, ok := p.repeat(); ok && from <= instant && instant < to {
		return 2, 2
	}
	for p.to-lookBack <= instant {
		p = z.at(p.to)
		if from, to, ok := p.repeat(); ok && from == p.from && from-(to-from) <= instant {
			return 1, 2
		}
	}
	return 1, 1
}
