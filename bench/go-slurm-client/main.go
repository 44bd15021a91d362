// The Go client that Slinky's operator, bridge and exporter ask slurmrestd with, to measure Capstan's Slurm library against;
// bench/slurm/list.cc does the same on ours.
//
//	go-slurm-client URL nodes|jobs    SLURM_JWT holds the token
//
// It lists once, past its cache. Standard output: "listed COUNT MILLISECONDS" and "peak MIB", of resident memory.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/SlinkyProject/slurm-client/pkg/client"
	"github.com/SlinkyProject/slurm-client/pkg/types"
)

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: go-slurm-client URL nodes|jobs")
	}
	slurm, err := client.NewClient(&client.Config{Server: os.Args[1], AuthToken: os.Getenv("SLURM_JWT")})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	past := &client.ListOptions{SkipCache: true}
	var jobs types.V0044JobInfoList
	var nodes types.V0044NodeList
	began := time.Now()
	if os.Args[2] == "jobs" {
		err = slurm.List(ctx, &jobs, past)
	} else {
		err = slurm.List(ctx, &nodes, past)
	}
	if err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Printf("listed %d %.1f\n", len(jobs.Items)+len(nodes.Items), float64(took.Microseconds())/1000)
	return printPeak()
}

func printPeak() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(status), "\n") {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			fmt.Printf("peak %.1f\n", float64(kib)/1024)
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "go-slurm-client:", err)
		os.Exit(1)
	}
}
