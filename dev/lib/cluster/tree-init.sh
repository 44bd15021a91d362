#!/bin/bash
# First process of a tree of the local cluster, in new network, mount, PID, UTS, IPC and
# cgroup namespaces. Makes them look like a machine of their own, then becomes "pause".
#
#   tree-init.sh TREE TREE_FOLDER VOLUMES PAUSE
set -euo pipefail

tree=$1 folder=$2 volumes=$3 pause=$4

# Copies of mounts that belong to others would keep those busy.
DropForeignMounts() {
  local target
  awk '{print $5}' /proc/self/mountinfo | sort -r | while read -r target; do
    case $target in
      /run/* | /var/lib/capstan-dev/*) umount -l "$target" 2>/dev/null || true ;;
    esac
  done
}

# The tree's own cgroup is the root of what it sees, by its cgroup namespace. Mounts of
# version 1 are recreated under the names that they have on the host.
MountCgroups() {
  local target type options
  if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    Remount
    mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 /sys/fs/cgroup
    return
  fi
  local mounts
  mounts=$(awk '{for (i = 7; i < NF; i++) if ($i == "-") {type = $(i + 1); options = $(i + 3); break}
    if (type == "cgroup" || type == "cgroup2") print $5, type, options}' /proc/self/mountinfo | sort -u)
  Remount
  mount -t tmpfs -o mode=755,nosuid,nodev,noexec tmpfs /sys/fs/cgroup
  while read -r target type options; do
    mkdir -p "$target"
    # The host's mount says rw among the options; only what names the hierarchy counts.
    options=$(tr ',' '\n' <<<"$options" | grep -vxE 'rw|ro|xattr|clone_children|release_agent=.*|nsdelegate|memory_.*' | paste -sd,) || true
    mount -t "$type" ${options:+-o "$options"} "$type" "$target"
  done <<<"$mounts"
}
Remount() {
  umount -l /sys
  mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
}

Bind() {
  mkdir -p "$folder/$1"
  mount --bind "$folder/$1" "$2"
}

# /etc/resolv.conf is a link into /run on some systems, and /run is new here.
BindFile() {
  local target
  target=$(readlink -m "$2")
  if [ ! -e "$target" ]; then
    mkdir -p "${target%/*}"
    : >"$target"
  fi
  mount --bind "$folder/etc/$1" "$target"
}

# A kubelet raises settings that belong to the whole machine. It finds them as it wants
# them in files laid over the true ones, and so changes nothing.
MaskSettings() {
  local name value
  while read -r name value; do
    [ -e "/proc/sys/$name" ] || continue
    echo "$value" >"/run/settings-${name//\//-}"
    mount --bind "/run/settings-${name//\//-}" "/proc/sys/$name"
  done <<'END'
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
END
}

for own in /sys/fs/cgroup{,/*}/capstan-dev/"$tree"/init; do
  [ ! -d "$own" ] || echo 0 >"$own/cgroup.procs"
done

hostname "$tree"
DropForeignMounts
MountCgroups
mount -t proc -o nosuid,nodev,noexec proc /proc
mount -t tmpfs -o mode=755,nosuid,nodev tmpfs /run
mkdir -p /run/lock /run/netns
Bind kubelet /var/lib/kubelet
Bind cni /var/lib/cni
Bind pods /var/log/pods
Bind containers /var/log/containers
mount --bind "$volumes" /tmp/hostpath_pv
for name in hosts resolv.conf machine-id; do BindFile "$name" "/etc/$name"; done
MaskSettings

ip link set lo up
if [[ $tree == node* ]]; then echo 1 >/proc/sys/net/ipv4/ip_forward; fi

# Shared, as an ordinary machine has it, so that mounts reach pods that ask for it. Last,
# for until here unmounting must not spread.
mount --make-rshared /
exec "$pause"
