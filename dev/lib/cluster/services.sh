# shellcheck shell=bash
# What runs in the local cluster's trees, and with which settings. Sourced by dev/cluster.

# --- control plane ---------------------------------------------------------------------

WriteControlFiles() {
  local folder=$state/control
  mkdir -p "$folder" "$state/audit"
  WriteFile "$folder/audit-policy.yaml" <<'END'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
END
  # No forward plugin: what the cluster does not know does not exist.
  WriteFile "$folder/Corefile" <<END
.:53 {
  bind $control_address
  errors
  ready 127.0.0.1:8181
  cache 5 {
    denial 9984 2
  }
  loadbalance
  kubernetes $domain in-addr.arpa ip6.arpa {
    kubeconfig $folder/coredns.kubeconfig
    pods insecure
    ttl 5
  }
  template ANY ANY . {
    rcode NXDOMAIN
  }
}
END
}

StartEtcd() {
  StartService control etcd "$tools/etcd" --data-dir "$state/control/etcd" --name control \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 \
    --initial-cluster control=http://127.0.0.1:2380 --unsafe-no-fsync --log-level warn
}

# Routing to endpoints instead of Service addresses: no kube-proxy runs in this tree. Autoscalers may scale to zero, which
# is an option of Kubernetes that is off.
StartApiServer() {
  StartService control kube-apiserver "$tools/kube-apiserver" \
    --etcd-servers=http://127.0.0.1:2379 \
    --secure-port="$api_port" --advertise-address="$control_address" --endpoint-reconciler-type=lease \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
    --feature-gates=HPAScaleToZero=true \
    --service-cluster-ip-range="$service_net" \
    --service-account-issuer="https://kubernetes.default.svc.$domain" \
    --service-account-key-file="$pki/service-account.pub" --service-account-signing-key-file="$pki/service-account.key" \
    --kubelet-client-certificate="$pki/kubelet-client.crt" --kubelet-client-key="$pki/kubelet-client.key" \
    --kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=InternalIP \
    --default-not-ready-toleration-seconds=30 --default-unreachable-toleration-seconds=30 \
    --requestheader-client-ca-file="$pki/front-proxy-ca.crt" --requestheader-allowed-names=front-proxy-client \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$pki/front-proxy.crt" --proxy-client-key-file="$pki/front-proxy.key" \
    --enable-aggregator-routing=true \
    --audit-policy-file="$state/control/audit-policy.yaml" --audit-log-path="$state/audit/audit.log" \
    --audit-log-maxsize=100 --audit-log-maxbackup=5
}

StartForwarders() {
  StartService control forward "$tools/forward" "unix:$state/api.sock" "tcp:127.0.0.1:$api_port"
  Runs host forward && return
  local port=$host_api_port last=$((host_api_port + 20))
  while [ -n "$(ss -Hltn "sport = :$port")" ]; do
    port=$((port + 1))
    [ "$port" -le "$last" ] || Die "no free port from $host_api_port to $last on the host's loopback address."
  done
  StartService host forward "$tools/forward" "tcp:127.0.0.1:$port" "unix:$state/api.sock"
  Kubeconfig admin.kubeconfig admin "https://127.0.0.1:$port"
}

# Without limits of their own: a bench measures something else.
StartControllers() {
  StartService control kube-controller-manager "$tools/kube-controller-manager" \
    --kubeconfig="$state/control/controller-manager.kubeconfig" --leader-elect=false \
    --use-service-account-credentials --service-account-private-key-file="$pki/service-account.key" \
    --root-ca-file="$pki/ca.crt" --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key" \
    --enable-hostpath-provisioner=true --horizontal-pod-autoscaler-sync-period=2s --kube-api-qps=1000 --kube-api-burst=1000
  StartService control kube-scheduler "$tools/kube-scheduler" \
    --kubeconfig="$state/control/scheduler.kubeconfig" --leader-elect=false --kube-api-qps=1000 --kube-api-burst=1000
  StartService control open-volumes "$tools/open-volumes" /tmp/hostpath_pv
  StartService control coredns "$tools/coredns" -conf "$state/control/Corefile"
}

# --- nodes -----------------------------------------------------------------------------

# Images and what is unpacked of them stay in $state/images over "down": loading them is
# most of what a new node costs.
WriteContainerdConfig() {
  local node=$1
  # restrict_oom_score_adj: in a container without CAP_SYS_RESOURCE no score below one's
  # own can be set, and runc fails. An AppArmor profile would stay loaded in the kernel, and
  # the plugin "opt" would create a folder in /opt.
  WriteFile "$state/$node/containerd.toml" <<END
version = 2
root = "$state/images/$node"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "$state/$node/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/pause:1"
restrict_oom_score_adj = true
disable_apparmor = true
tolerate_missing_hugetlb_controller = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "$state/$node/cni.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
END
}

