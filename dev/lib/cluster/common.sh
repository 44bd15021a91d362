# shellcheck shell=bash
# The local cluster: its names and addresses, its lock, and how its processes are known.
# Sourced by dev/cluster.
#
# Every process of the cluster is in a cgroup below "capstan-dev", at
# capstan-dev/TREE/SERVICE, and pods below capstan-dev/NODE/kubepods. What runs is read
# off there each time and nowhere else: no stored process id says what a service is, so none
# can be stale, and a clone that died leaves nothing that another cannot find. (What "down"
# is about to end it notes, each with its start time: see residue.sh.)

state=/var/lib/capstan-dev
group=capstan-dev
first_nodes=(node1 node2 node3)

# Raised by hand when a running cluster must be built anew to match these scripts.
layout=4

node_net=172.30.0.0/24
pod_net=10.244.0.0/16
service_net=10.96.0.0/16
dns_address=10.96.0.10
control_address=172.30.0.2
api_port=6443         # inside the cluster
host_api_port=16443   # on the host's loopback address, if free
domain=cluster.local

last_node=9
declare -A address=([control]=$control_address) pod_range=()
for ((i = 1; i <= last_node; i++)); do
  address[node$i]=172.30.0.1$i
  pod_range[node$i]=10.244.$i.0/24
done

# The first nodes, and those that "node add" has added since: their names are in a file, for whoever comes next.
ReadNodes() {
  mapfile -t added < <(cat "$state/added" 2>/dev/null)
  nodes=("${first_nodes[@]}" "${added[@]}")
  trees=(fabric control "${nodes[@]}")
}
ReadNodes

Say() { printf 'cluster: %s\n' "$*" >&2; }
Die() { printf 'cluster: %s\n' "$*" >&2; exit 1; }

# Waits until COMMAND succeeds: WaitFor SECONDS COMMAND...
WaitFor() {
  local deadline=$((${EPOCHREALTIME/./} + $1 * 1000000))
  shift
  until "$@"; do
    [ "${EPOCHREALTIME/./}" -lt "$deadline" ] || return 1
    sleep 0.05
  done
}

# Writes standard input to FILE unless that is what it holds already: programs watch some
# of these files, and must neither be woken for nothing nor see half of one.
WriteFile() {
  cat >"$1.new"
  if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}

# One command at a time changes the cluster. Programs that are started close the lock's
# descriptor (9), or the lock would live as long as they do.
Lock() {
  mkdir -p "$state"
  chmod 700 "$state"
  exec 9>"$state/lock"
  flock -n 9 || {
    Say "another dev/cluster is at work; waiting for it, at most five minutes."
    flock -w 300 9 || Die "another dev/cluster has held $state/lock for five minutes."
  }
  ReadNodes
}

IsAdded() { [[ " ${added[*]} " == *" $1 "* ]]; }
IsNode() { [[ " ${nodes[*]} " == *" $1 "* ]]; }
NeedNode() { IsNode "${1:-}" || Die "\"${1:-}\" is not a node; the nodes are ${nodes[*]}."; }
NeedTree() {
  [[ -n ${1:-} && " ${trees[*]} " == *" $1 "* ]] || Die "\"${1:-}\" is not a part of the cluster; there are ${trees[*]}."
}

# --- cgroups ---------------------------------------------------------------------------

# The mount points of all cgroup hierarchies: one with version 2, a dozen with version 1.
Hierarchies() {
  awk '{for (i = 7; i < NF; i++) if ($i == "-") {type = $(i + 1); break}
    if ((type == "cgroup" || type == "cgroup2") && $5 ~ "^/sys/fs/cgroup") print $5}' /proc/self/mountinfo | sort -u
}
mapfile -t hierarchies < <(Hierarchies)

# The hierarchy from which membership is read.
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  members=/sys/fs/cgroup/$group
else
  members=/sys/fs/cgroup/pids/$group
fi

GroupFolders() {
  local hierarchy
  for hierarchy in "${hierarchies[@]}"; do printf '%s\n' "$hierarchy/$group${1:+/$1}"; done
}

