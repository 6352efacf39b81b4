package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/orrery-dev/orrery/shared/pgserver"
)

// keeperMode in the environment makes a test binary a keeper: the process
// that owns the server. None of the test processes can own it, because each
// may end before the others.
//
// A keeper stays while the go command that ran its starter does (go test
// runs package after package, with pauses in which it compiles), or a test
// process uses the server. Then it stops the server and ends.
const keeperMode = "ORRERY_STORETEST_KEEPER"

// startTimeout bounds the start of a server, which takes a second or two.
const startTimeout = 2 * time.Minute

// A test binary has no main function in which it could turn into something
// else, and not every package that needs a database has a TestMain.
func init() {
	if os.Getenv(keeperMode) == "" {
		return
	}
	if err := keep(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// keep is the keeper's main function. Its arguments are the meeting folder
// and the process id of the go command.
func keep(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("a keeper takes two arguments, not %q", args)
	}
	goPid, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	// Opened once: should somebody tidy the folder away, its files still tell
	// who uses the server.
	turn, users, err := openLocks(args[0])
	if err != nil {
		return err
	}
	server, err := startServer()
	if err != nil {
		return errors.Join(err, greet(greeting{Error: err.Error()}))
	}
	if err := greet(greeting{URL: server.URL("postgres")}); err != nil {
		return errors.Join(err, server.Close())
	}
	for {
		time.Sleep(100 * time.Millisecond)
		if isAlive(goPid) && server.Pid() != 0 {
			continue
		}
		if isUnused(turn, users, server) {
			return server.Close() // still in its turn
		}
	}
}

func startServer() (*pgserver.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return pgserver.Start(ctx, pgserver.Options{
		Volatile: true,
		Settings: map[string]string{"max_connections": "400"},
	})
}

// greet tells the starter, who reads until then.
func greet(hello greeting) error {
	return errors.Join(json.NewEncoder(os.Stdout).Encode(hello), os.Stdout.Close())
}

// isUnused takes the keeper's turn and reports whether no process uses the
// server, or keeps the turn free. A dead server is of no use to anybody.
func isUnused(turn, users *os.File, server *pgserver.Server) bool {
	const alone = syscall.LOCK_EX | syscall.LOCK_NB
	if lock(turn, alone) != nil {
		return false
	}
	if server.Pid() == 0 || lock(users, alone) == nil {
		return true
	}
	_ = lock(turn, syscall.LOCK_UN)
	return false
}

func isAlive(pid int) bool {
	return pid != 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