# A link per pod ("ptp") rather than a bridge: all traffic is routed, also that between two
# pods of one node by way of a Service, and passes kube-proxy's rules without br_netfilter.
# A pod has routes to the cluster's ranges and no other.
WriteNetworkConfig() {
  local node=$1
  mkdir -p "$state/$node/cni.d"
  WriteFile "$state/$node/cni.d/10-pods.conflist" <<END
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local",
    "ranges": [[{"subnet": "${pod_range[$node]}"}]],
    "routes": [{"dst": "$pod_net"}, {"dst": "$service_net"}, {"dst": "$node_net"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}, "snat": true}
]}
END
}

# resolvConf "": the host's resolver is outside. Image garbage collection is off, as
# nothing could ever be pulled again.
WriteKubeletConfig() {
  local node=$1
  WriteFile "$state/$node/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $pki/ca.crt}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
clusterDNS: [$dns_address]
clusterDomain: $domain
containerRuntimeEndpoint: unix://$state/$node/containerd.sock
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, nodefs.inodesFree: 1%, imagefs.available: 1%}
failCgroupV1: false
failSwapOn: false
imageGCHighThresholdPercent: 100
resolvConf: ""
tlsCertFile: $pki/$node.crt
tlsPrivateKeyFile: $pki/$node.key
$(! IsAdded "$node" || echo "registerWithTaints: [{key: capstan.dev/added, value: $node, effect: NoSchedule}]")
END
}

WriteNodeFiles() {
  mkdir -p "$state/$1" "$state/images/$1"
  WriteContainerdConfig "$1"
  WriteNetworkConfig "$1"
  WriteKubeletConfig "$1"
}

StartContainerd() { StartService "$1" containerd /usr/bin/containerd -c "$state/$1/containerd.toml"; }

StartKubelet() {
  StartService "$1" kubelet "$tools/kubelet" --config="$state/$1/kubelet.yaml" \
    --kubeconfig="$state/$1/kubelet.kubeconfig" --hostname-override="$1" --node-ip="${address[$1]}" \
    --node-labels="$(! IsAdded "$1" || echo capstan.dev/added=)"
}

# The conntrack settings that kube-proxy would raise belong to the host, or are read-only
# in any other network namespace.
StartProxy() {
  StartService "$1" kube-proxy "$tools/kube-proxy" --kubeconfig="$state/$1/proxy.kubeconfig" \
    --hostname-override="$1" --proxy-mode=iptables --cluster-cidr="$pod_net" \
    --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
}

# --- what is waited for ----------------------------------------------------------------

# kubectl with the administrator's rights over the host's end of the forwarder.
Kubectl() {
  [ -f "$state/admin.kubeconfig" ] || Die "there is no cluster; \"dev/cluster up\" starts one."
  env -u HTTPS_PROXY -u https_proxy -u HTTP_PROXY -u http_proxy -u ALL_PROXY -u all_proxy \
    KUBECONFIG="$state/admin.kubeconfig" "$tools/kubectl" "$@"
}

ApiServerReady() {
  [ "$(curl -s --max-time 2 --unix-socket "$state/api.sock" --noproxy '*' --cacert "$pki/ca.crt" \
    https://localhost/readyz 2>/dev/null)" = ok ]
}
WaitForApiServer() {
  WaitFor 60 ApiServerReady || Die "the API server is not ready after 60 s; see $state/control/log/kube-apiserver.log."
}

ContainerdReady() { ctr --address "$state/$1/containerd.sock" --timeout 2s version >/dev/null 2>&1; }

# One line for each node that is not Ready: UnreadyNodes [NODE...]. The condition of a kubelet that was just
# started counts only from a heartbeat after its start: the last one's may still stand.
UnreadyNodes() {
  local name status beat table node
  table=$(Kubectl --request-timeout=5s get nodes -o jsonpath='{range .items[*]}{.metadata.name}{" "}{range .status.conditions[?(@.type=="Ready")]}{.status} {.lastHeartbeatTime}{end}{"\n"}{end}' 2>/dev/null) || {
    echo "the API server does not answer"
    return
  }
  [ $# -gt 0 ] || set -- "${nodes[@]}"
  for node in "$@"; do
    read -r name status beat < <(grep "^$node " <<<"$table" || echo "$node Absent -")
    if [ "$status" != True ]; then
      echo "$name is not Ready ($status)"
    elif [ -n "${started[$node/kubelet]:-}" ] && [ "$(date -d "$beat" +%s)" -lt "$up_began" ]; then
      echo "$name has sent no heartbeat since its kubelet started"
    fi
  done
}
NodesReady() { [ -z "$(UnreadyNodes "$@")" ]; }

# A kubelet registers its node only when it starts: RestartUnregistered NODE...
RestartUnregistered() {
  local node known
  known=" $(Kubectl --request-timeout=5s get nodes -o jsonpath='{.items[*].metadata.name}') "
  for node in "$@"; do
    [[ $known != *" $node "* && -z ${started[$node/kubelet]:-} ]] || continue
    KillGroup "$node/kubelet"
    StartKubelet "$node"
  done
}

ApplyManifests() {
  [ -f "$state/applied" ] && return
  Kubectl apply --server-side --force-conflicts -f "$library/manifests.yaml" >/dev/null
  touch "$state/applied"
}