# Version 2 passes controllers on only where asked, version 1 starts a cpuset empty. Whoever was killed here before has made
# a part of it.
MakeRootGroup() {
  local folder name controllers
  [ ${#hierarchies[@]} -gt 0 ] || Die "no cgroup hierarchy is mounted below /sys/fs/cgroup."
  GroupFolders "" | xargs mkdir -p
  if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    [ -f "$state/subtree_control" ] || cat /sys/fs/cgroup/cgroup.subtree_control >"$state/subtree_control"
    read -ra controllers </sys/fs/cgroup/cgroup.controllers
    for name in "${controllers[@]}"; do
      for folder in /sys/fs/cgroup "$members"; do
        echo "+$name" >"$folder/cgroup.subtree_control" 2>/dev/null ||
          Die "cgroup controller $name cannot be passed on from $folder; is this a container without a cgroup namespace of its own?"
      done
    done
  fi
  folder=/sys/fs/cgroup/cpuset
  if [ -d "$folder/$group" ]; then
    for name in cpuset.cpus cpuset.mems; do cat "$folder/$name" >"$folder/$group/$name"; done
    echo 1 >"$folder/$group/cgroup.clone_children"
  fi
}

RemoveGroups() {
  local under=$1 folders
  mapfile -t folders < <(GroupFolders "$under")
  # A process that was killed is gone from its group only a moment later.
  WaitFor 5 GroupsGone "${folders[@]}" || Die "cgroup $group${under:+/$under} cannot be removed; is it still in use?"
  if [ -z "$under" ] && [ -f "$state/subtree_control" ]; then RestoreControllers; fi
}
GroupsGone() {
  find "$@" -depth -type d -exec rmdir {} + 2>/dev/null || true
  ! ls -d "$@" >/dev/null 2>&1
}
RestoreControllers() {
  local name controllers
  read -ra controllers </sys/fs/cgroup/cgroup.subtree_control
  for name in "${controllers[@]}"; do
    [[ " $(cat "$state/subtree_control") " == *" $name "* ]] ||
      echo "-$name" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
  done
  rm -f "$state/subtree_control"
}

# Puts the calling (sub)shell, and so what it starts, into capstan-dev/$1.
JoinGroup() {
  local folder
  GroupFolders "$1" | xargs mkdir -p
  while read -r folder; do echo "$BASHPID" >"$folder/cgroup.procs"; done < <(GroupFolders "$1")
}

# --- processes -------------------------------------------------------------------------

# The process of SERVICE in TREE, as the host numbers it: ServicePid TREE SERVICE [NAME].
# NAME is the program's name where it is not the service's. Returns 1 when there is none.
ServicePid() {
  local name=${3:-$2} pid comm
  # A folder that is not there means no such process.
  while read -r pid; do
    read -r comm 2>/dev/null <"/proc/$pid/comm" || continue
    if [ "$comm" = "${name:0:15}" ]; then
      echo "$pid"
      return
    fi
  done < <(cat "$members/$1/$2/cgroup.procs" 2>/dev/null)
  return 1
}
InitPid() { ServicePid "$1" init pause; }
Runs() { ServicePid "$@" >/dev/null; }

# All processes below capstan-dev/$1.
ProcessesIn() {
  find "$members${1:+/$1}" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -nu || true
}

KillGroup() {
  local pids
  mapfile -t pids < <(ProcessesIn "$1")
  [ ${#pids[@]} -gt 0 ] || return 0
  kill -9 "${pids[@]}" 2>/dev/null || true
  WaitFor 20 NoneIn "$1" || Die "processes of $1 do not end: $(ProcessesIn "$1" | tr '\n' ' ')"
}
NoneIn() {
  local pids
  mapfile -t pids < <(ProcessesIn "$1")
  [ ${#pids[@]} = 0 ] && return
  # Again: a fork may have got away from the first round.
  kill -9 "${pids[@]}" 2>/dev/null || true
  return 1
}

# Runs a command inside TREE, in all its namespaces: Inside TREE COMMAND...
Inside() {
  local tree=$1 pid
  shift
  pid=$(InitPid "$tree") || Die "$tree does not run; \"dev/cluster up\" starts it."
  nsenter -t "$pid" --mount --uts --ipc --net --pid --cgroup -- "$@"
}
# Runs a command of the host in the network namespace of TREE.
InNetwork() {
  local tree=$1 pid
  shift
  pid=$(InitPid "$tree") || Die "$tree does not run; \"dev/cluster up\" starts it."
  nsenter -t "$pid" --net -- "$@"
}

clean_environment=(env -i "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root LANG=C.UTF-8)

# Starts COMMAND as SERVICE of TREE unless it runs: StartService TREE SERVICE COMMAND...
# Returns once the program is seen to run, which is not yet that it serves. TREE "host"
# is the host itself.
StartService() {
  local tree=$1 service=$2 name log=$state/$1/log/$2.log
  shift 2
  name=$(basename "$1")
  Runs "$tree" "$service" "$name" && return
  mkdir -p "${log%/*}"
  (
    exec </dev/null >>"$log" 2>&1 9>&-
    JoinGroup "$tree/$service"
    if [ "$tree" = host ]; then
      "${clean_environment[@]}" setsid -f "$@"
    else
      Inside "$tree" "${clean_environment[@]}" setsid -f "$@"
    fi
  )
  WaitFor 10 Runs "$tree" "$service" "$name" || Die "$service of $tree did not start; see $log."
  Started "$tree" "$service"
}

# What was started in this run, for what must wait for it.
declare -A started=()
Started() {
  started[$1/$2]=1
  Say "started $2 of $1"
}
