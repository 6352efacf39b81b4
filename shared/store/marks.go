package store

// Marks are the low-water keys of one claimer: for each queue and rank the row below which nothing is queued. They keep
// a claim from reading the dead rows that a long transaction holds on to.
//
// Every row is found all the same: the marks trail by the longest time that an insert can stay open, and every few
// seconds a look ignores them. The zero value is ready; a Marks belongs to one goroutine.
type Marks struct{}
