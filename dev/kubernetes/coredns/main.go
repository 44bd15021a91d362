// Command coredns is CoreDNS with only the plugins that the local cluster's
// Corefile names. There is no forward plugin, so that no query can leave the
// machine whatever a Corefile says.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
	_ "github.com/coredns/coredns/plugin/template"
)

// In the order in which a query passes through them.
var plugins = []string{
	"reload", "bind", "ready", "errors", "loadbalance", "cache", "kubernetes",
	// Answers what the cluster does not know.
	"template",
}

func main() {
	dnsserver.Directives = plugins
	coremain.Run()
}
