# shellcheck shell=bash
# The local cluster's process trees and the network between them. Sourced by dev/cluster.
#
# A tree is a set of namespaces with "pause" as process 1. The tree "fabric" holds a bridge
# and nothing else; every other tree is joined to it by a veth pair, both ends of which are
# created inside, so that the host never sees one. No tree has a default route.

# --- what trees need on the host -------------------------------------------------------

# Folders over which every tree mounts its own. Those that had to be made are remembered,
# and removed by "down".
mount_points=(/var/lib/kubelet /var/lib/cni /var/log/pods /var/log/containers /tmp/hostpath_pv)

MakeMountPoints() {
  local path
  for path in "${mount_points[@]}"; do
    [ -e "$path" ] && continue
    mkdir "$path"
    echo "$path" >>"$state/made"
  done
  if [ ! -e /etc/machine-id ]; then
    : >/etc/machine-id
    echo /etc/machine-id >>"$state/made"
  fi
}

RemoveMountPoints() {
  local path
  [ -f "$state/made" ] || return 0
  while read -r path; do
    if [ -d "$path" ]; then rmdir "$path" 2>/dev/null || Say "$path is not empty; left in place."; fi
    if [ -f "$path" ]; then rm -f "$path"; fi
  done <"$state/made"
  rm -f "$state/made"
}

WriteTreeFiles() {
  local tree=$1 folder=$state/$1 other
  mkdir -p "$folder/etc" "$folder/log" "$state/volumes"
  {
    printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n'
    for other in "${!address[@]}"; do printf '%s %s\n' "${address[$other]}" "$other"; done | sort
  } | WriteFile "$folder/etc/hosts"
  printf 'nameserver %s\nsearch svc.%s %s\noptions ndots:4\n' "$control_address" "$domain" "$domain" >"$folder/etc/resolv.conf"
  [ -s "$folder/etc/machine-id" ] || openssl rand -hex 16 >"$folder/etc/machine-id"
}

# --- trees -----------------------------------------------------------------------------

StartTree() {
  local tree=$1 folder=$state/$1
  Runs "$tree" init pause && return
  # Half of a tree is no tree: what is left of it goes first.
  KillGroup "$tree"
  RemoveGroups "$tree"
  WriteTreeFiles "$tree"
  rm -f "$folder"/*.sock*
  (
    exec </dev/null >>"$folder/log/init.log" 2>&1 9>&-
    # The cgroup in which namespaces are made becomes the root inside; process 1 then
    # moves down into "init".
    GroupFolders "$tree/init" | xargs mkdir -p
    JoinGroup "$tree"
    # The child of a shell that ends, so that no process outside waits for the tree.
    "${clean_environment[@]}" setsid unshare --net --mount --uts --ipc --pid --cgroup --propagation private \
      bash -c 'bash "$@" & disown' - "$library/tree-init.sh" "$tree" "$folder" "$state/volumes" "$pause"
  )
  WaitFor 10 Runs "$tree" init pause || Die "the namespaces of $tree could not be set up; see $folder/log/init.log."
  Started "$tree" init
}

# --- network ---------------------------------------------------------------------------

OnBridge() { [[ $(InNetwork fabric ip -o link show dev "$1" 2>/dev/null) == *" master bridge0 "* ]]; }
HasLink() { InNetwork "$1" ip link show "$2" >/dev/null 2>&1; }

StartFabric() {
  HasLink fabric bridge0 && return
  InNetwork fabric ip -batch - <<'END'
link set lo up
link add name bridge0 type bridge
link set bridge0 up
END
}

# Joins TREE to the fabric and gives it its address and all routes it will ever have.
JoinFabric() {
  local tree=$1 other pid
  if HasLink "$tree" eth0 && OnBridge "$tree"; then return; fi
  # Half a connection: the rest went with another tree, or with the bridge.
  ! HasLink fabric "$tree" || InNetwork fabric ip link del "$tree" 2>/dev/null || true
  ! HasLink "$tree" eth0 || InNetwork "$tree" ip link del eth0 2>/dev/null || true
  pid=$(InitPid "$tree")
  InNetwork fabric ip -batch - <<END
link add name $tree type veth peer name eth0 netns $pid
link set $tree master bridge0
link set $tree up
END
  {
    printf 'addr add %s/24 dev eth0\nlink set eth0 up\n' "${address[$tree]}"
    # Pods of no node, and all the rest of the world, are refused here.
    printf 'route replace unreachable %s\n' "$pod_net"
    for other in "${nodes[@]}"; do
      [ "$other" = "$tree" ] || printf 'route replace %s via %s\n' "${pod_range[$other]}" "${address[$other]}"
    done
    # A program of the node itself reaches a Service only if some route matches: routing
    # comes before the address is rewritten.
    ! IsNode "$tree" || printf 'route replace %s dev eth0 src %s\n' "$service_net" "${address[$tree]}"
  } | InNetwork "$tree" ip -batch -
}

# What every other tree must know of a node that was added, and forget of one that was removed.
RouteTo() {
  local verb=$1 node=$2 tree
  for tree in "${trees[@]}"; do
    [[ $tree != fabric && $tree != "$node" ]] || continue
    ! Runs "$tree" init pause || InNetwork "$tree" ip route "$verb" "${pod_range[$node]}" via "${address[$node]}"
  done
}

StartTrees() {
  local tree
  MakeRootGroup
  MakeMountPoints
  for tree in "${trees[@]}"; do StartTree "$tree"; done
  StartFabric
  for tree in "${trees[@]}"; do [ "$tree" = fabric ] || JoinFabric "$tree"; done
}

# --- routes ----------------------------------------------------------------------------

outside=(198.51.100.1 2001:db8::1)   # documentation addresses: nobody's

# One process id for each network namespace in the cluster, with the tree it is in.
Networks() {
  local tree pid network
  for tree in "${trees[@]}"; do
    for pid in $(ProcessesIn "$tree"); do
      network=$(readlink "/proc/$pid/ns/net") || continue
      echo "$network $tree $pid"
    done
  done 2>/dev/null | sort -u -k1,1
}

# Says so in a sentence, and returns 1, where a network namespace knows a way to outside.
# Asking for a route sends nothing.
CheckRoutes() {
  local tree pid target answer wrong=0
  while read -r _ tree pid; do
    for target in "${outside[@]}"; do
      if answer=$(nsenter -t "$pid" --net -- ip route get "$target" 2>&1); then
        Say "in the network namespace of process $pid ($(cat "/proc/$pid/comm"), $tree) there is a route to $target: ${answer%%$'\n'*}"
        wrong=1
      elif [[ ! $answer =~ [Uu]nreachable|"No route"|"not supported" && -d /proc/$pid ]]; then
        Say "whether $tree has a route to $target is unknown: $answer"
        wrong=1
      fi
    done
  done < <(Networks)
  return $wrong
}
RefuseRoutes() { CheckRoutes || Die "refused, because a route leads out of the cluster (above)."; }
