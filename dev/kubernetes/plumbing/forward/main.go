// Command forward joins every connection made to one address with a new
// connection to another:
//
//	forward LISTEN TARGET        each as tcp:HOST:PORT or unix:PATH
//
// Two of them carry the Kubernetes API from the cluster's network namespace to
// the host's loopback address by way of a unix socket, so that the namespace
// needs no link to the host. Bytes are passed on as they are; TLS ends behind it.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

const dialTimeout = 5 * time.Second

func main() {
	if len(os.Args) != 3 {
		fail("usage: forward LISTEN TARGET, each as tcp:HOST:PORT or unix:PATH")
	}
	listenNetwork, listenAddress := split(os.Args[1])
	targetNetwork, targetAddress := split(os.Args[2])
	if listenNetwork == "unix" {
		// Left behind by one that was killed; whether another still runs is
		// for the caller to know.
		os.Remove(listenAddress)
	}
	listener, err := net.Listen(listenNetwork, listenAddress)
	if err != nil {
		fail("cannot listen on %s: %v", os.Args[1], err)
	}
	for {
		client, err := listener.Accept()
		if err != nil {
			// Out of file descriptors, most likely: others will end.
			fmt.Fprintf(os.Stderr, "forward: accept: %v\n", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go join(client, targetNetwork, targetAddress)
	}
}

func split(text string) (network, address string) {
	network, address, found := strings.Cut(text, ":")
	if !found || (network != "tcp" && network != "unix") {
		fail("%q is neither tcp:HOST:PORT nor unix:PATH", text)
	}
	return network, address
}

func join(client net.Conn, network, address string) {
	defer client.Close()
	server, err := net.DialTimeout(network, address, dialTimeout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "forward: %v\n", err)
		return
	}
	defer server.Close()
	done := make(chan struct{})
	go func() {
		pass(server, client)
		close(done)
	}()
	pass(client, server)
	<-done
}

// pass copies until the source ends and then tells the destination so; the
// other direction may still have data.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		half.CloseWrite()
		return
	}
	to.Close()
	from.Close()
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "forward: "+format+"\n", values...)
	os.Exit(1)
}
