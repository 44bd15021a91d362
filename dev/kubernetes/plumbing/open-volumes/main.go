// Command open-volumes gives every folder that appears in a folder the mode 0777:
//
//	open-volumes FOLDER
//
// The volume provisioner inside kube-controller-manager creates a folder for a
// claim with mode 0750 and owner root, and Kubernetes does not apply a pod's
// fsGroup to it, so that a program that is not root could never write there.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

func main() {
	if len(os.Args) != 2 {
		fail("usage: open-volumes FOLDER")
	}
	folder := os.Args[1]
	watch, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	if err != nil {
		fail("cannot watch folders: %v", err)
	}
	if _, err := syscall.InotifyAddWatch(watch, folder, syscall.IN_CREATE|syscall.IN_MOVED_TO|syscall.IN_ONLYDIR); err != nil {
		fail("cannot watch %s: %v", folder, err)
	}
	// After the watch is set, or one made in between would be missed.
	openAll(folder)
	buffer := make([]byte, 64<<10)
	for {
		count, err := syscall.Read(watch, buffer)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			fail("cannot read the watch on %s: %v", folder, err)
		}
		handle(folder, buffer[:count])
	}
}

func handle(folder string, events []byte) {
	for len(events) >= syscall.SizeofInotifyEvent {
		event := (*syscall.InotifyEvent)(unsafe.Pointer(&events[0]))
		end := syscall.SizeofInotifyEvent + int(event.Len)
		name := string(bytes.TrimRight(events[syscall.SizeofInotifyEvent:end], "\x00"))
		events = events[end:]
		switch {
		case event.Mask&syscall.IN_Q_OVERFLOW != 0:
			openAll(folder)
		case event.Mask&syscall.IN_ISDIR != 0:
			open(filepath.Join(folder, name))
		}
	}
}

func openAll(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		fail("cannot list %s: %v", folder, err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			open(filepath.Join(folder, entry.Name()))
		}
	}
}

func open(path string) {
	if err := os.Chmod(path, 0o777); err != nil && !os.IsNotExist(err) {
		fmt.Fprintf(os.Stderr, "open-volumes: %v\n", err)
	}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "open-volumes: "+format+"\n", values...)
	os.Exit(1)
}
