// Command probe is the program in the local cluster's test image. It stands for
// everything that a pod does to network and files, with one command for each.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"strings"
	"time"
)

const patience = 3 * time.Second

func main() {
	commands := map[string]func(arguments []string) (string, error){
		"serve": serve, "get": get, "lookup": lookup, "route": route, "read": read, "write": write,
	}
	if len(os.Args) < 3 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: probe serve ADDRESS | get URL | lookup NAME | route ADDRESS | read FILE | write FILE TEXT")
		os.Exit(2)
	}
	answer, err := commands[os.Args[1]](os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
	fmt.Println(answer)
}

// serve answers every request with the pod's name and the caller's address.
func serve(arguments []string) (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	fmt.Println("serving as", name)
	return "", http.ListenAndServe(arguments[0], http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		caller, _, _ := net.SplitHostPort(request.RemoteAddr)
		fmt.Fprintln(writer, name, caller)
	}))
}

func get(arguments []string) (string, error) {
	client := http.Client{Timeout: patience}
	response, err := client.Get(arguments[0])
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	return strings.TrimSpace(string(body)), err
}

func lookup(arguments []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, arguments[0])
	sort.Strings(addresses)
	return strings.Join(addresses, " "), err
}

// route connects a datagram socket, which asks for a route and sends nothing.
func route(arguments []string) (string, error) {
	connection, err := net.Dial("udp", net.JoinHostPort(arguments[0], "9"))
	if err != nil {
		return "", err
	}
	defer connection.Close()
	return connection.LocalAddr().String(), nil
}

func read(arguments []string) (string, error) {
	text, err := os.ReadFile(arguments[0])
	return string(text), err
}

func write(arguments []string) (string, error) {
	if len(arguments) != 2 {
		return "", fmt.Errorf("write needs a file and a text")
	}
	return "written", os.WriteFile(arguments[0], []byte(arguments[1]), 0o644)
}
