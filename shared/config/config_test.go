package config_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/config"
)

func env(pairs ...string) func(string) (string, bool) {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

func TestDefaults(t *testing.T) {
	c, err := config.Load(config.Node, nil, env("DATABASE_URL", "postgres://db/o"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.NodeID == "" {
		t.Error("the node id is empty; want the host's name")
	}
	c.NodeID = ""
	want := config.Config{
		DatabaseURL: "postgres://db/o", DirectURL: "postgres://db/o", PoolSize: 8,
		Listen: "127.0.0.1:8080", Address: "127.0.0.1:8080",
		NodeTimeout: 5 * time.Second, SessionTimeout: 30 * time.Second, HeartbeatInterval: 5 * time.Second,
		ScheduleWorkers: 8, ScheduleLease: time.Minute, ScheduleHeartbeat: 15 * time.Second,
		Memory: 128 << 20, MaxBody: 1 << 20, MaxPayload: 256 << 10, RequestTimeout: 30 * time.Second, ServerTasks: 100, LogLevel: slog.LevelInfo,
	}
	if c != want {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestFlagGoesBeforeVariable(t *testing.T) {
	vars := env("DATABASE_URL", "postgres://db/o", "ORRERY_LISTEN", ":1", "ORRERY_NODE_ID", "n1", "ORRERY_LOG_LEVEL", "debug")
	c, err := config.Load(config.Node, []string{"--listen", ":2", "--insecure"}, vars, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != ":2" || c.NodeID != "n1" || !c.Insecure || c.LogLevel != slog.LevelDebug {
		t.Errorf("got %+v", c)
	}
}

func TestAllFaultsTogether(t *testing.T) {
	vars := env("ORRERY_LISTEN", "nowhere", "ORRERY_INSECURE", "perhaps", "ORRERY_POOL_SIZE", "1", "ORRERY_NODE_TIMEOUT", "soon",
		"ORRERY_MAX_BODY", "-1", "ORRERY_ADDRESS", "h:99999", "ORRERY_LOG_LEVEL", "loud", "ORRERY_DEBUG_LISTEN", "0.0.0.0:6060")
	_, err := config.Load(config.Node, []string{"stray", "more"}, vars, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"DATABASE_URL: must be set", `ORRERY_LISTEN: "nowhere"`, `ORRERY_INSECURE: "perhaps"`, `ORRERY_POOL_SIZE: "1"`,
		`ORRERY_NODE_TIMEOUT: "soon"`, `ORRERY_MAX_BODY: "-1"`, `ORRERY_ADDRESS: "h:99999"`, "ORRERY_LOG_LEVEL", `ORRERY_DEBUG_LISTEN: "0.0.0.0:6060" must be a loopback`, `argument "stray"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q:\n%v", part, err)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n != 9 {
		t.Errorf("the error has %d lines, want 10:\n%v", n+1, err)
	}
}

func TestSettingsAgainstEachOther(t *testing.T) {
	vars := env("DATABASE_URL", "x", "ORRERY_SESSION_TIMEOUT", "5s", "ORRERY_HEARTBEAT_INTERVAL", "2s", "ORRERY_MAX_PAYLOAD", "2000000",
		"ORRERY_SCHEDULE_LEASE", "2s", "ORRERY_SCHEDULE_HEARTBEAT", "1s")
	_, err := config.Load(config.Node, nil, vars, nil)
	for _, part := range []string{"ORRERY_SESSION_TIMEOUT: must be at least three times", "ORRERY_MAX_PAYLOAD: must not be more",
		"ORRERY_SCHEDULE_LEASE: must be at least three times"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
}

func TestProgramReadsOnlyItsOwn(t *testing.T) {
	for program, foreign := range map[config.Program]string{
		config.Function: "ORRERY_LISTEN", config.Migrate: "ORRERY_NODE_TIMEOUT", config.Cron: "ORRERY_MAX_BODY",
	} {
		asked := map[string]bool{}
		_, err := config.Load(program, nil, func(k string) (string, bool) { asked[k] = true; return "x", k == "DATABASE_URL" }, nil)
		if err != nil {
			t.Errorf("program %d: %v", program, err)
		}
		if asked[foreign] || !asked["DATABASE_URL"] {
			t.Errorf("program %d reads %v", program, asked)
		}
	}
	if _, err := config.Load(config.Function, []string{"--listen", ":1"}, env("DATABASE_URL", "x"), nil); err == nil {
		t.Error("a function takes --listen")
	}
}

func TestHelpNamesEverySettingWithItsDefault(t *testing.T) {
	var out bytes.Buffer
	if _, err := config.Load(config.Node, []string{"--help"}, env(), &out); !errors.Is(err, config.ErrHelp) {
		t.Fatalf("err = %v, want ErrHelp", err)
	}
	for _, part := range []string{"--database-url", "DATABASE_URL", "(required)", "--node-id", "(the host's name)", "--session-timeout", "(30s)", "--insecure"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the help lacks %q:\n%s", part, out.String())
		}
	}
}
