package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The processes that share a server meet in a folder with these files. Locks
// on them go with the process that holds them, however it ends, so there is
// nothing to tidy up after a crash.
const (
	turnFile  = "turn"  // locked by who looks for, starts or stops a server
	usersFile = "users" // locked, together with others, by each process that uses the server
	urlFile   = "url"   // address of the newest server, which need not live any more
	logFile   = "log"   // what the keeper prints
)

// join finds the server that other test processes use, or starts one. The
// process uses it until it ends: users is locked for so long.
func join() (address string, users *os.File, err error) {
	folder, err := meetingFolder()
	if err != nil {
		return "", nil, err
	}
	turn, users, err := openLocks(folder)
	if err != nil {
		return "", nil, err
	}
	defer turn.Close()
	// Nobody holds the second lock alone but a keeper, and only in its turn.
	if err := errors.Join(lock(turn, syscall.LOCK_EX), lock(users, syscall.LOCK_SH)); err != nil {
		return "", nil, err
	}
	note := filepath.Join(folder, urlFile)
	if address, err := os.ReadFile(note); err == nil && isLive(string(address)) {
		return string(address), users, nil
	}
	address, err = startKeeper(folder, goCommand())
	if err != nil {
		return "", nil, err
	}
	return address, users, os.WriteFile(note, []byte(address), 0o600)
}

// meetingFolder returns the folder of this user. It holds a password, so one
// that others can write to or read is refused.
func meetingFolder() (string, error) {
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("orrery-storetest-%d", os.Geteuid()))
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(stat.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s is not a folder that only this user can reach", folder)
	}
	return folder, nil
}

// openLocks opens the two files that are locked. Child processes do not
// inherit them.
func openLocks(folder string) (turn, users *os.File, err error) {
	turn, err = os.OpenFile(filepath.Join(folder, turnFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, err
	}
	users, err = os.OpenFile(filepath.Join(folder, usersFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		turn.Close()
		return nil, nil, err
	}
	return turn, users, nil
}

// lock changes the lock on a file, as flock(2) does. Closing the file
// unlocks it.
func lock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("locking %s: %w", f.Name(), err)
		}
	}
}

// isLive reports whether a server answers at the address. One that has no
// connection to spare does.
func isLive(address string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		var refused *pgconn.PgError
		return errors.As(err, &refused) && refused.Code == "53300" // too_many_connections
	}
	conn.Close(ctx)
	return true
}

// greeting is what a keeper prints when its server runs or could not start.
type greeting struct {
	URL   string `json:"url,omitempty"`
	Error string `json:"error,omitempty"`
}

// startKeeper runs this very program as a keeper and returns the address of
// the server that it started. The keeper gets no file of this process: go
// test waits until every copy of its output is closed.
func startKeeper(folder string, goPid int) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	log, err := os.Create(filepath.Join(folder, logFile))
	if err != nil {
		return "", err
	}
	defer log.Close()
	cmd := exec.Command(program, folder, strconv.Itoa(goPid))
	cmd.Env = append(os.Environ(), keeperMode+"=1")
	cmd.Dir, cmd.Stderr = folder, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for the tests alone
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("starting a keeper: %w", err)
	}
	var hello greeting
	if err := json.NewDecoder(out).Decode(&hello); err != nil {
		return "", fmt.Errorf("keeper said nothing, see %s: %w", log.Name(), err)
	}
	if hello.Error != "" {
		return "", errors.New(hello.Error)
	}
	return hello.URL, nil
}

// goCommand returns the process id of the go command that runs this test
// binary, 0 when it is run by something else.
func goCommand() int {
	parent := os.Getppid()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent))
	if err != nil || strings.TrimSpace(string(name)) != "go" {
		return 0
	}
	return parent
}
