package pgserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// initialise runs initdb. Locale C makes sorting and messages the same on
// every machine.
func (s *Server) initialise(ctx context.Context) error {
	passwordFile, err := s.writePassword()
	if err != nil {
		return fmt.Errorf("writing the password: %w", err)
	}
	defer os.Remove(passwordFile)
	log, err := s.folder.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.command("initdb", "-D", s.folder.data(), "-U", superuser,
		"--auth=scram-sha-256", "--pwfile="+passwordFile, "--encoding=UTF8", "--locale=C", "--no-sync")
	cmd.Stdout, cmd.Stderr = log, log
	p, err := startProcess(cmd)
	if err != nil {
		return fmt.Errorf("running initdb: %w", err)
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.signal(syscall.SIGKILL)
		<-p.ended
		return fmt.Errorf("running initdb: %w", context.Cause(ctx))
	}
	if p.err != nil {
		return fmt.Errorf("running initdb: %w%s", p.err, s.folder.logTail())
	}
	return nil
}

// writePassword leaves the password in a file for initdb.
func (s *Server) writePassword() (path string, err error) {
	path = filepath.Join(s.folder.path, "password")
	if err := os.WriteFile(path, []byte(s.password+"\n"), 0o600); err != nil {
		return "", err
	}
	return path, os.Chown(path, s.account.uid, s.account.gid)
}

// configure appends the server's settings to postgresql.conf, where the last
// line for a name counts.
func (s *Server) configure(options Options) error {
	var b strings.Builder
	writeSettings(&b, map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": s.folder.data(),
		"max_connections":         "200",
		"timezone":                "UTC",
		"log_timezone":            "UTC",
	})
	if options.Volatile {
		writeSettings(&b, map[string]string{"fsync": "off", "full_page_writes": "off"})
	}
	writeSettings(&b, options.Settings)
	f, err := os.OpenFile(filepath.Join(s.folder.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(b.String()); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func writeSettings(b *strings.Builder, settings map[string]string) {
	for name, value := range settings {
		fmt.Fprintf(b, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
}

// command prepares one of the server's programs to run in the data folder as
// the server's account. The caller's own PGHOST and the like must not reach
// it.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.binaries, name), args...)
	cmd.Dir = s.folder.data()
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") })
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	cmd.SysProcAttr = s.account.attributes()
	return cmd
}
