# shellcheck shell=bash
# What "up" might leave on the host, and the record by which that is found out. Sourced by
# dev/cluster.

# The host's network and settings, one fact a line. Counters and remaining lifetimes are
# left out, as are settings of links that come and go by themselves.
HostFacts() {
  local tool
  ip -o link show | sed -E 's/^[0-9]+: ([^:@]+).*/link \1/'
  ip -o address show | sed -E 's/^[0-9]+: +//; s/ +(valid_lft|preferred_lft) [^ ]+//g; s/\\//g; s/^/address /'
  for tool in -4 -6; do
    ip "$tool" route show table all | sed -E 's/ expires [^ ]+//; s/^/route /'
    ip "$tool" rule show | sed 's/^/rule /'
  done
  for tool in iptables ip6tables; do
    "$tool-save" 2>/dev/null | sed -E "/^#/d; s/\\[[0-9]+:[0-9]+\\]//; s/^/$tool /"
  done
  sysctl -a 2>/dev/null | grep -E '^(vm\.|kernel\.(panic|keys\.|core)|net\.)' |
    grep -vE '^net\.(ipv[46]\.(conf|neigh)\.(veth|cali|docker)|netfilter\.nf_conntrack_count)|\.stat|_random' | sed 's/^/setting /'
}

TakeRecord() {
  HostFacts | LC_ALL=C sort -u >"$state/record.new"
  mv "$state/record.new" "$state/record"
}

# The time at which a process started, in ticks since boot: with it a process id is one
# process and not whatever has the number later.
StartTime() {
  local stat
  read -r stat 2>/dev/null <"/proc/$1/stat" || return
  read -ra stat <<<"${stat##*) }"
  echo "${stat[19]}"
}

# Remembers every process of the cluster: those in its cgroups, and any other that is in a
# namespace of one of them. It is called before they are ended.
NoteProcesses() {
  local entry pid namespaces
  namespaces=$(for pid in $(ProcessesIn ""); do readlink "/proc/$pid/ns/"{net,mnt,pid}; done 2>/dev/null |
    grep -vxF -f <(readlink /proc/self/ns/{net,mnt,pid}) | sort -u || true)
  {
    ProcessesIn ""
    # Not "grep -q": the pipe would break, and the answer with it.
    # shellcheck disable=SC2143
    [ -z "$namespaces" ] || for entry in /proc/[0-9]*; do
      [ -z "$(readlink "$entry"/ns/{net,mnt,pid} 2>/dev/null | grep -xF "$namespaces")" ] || echo "${entry#/proc/}"
    done
  } | sort -nu | while read -r pid; do
    echo "$pid $(StartTime "$pid" || echo ended)"
  done >"$state/processes"
}

# Those of them that still run. One that has ended and waits to be collected by the host's
# process 1 counts only for "down", which gives it a moment.
NotedProcesses() {
  local pid start with_ended=${1:-}
  [ -f "$state/processes" ] || return 0
  while read -r pid start; do
    [ "$(StartTime "$pid" || true)" = "$start" ] || continue
    [ -n "$with_ended" ] || [ "$(awk '/^State:/ {print $2}' "/proc/$pid/status" 2>/dev/null)" != Z ] || continue
    echo "$pid"
  done <"$state/processes"
}
NoNotedProcesses() { [ -z "$(NotedProcesses with-ended)" ]; }

# Prints a line for each thing of the cluster that is still here, and for each fact about
# the host that is not as it was before "up". Facts that others added meanwhile cannot be
# told apart and are listed too. A cluster without its record gets a line as well: nothing
# would look like "as it was".
Residue() {
  local pid path
  for pid in $({ ProcessesIn ""; NotedProcesses; } | sort -nu); do
    echo "process $pid $(cat "/proc/$pid/comm" 2>/dev/null || echo '(ended)')"
  done
  GroupFolders "" | while read -r path; do [ ! -d "$path" ] || echo "cgroup $path"; done
  awk -v state="$state/" '
    function ours(path) { return index(path, state) == 1 || path ~ "^(/var/lib/kubelet|/var/lib/cni|/var/log/pods|/var/log/containers|/tmp/hostpath_pv|/run/netns/cni-)" }
    ours($5) {print "mount " $5}' /proc/self/mountinfo
  if [ -f "$state/made" ]; then sed 's/^/path /' "$state/made"; fi
  if [ -f "$state/record" ]; then
    comm -13 "$state/record" <(HostFacts | LC_ALL=C sort -u) | grep -v '^setting' | sed 's/^/new: /' || true
    comm -23 "$state/record" <(HostFacts | LC_ALL=C sort -u) | sed 's/^/gone or changed: /'
  elif [ -e "$state/fingerprint" ] || [ -e "$state/images" ]; then
    echo "unknown: $state/record is missing, and with it how the host was before \"up\""
  fi
}
