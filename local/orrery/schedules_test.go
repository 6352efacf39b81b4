package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// runNext gives the lines that 'orrery schedules next' prints for an input.
func runNext(t *testing.T, input string, args ...string) []string {
	t.Helper()
	var out bytes.Buffer
	c := &cli{out: &out, in: strings.NewReader(input)}
	root := c.root()
	root.SetArgs(append([]string{"schedules", "next"}, args...))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestSchedulesNextAnswersInOrder(t *testing.T) {
	got := runNext(t, `
{"specs":["0 30 2 * * *"],"dialect":"seconds","zone":"America/New_York","from":"2026-03-07T07:30:00Z","to":"2026-03-09T06:30:00Z","gap":"shift","repeat":"first"}
{"specs":["0 30 2 * * *"],"dialect":"seconds","zone":"America/New_York","from":"2026-03-07T00:00:00Z","to":"2026-03-10T00:00:00Z","gap":"skip","repeat":"both"}
{"specs":["0 9 * * *","at 2026-01-01T12:00:00+03:00"],"exclude":["2026-01-02"],"from":"2026-01-01T00:00:00Z","to":"2026-01-03T12:00:00Z"}
{"specs":["0 0 13 * 5"],"day_match":"and","from":"2026-02-01T00:00:00Z","to":"2026-02-01T00:00:00Z"}`[1:], "--json")
	want := []string{
		`{"instants":["2026-03-07T07:30:00Z","2026-03-08T07:00:00Z"]}`,
		`{"instants":["2026-03-07T07:30:00Z","2026-03-09T06:30:00Z"]}`,
		`{"instants":["2026-01-01T09:00:00Z","2026-01-03T09:00:00Z"]}`,
		`{"instants":[]}`,
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestSchedulesNextRefuses(t *testing.T) {
	const window = `"from":"2026-01-01T00:00:00Z","to":"2026-02-01T00:00:00Z"`
	for _, row := range []struct{ line, field, code string }{
		{`{"specs":["0 0 0 30 2 *"],"dialect":"seconds",` + window + `}`, "specs[0].day_of_month", "impossible_date"},
		{`{"specs":["0 0 0 1 1 * 2020"],"dialect":"year",` + window + `}`, "specs[0]", "no_future"},
		{`{"specs":["0 0 * * *","0 0 0 * * *"],` + window + `}`, "specs[1]", "field_count"},
		{`{"specs":["* * * * * *"],"dialect":"seconds","from":"2026-01-01T00:00:00Z","to":"2027-01-01T00:00:00Z"}`, "to", "too_many"},
		{`{"specs":["@daily"],"zone":"Nowhere",` + window + `}`, "zone", "unknown_zone"},
		{`{"specs":["@daily"],"gap":"jump",` + window + `}`, "gap", "unknown"},
		{`{"specs":["@daily"],"colour":"red",` + window + `}`, "colour", "unknown"},
		{`{"specs":["@daily"],"to":"2026-02-01T00:00:00Z"}`, "from", "required"},
		{`{"specs":["@daily"],"from":"2026-01-01T00:00:00Z","to":"tomorrow"}`, "to", "syntax"},
		{`{"specs":["@daily"],"from":"2026-01-01T00:00:00Z","to":"2025-01-01T00:00:00Z"}`, "to", "out_of_range"},
		{`{"specs":["@daily"],"from":"2026-01-01T00:00:00Z","to":"2526-01-01T00:00:00Z"}`, "to", "out_of_range"},
		{`{"specs":"@daily",` + window + `}`, "specs", "syntax"},
		{`{` + window + `}`, "specs", "required"},
		{`[]`, "", "syntax"},
		{`{} {}`, "", "syntax"},
		{``, "", "syntax"},
		{" \t", "", "syntax"},
		{`null`, "", "syntax"},
		{`{"specs":["@daily"],"from":null,"to":"2026-02-01T00:00:00Z"}`, "from", "required"},
		{`{"specs":[null],` + window + `}`, "specs[0]", "syntax"},
		{`{"specs":[["@daily"]],` + window + `}`, "specs[0]", "syntax"},
		{`{"specs":["@daily"],"exclude":{},` + window + `}`, "exclude", "syntax"},
		{`{"specs":["@daily"],"zone":1,` + window + `}`, "zone", "syntax"},
		{`{"Specs":["@daily"],` + window + `}`, "Specs", "unknown"},
		{`{"specs":["@daily"],"limit":1,` + window + `}`, "limit", "unknown"},
		{`{"specs":["@daily"],"specs":["@hourly","x"],` + window + `}`, "specs[1]", "field_count"},
		{`{"specs":[],` + window + `}`, "specs", "required"},
		{`{"specs":["@reboot"],` + window + `}`, "specs[0]", "no_macro"},
		{`{"specs":["TZ=UTC 0 0 * * *"],` + window + `}`, "specs[0]", "zone_prefix"},
		{`{"specs":["every 0s"],` + window + `}`, "specs[0]", "out_of_range"},
		{`{"specs":["at 2026-02-30T00:00"],` + window + `}`, "specs[0]", "syntax"},
		{`{"specs":["@daily"],"exclude":["* * * * *"],` + window + `}`, "exclude", "excludes_all"},
		{`{"specs":["@daily"],"from":"2026-01-01 00:00:00Z","to":"2026-02-01T00:00:00Z"}`, "from", "syntax"},
		{`{"specs":["@daily"],"from":"0000-01-01T00:00:00Z","to":"9999-01-01T00:00:00Z"}`, "to", "out_of_range"},
		{"\xff\xfe", "", "syntax"},
		{strings.Repeat(`{"specs":`, 20_000), "", "syntax"},
		{`{"specs":["` + strings.Repeat("x", 2000) + `"],` + window + `}`, "specs[0]", "too_long"},
		{`{"specs":["@daily"` + strings.Repeat(`,"@daily"`, 16) + `],` + window + `}`, "specs", "too_many"},
		{strings.Repeat("x", maxQuestion+1), "", "too_long"},
	} {
		// A line that can be answered follows: a refusal keeps nothing from it.
		got := runNext(t, row.line+"\n"+`{"specs":["@yearly"],`+window+`}`, "--json")
		var answer struct {
			Error refusal `json:"error"`
		}
		if len(got) != 2 || got[1] != `{"instants":["2026-01-01T00:00:00Z"]}` {
			t.Fatalf("%.100s: got %q", row.line, got)
		}
		if err := json.Unmarshal([]byte(got[0]), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Error.Field != row.field || answer.Error.Code != row.code || answer.Error.Message == "" {
			t.Errorf("%.100s: got %s, want %s at %s", row.line, got[0], row.code, row.field)
		}
	}
}

func TestSchedulesNextForPeople(t *testing.T) {
	got := runNext(t, `{"specs":["30 2 * * *"],"zone":"America/New_York","from":"2026-03-08T00:00:00Z","to":"2026-03-09T12:00:00Z"}`)
	want := []string{
		"1  2026-03-08T07:00:00Z  Sun 2026-03-08 03:00:00 -04:00  stands for 2026-03-08 02:30:00, which the clocks leave out",
		"1  2026-03-09T06:30:00Z  Mon 2026-03-09 02:30:00 -04:00",
	}
	if len(got) != 2 || got[0] != want[0] || strings.TrimRight(got[1], " ") != want[1] {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
