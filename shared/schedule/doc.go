// Package schedule is about when: it reads what an author writes, finds the
// instants that this means in a time zone, and plans what becomes of those that
// are due.
//
// It is pure: it has no clock, no goroutine and no database, and it imports the
// standard library only. The time zone database is embedded, so the same
// definition has the same instants on every machine.
//
//	Definition --New, Check--> Schedule = Calendar + policies
//	               |
//	               +--> Problems, all of them, each with a field and a code
//
//	texts --parser--> set of patterns, strides, exclusions
//	                   |
//	          walk: one plane of wall time, bit masks
//	                   |
//	          Calendar: planes cut and joined where the zone changes its offset
//	                   |
//	      Plan(Cursor, now, Limits): Occurrences, Skipped, the next Cursor, Wake
//
// # What holds
//
//   - An instant is a whole second. Of specs that have the same instant it is one
//     instant.
//   - Instants ascend, and asking for them in parts or at once gives the same.
//   - A calendar without an instant is known as such by proof: the calendar and
//     the rules of zones repeat after 400 years, and a search looks no further.
//   - A search ends: its steps are bounded whatever the specs are. Where
//     exclusions would make it long it stops, and says how far it came.
//   - Every instant is decided by one plan: it runs, or it is counted. No clock
//     that goes back makes a plan decide one again.
//   - Planning takes memory for the rows that it makes only, and about a step per
//     day of an outage, however many instants were missed.
//
// # Wall time and real time
//
// A spec whose minute and hour are fixed is about wall time: 02:30 each night.
// Where the clocks leave that time out it is shifted to the first instant after
// the gap, or skipped; where they show it twice the first showing counts, or
// both. A spec whose minute or hour field begins with * is about real time:
// every half hour. It keeps its distances, whatever the clocks do, and so do
// specs of the form 'every'.
package schedule
