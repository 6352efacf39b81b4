package telemetry_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/telemetry"
)

func TestEmbedded(t *testing.T) {
	var b bytes.Buffer
	at := time.Date(2026, 3, 7, 7, 30, 0, 0, time.UTC)
	if err := telemetry.Embedded(&b, "cron", at, map[string]int64{"started": 3, "failed": 0}); err != nil {
		t.Fatal(err)
	}
	const want = `{"_aws":{"CloudWatchMetrics":[{"Namespace":"Orrery","Dimensions":[["function"]],` +
		`"Metrics":[{"Name":"failed","Unit":"Count"},{"Name":"started","Unit":"Count"}]}],"Timestamp":1772868600000},` +
		`"failed":0,"function":"cron","started":3}` + "\n"
	if b.String() != want {
		t.Errorf("got  %swant %s", b.String(), want)
	}
}
