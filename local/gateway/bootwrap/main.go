//go:build linux

// Command bootwrap becomes the program that its arguments name, after it has asked the kernel to kill it when its
// parent ends. The gateway puts it between the Lambda runtime interface emulator and a function: the emulator starts
// functions in process groups of their own, and they would outlive it.
//
// A parent that ends before the request is not noticed; such a function ends by itself, because it asks its parent for
// work first.
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// init keeps the only goroutine on the main thread, because the request is the thread's.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: bootwrap PROGRAM [ARGUMENT...]")
		os.Exit(2)
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
	if errno != 0 {
		fmt.Fprintln(os.Stderr, "bootwrap: prctl:", errno)
		os.Exit(1)
	}
	err := syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
	fmt.Fprintf(os.Stderr, "bootwrap: %s: %v\n", os.Args[1], err)
	os.Exit(1)
}
