package pgserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// folderPrefix begins the name of every server folder.
const folderPrefix = "orrery-pg-"

// folder is where a server lives. The lock in it is held as long as the
// caller lives, however it ends, so a folder whose lock is free is rubbish.
type folder struct {
	path string
	lock *os.File
}

// memory is a file system in memory. A server with its thousand small files
// starts in half the time there, and makes and drops databases in a third.
const memory = "/dev/shm"

// memoryNeeded is how much must be free there, in bytes: containers often
// have 64 MB, and a server's log of changes alone grows to 1 GB.
const memoryNeeded = 4 << 30

// parentFolder returns where the folder of a server is made.
func parentFolder(options Options) string {
	var stat syscall.Statfs_t
	const writable = 2 | 1 // W_OK and X_OK of access(2)
	if options.Volatile && syscall.Access(memory, writable) == nil && syscall.Statfs(memory, &stat) == nil &&
		uint64(stat.Bavail)*uint64(stat.Bsize) >= memoryNeeded {
		return memory
	}
	return os.TempDir()
}

// newFolder makes a folder that others may pass through, since the server's
// account must, with a data folder that is that account's alone.
func newFolder(parent string, account account) (*folder, error) {
	path, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return nil, err
	}
	f := &folder{path: path}
	if err := f.fill(account); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

func (f *folder) fill(account account) error {
	var err error
	if f.lock, err = tryLock(filepath.Join(f.path, "lock")); err != nil {
		return err
	}
	if err := os.Chmod(f.path, 0o711); err != nil {
		return err
	}
	if err := os.Mkdir(f.data(), 0o700); err != nil {
		return err
	}
	return os.Chown(f.data(), account.uid, account.gid)
}

// tryLock locks a file, which it creates when missing, or fails at once when
// somebody else holds it. The lock goes with the file's last descriptor;
// children do not inherit it.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return f, nil
}

func (f *folder) remove() error {
	err := os.RemoveAll(f.path)
	if f.lock != nil {
		f.lock.Close()
	}
	return err
}

func (f *folder) data() string { return filepath.Join(f.path, "data") }

func (f *folder) openLog() (*os.File, error) {
	return os.OpenFile(filepath.Join(f.path, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// logTail returns the last 2,000 bytes of the log, on lines of their own, to
// end an error text with.
func (f *folder) logTail() string {
	log, err := os.ReadFile(filepath.Join(f.path, "log"))
	if err != nil {
		return ""
	}
	return "\n" + string(log[max(0, len(log)-2000):])
}

// postmaster reads the pid file of the server: the id of its main process, 0
// when there is none, and whether it accepts connections.
func (f *folder) postmaster() (pid int, ready bool) {
	file, err := os.ReadFile(filepath.Join(f.data(), "postmaster.pid"))
	if err != nil {
		return 0, false
	}
	lines := strings.Split(string(file), "\n")
	pid, err = strconv.Atoi(lines[0])
	if err != nil {
		return 0, false
	}
	return pid, len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready"
}

// sweep removes the folders that callers left behind who did not get to
// close them. What cannot be removed now is left to the next sweep.
func sweep(parent string) {
	paths, _ := filepath.Glob(filepath.Join(parent, folderPrefix+"*")) // the pattern is well formed
	for _, path := range paths {
		if isStale(path) {
			sweepFolder(path)
		}
	}
}

// isStale reports whether a folder may be swept: one of this user's own, and
// not so young that its owner may not have locked it yet.
func isStale(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

func sweepFolder(path string) {
	lock, err := tryLock(filepath.Join(path, "lock"))
	if err != nil {
		return
	}
	f := &folder{path: path, lock: lock}
	if pid, _ := f.postmaster(); pid > 0 && strings.Contains(commandLine(pid), path) {
		_ = syscall.Kill(pid, Immediate.signal())
		for deadline := time.Now().Add(closeTimeout); alive(pid); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				lock.Close()
				return
			}
		}
	}
	_ = f.remove()
}
