//go:build race

package sim

// raceDetector tells that the race detector is on, with which a run takes ten times as long.
const raceDetector = true
