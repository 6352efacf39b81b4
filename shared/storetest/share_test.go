package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// childMode in the environment makes the test binary a process that prints
// the address of its server, or an error, and ends when its input does.
const childMode = "STORETEST_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMode) != "" {
		s, err := server()
		if err != nil {
			s.address = "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(s.address)
		runtime.GC() // the lock must not be garbage
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is another test process.
type child struct {
	cmd   *exec.Cmd
	input io.Closer
	says  string
}

// newChild starts a process whose folder for temporary files is temp, and
// waits for what it says.
func newChild(t *testing.T, temp string, environment ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), "ORRERY_TEST_DATABASE_URL=", "DATABASE_URL=", "TMPDIR="+temp, childMode+"=1")
	c.cmd.Env = append(c.cmd.Env, environment...)
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c.says = strings.TrimSpace(line)
	return c
}

func (c *child) end(t *testing.T) {
	t.Helper()
	c.input.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func (c *child) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

// newTemp returns a folder for temporary files that the server's account can
// pass through, which it cannot through t.TempDir.
func newTemp(t *testing.T) string {
	t.Helper()
	temp, err := os.MkdirTemp("", "storetest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	if err := os.Chmod(temp, 0o711); err != nil {
		t.Fatal(err)
	}
	return temp
}

// await waits for something that other processes do.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still waiting: " + what)
		}
	}
}

// postmaster returns the process id of the server at an address.
func postmaster(t *testing.T, address string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatalf("connecting to %s: %v", address, err)
	}
	defer conn.Close(context.Background())
	file := query[string](t, conn, "select pg_read_file('postmaster.pid')")
	var pid int
	if _, err := fmt.Sscan(file, &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func awaitGone(t *testing.T, pid int) {
	t.Helper()
	await(t, fmt.Sprintf("process %d to end", pid), func() bool { return !isAlive(pid) })
}

func TestProcessesShareOneServerAndTheLastStopsIt(t *testing.T) {
	t.Parallel()
	temp := newTemp(t)
	first, second := newChild(t, temp), newChild(t, temp)
	if first.says != second.says {
		t.Fatalf("one process uses %s, another %s", first.says, second.says)
	}
	pid := postmaster(t, first.says)

	first.end(t) // the one that started the server
	third := newChild(t, temp)
	if third.says != second.says {
		t.Errorf("after the starter's end a process uses %s, want %s", third.says, second.says)
	}
	second.end(t)
	if !isAlive(pid) {
		t.Error("the server ended while a process used it")
	}
	third.kill() // also one that is killed counts no longer
	awaitGone(t, pid)

	again := newChild(t, temp)
	if again.says == first.says {
		t.Errorf("a process uses %s, whose server has ended", again.says)
	}
	postmaster(t, again.says)
}

func TestKilledKeeperIsReplaced(t *testing.T) {
	t.Parallel()
	temp := newTemp(t)
	first := newChild(t, temp)
	pid := postmaster(t, first.says)
	data := query[string](t, connect(t, first.says), "show data_directory")
	t.Cleanup(func() { os.RemoveAll(filepath.Dir(data)) }) // nobody else does it within a minute
	keeper := parent(t, pid)
	if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, pid)

	second := newChild(t, temp)
	if postmaster(t, second.says) == pid {
		t.Errorf("the dead server %d answers", pid)
	}
}

func TestServerEndsAlsoWhenItsFolderIsTidiedAway(t *testing.T) {
	t.Parallel()
	temp := newTemp(t)
	c := newChild(t, temp)
	pid := postmaster(t, c.says)
	if err := os.RemoveAll(temp); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond) // five looks of the keeper
	if !isAlive(pid) {
		t.Error("the server ended while a process used it")
	}
	c.end(t)
	awaitGone(t, pid)
}

func TestKeeperEndsWithItsServer(t *testing.T) {
	t.Parallel()
	first := newChild(t, newTemp(t))
	pid := postmaster(t, first.says)
	keeper := parent(t, pid)
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	// Its starter still runs and does not wait for it, so it stays a zombie.
	await(t, "the keeper to end", func() bool { return state(t, keeper) == "Z" })
}

func TestKeeperStaysWithTheGoCommand(t *testing.T) {
	t.Parallel()
	temp := newTemp(t)
	goCommand := newChild(t, temp, "DATABASE_URL=postgres://nowhere/") // any process will do
	folder := filepath.Join(temp, "meeting")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	address, err := startKeeper(folder, goCommand.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	pid := postmaster(t, address)
	time.Sleep(500 * time.Millisecond) // five looks of the keeper
	if !isAlive(pid) {
		t.Error("the server ended before the go command")
	}
	goCommand.end(t)
	awaitGone(t, pid)
}

// parent and state read what the kernel says of a process.
func parent(t *testing.T, pid int) int {
	t.Helper()
	_, ppid := stat(t, pid)
	return ppid
}

func state(t *testing.T, pid int) string {
	t.Helper()
	state, _ := stat(t, pid)
	return state
}

func stat(t *testing.T, pid int) (state string, ppid int) {
	t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(line), ") ")
	if _, err := fmt.Sscan(rest, &state, &ppid); err != nil {
		t.Fatal(err)
	}
	return state, ppid
}

func TestEnvironmentNamesTheServer(t *testing.T) {
	t.Parallel()
	const a, b = "postgres://one@127.0.0.1:1/a", "postgresql://two@127.0.0.1:2/b"
	tests := []struct {
		name                   string
		testDatabase, database string
		want                   string // how what the process says begins
	}{
		{"own name", a, "", a},
		{"common name", "", b, b},
		{"the own name is the stronger", a, b, a},
		{"a list of words", "host=127.0.0.1 dbname=a", "", "error: ORRERY_TEST_DATABASE_URL must look like postgres://"},
		{"another scheme", "", "mysql://127.0.0.1/a", "error: DATABASE_URL must look like postgres://"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newChild(t, t.TempDir(), "ORRERY_TEST_DATABASE_URL="+test.testDatabase, "DATABASE_URL="+test.database)
			if !strings.HasPrefix(c.says, test.want) {
				t.Errorf("the process says %q, want %q", c.says, test.want)
			}
		})
	}
}

func TestMeetingFolderIsPrivate(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	folder, err := meetingFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := meetingFolder(); err == nil {
		t.Error("a folder that others can read is taken")
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(temp, folder); err != nil {
		t.Fatal(err)
	}
	if _, err := meetingFolder(); err == nil {
		t.Error("a link to another folder is taken")
	}
}
