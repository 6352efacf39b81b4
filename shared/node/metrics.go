package node

import (
	"errors"
	"maps"
	"slices"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// metrics are what a node counts over all its incarnations. Those that begin with orrery_net count what a safety net has
// caught: something that the rules say does not happen, and that was put right all the same.
type metrics struct {
	heartbeats       telemetry.Counters
	heartbeatSeconds telemetry.Histogram
	commits          telemetry.Counters
	commitSeconds    telemetry.Histogram
	commitTurns      telemetry.Histogram
	turns            telemetry.Counter
	started          telemetry.Counter
	ended            telemetry.Counters
	occurrences      telemetry.Counters
	occurrenceTime   telemetry.Histogram
	dispatched       telemetry.Counters
	lost             telemetry.Counters
	loads            telemetry.Counters
	partitions       telemetry.Counters
	blocked          telemetry.Counter
	timerLate        telemetry.Histogram
	cleaned          telemetry.Counters
	daysMade         telemetry.Counter
	daysDropped      telemetry.Counter
	daysKept         telemetry.Counter
	daysAhead        telemetry.Gauge
	expired          telemetry.Counter

	ownership  telemetry.Counter
	unnoticed  telemetry.Counter
	withoutRow telemetry.Counter
	active     telemetry.Counter
}

// The values of labels.
const (
	beatConfirmed = "confirmed"
	beatFailed    = "failed"

	taskHandedOver = "handed over"
	taskClaimed    = "claimed"

	loadServed     = "served"
	loadOver       = "over"
	loadElsewhere  = "elsewhere"
	loadUnfoldable = "unfoldable"
	loadFailed     = "failed"

	partTaken     = "taken"
	partTakenOver = "taken over"
	partGiven     = "given"
	partReceived  = "received"
)

func label(name string, values ...string) telemetry.Label {
	return telemetry.Label{Name: name, Values: values}
}

func newMetrics(m *telemetry.Metrics) metrics {
	return metrics{
		heartbeats:       m.Counters("orrery_node_heartbeats_total", "heartbeats sent", label("outcome", beatConfirmed, beatFailed)),
		heartbeatSeconds: m.Histogram("orrery_node_heartbeat_seconds", "how long a confirmed heartbeat took", telemetry.Seconds),
		commits: m.Counters("orrery_node_commits_total", "group commits sent, by what became of each",
			label("outcome", append([]string{committedWhole}, store.CommitKinds()...)...)),
		commitSeconds: m.Histogram("orrery_node_commit_seconds", "how long a group commit took that succeeded", telemetry.Seconds),
		commitTurns:   m.Histogram("orrery_node_commit_turns", "turns in a group commit that succeeded", telemetry.Sizes),
		turns:         m.Counter("orrery_node_turns_total", "turns committed"),
		started:       m.Counter("orrery_node_executions_started_total", "executions started by this node, children included"),
		ended:         m.Counters("orrery_node_executions_ended_total", "executions ended by this node", label("status", endedStatuses()...)),
		occurrences: m.Counters("orrery_node_occurrences_ended_total",
			"tries of schedules' occurrences whose executions this node has ended", label("status", endedStatuses()...)),
		occurrenceTime: m.Histogram("orrery_node_occurrence_seconds", "how long the executions of occurrences took, from start to end",
			telemetry.Seconds),
		dispatched: m.Counters("orrery_node_tasks_dispatched_total",
			"tasks of this node's executions that went to a worker: with the commit that made them, or claimed from the queue",
			label("how", taskHandedOver, taskClaimed)),
		lost: m.Counters("orrery_node_tasks_lost_total", "claims of workers that are gone", label("reason", lostReasonNames()...)),
		loads: m.Counters("orrery_node_loads_total", "executions loaded from the database, by what was found",
			label("outcome", loadServed, loadOver, loadElsewhere, loadUnfoldable, loadFailed)),
		partitions: m.Counters("orrery_node_partitions_moved_total",
			"partitions that came (taken from nobody, taken over from a dead node, received from a live one) or were given away",
			label("how", partTaken, partTakenOver, partReceived, partGiven)),
		blocked:     m.Counter("orrery_node_executions_blocked_total", "executions that this node has taken out of service"),
		timerLate:   m.Histogram("orrery_node_timer_late_seconds", "how long after its time a timer got its turn", telemetry.Seconds),
		cleaned:     m.Counters("orrery_cleaned_rows_total", "rows removed by this node's cleaner", label("kind", store.CleanedKinds()...)),
		daysMade:    m.Counter("orrery_history_days_made_total", "partitions of history that this node has made"),
		daysDropped: m.Counter("orrery_history_days_dropped_total", "days of history that this node has dropped"),
		daysKept:    m.Counter("orrery_history_executions_moved_total", "executions that outlived their day, whose history this node has moved"),
		daysAhead:   m.Gauge("orrery_history_days_ahead", "days that history has partitions for, beyond today; 0 before the first look"),
		expired:     m.Counter("orrery_executions_expired_total", "executions that this node has removed because their namespace keeps them no longer"),

		ownership:  m.Counter("orrery_net_ownership_total", "partitions whose owner in the database was another than the node thought, though no change was announced"),
		unnoticed:  m.Counter("orrery_net_unnoticed_claims_total", "claims that no turn had recorded after 30 s"),
		withoutRow: m.Counter("orrery_net_units_without_row_total", "open units whose row in the queue was missing; each was offered anew"),
		active:     m.Counter("orrery_net_active_executions_total", "by how much counts of active executions were wrong, where a limit needs them"),
	}
}

// committedWhole is the outcome of a commit of which nothing was left out.
const committedWhole = "committed"

func commitOutcome(err error) string {
	var failed *store.CommitError
	if errors.As(err, &failed) {
		return failed.Kind.String()
	}
	return committedWhole
}

func endedStatuses() []string {
	var out []string
	for _, s := range []history.Status{history.Succeeded, history.Failed, history.TimedOut, history.Cancelled} {
		out = append(out, s.String())
	}
	return out
}

func lostReasonNames() []string { return slices.Sorted(maps.Keys(lostReasons)) }

// show has what the node knows anyway read at every scrape.
func (n *Node) show(m *telemetry.Metrics) {
	m.GaugeFunc("orrery_node_ready", "1 while the node is ready", func() float64 {
		if n.notReady() == "" {
			return 1
		}
		return 0
	})
	m.GaugeFunc("orrery_node_heartbeat_age_seconds", "time since the last confirmed heartbeat was sent", func() float64 {
		age, ok := n.standing.age()
		if !ok {
			return 0
		}
		return age.Seconds()
	})
	m.GaugeFunc("orrery_node_partitions", "partitions that the node owns", func() float64 { return float64(n.gauges.owned.Load()) })
	m.GaugeFunc("orrery_node_executions_loaded", "executions in memory", func() float64 { return float64(n.gauges.loaded.Load()) })
	m.GaugeFunc("orrery_node_executions_loaded_bytes", "what those take, estimated", func() float64 { return float64(n.gauges.memory.Load()) })
	m.GaugeFunc("orrery_node_polls", "polls of workers that are open here", func() float64 { return float64(n.polls.count()) })
	m.GaugeFunc("orrery_node_calls", "calls that wait for a commit", func() float64 { return float64(n.gauges.calls.Load()) })
}

// turned counts what a committed turn has done.
func (m *metrics) turned(it *item) {
	m.turns.Inc()
	if it.New != nil {
		m.started.Inc()
	}
	if it.Turn.End != nil {
		m.ended.Of(it.Turn.End.Status.String()).Inc()
		if it.Turn.Settles != 0 {
			m.occurrences.Of(it.Turn.End.Status.String()).Inc()
			if s := it.execution.state; s != nil {
				m.occurrenceTime.Observe(it.Turn.At.Sub(s.StartedAt()).Seconds())
			}
		}
	}
	dispatched := 0
	for i := range it.Turn.Events {
		if it.Turn.Events[i].Type == history.EventDispatched {
			dispatched++
		}
	}
	m.dispatched.Of(taskHandedOver).Add(float64(len(it.handed)))
	m.dispatched.Of(taskClaimed).Add(float64(max(0, dispatched-len(it.handed))))
}
