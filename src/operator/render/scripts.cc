#include "operator/render/scripts.h"

#include <string>

namespace capstan::op::render {
namespace {

// `wait` returns at a signal where a foreground command would be waited for first.
constexpr std::string_view kLogfileScript = R"sh(stop() { kill $! 2>/dev/null; exit "$1"; }
trap 'stop 0' TERM
trap 'stop 1' INT HUP
mkdir -p "${SOCKET%/*}"
if [ ! -p "$SOCKET" ]; then
  rm -rf "$SOCKET"
  mkfifo -m MODE "$SOCKET" || exit 1
fi
exec 3<>"$SOCKET" || exit 1
while :; do
  cat <&3 &
  wait $!
  sleep 1 &
  wait $!
done
)sh";

}  // namespace

std::string LogfileScript(std::string_view mode) {
  constexpr std::string_view kMode = "MODE";
  return std::string(kLogfileScript).replace(kLogfileScript.find(kMode), kMode.size(), mode);
}

// ..data and ..2026_01_01 are kubelet's own; the links beside them lead to what they hold.
const std::string_view kReconfigureScript = R"sh(set -u
trap 'exit 0' TERM
trap 'exit 1' INT HUP
dir=${SLURM_CONF_DIR:-/etc/slurm}
pause() { sleep "$1" & wait $!; }
checksum() {
  find "$dir" -name '..*' -prune -o \( -type f -o -type l \) -exec sha256sum {} + 2>/dev/null | sort | sha256sum
}
seen=$(checksum)
if scontrol ping >/dev/null 2>&1; then seen=; fi
while :; do
  now=$(checksum)
  if [ "$now" != "$seen" ]; then
    until scontrol reconfigure; do
      echo "slurmctld has not taken the new configuration yet, trying again"
      pause 2
    done
    echo "slurmctld was told to read its configuration anew"
    seen=$now
  fi
  pause 5
done
)sh";

// Only a node that is out of service has a reason. One that Slurm powers down, or up anew, is its own to tell.
const std::string_view kWorkerStopScript = R"sh(node=${POD_HOSTNAME:-$(hostname)}
shown=$(scontrol show node "$node") || exit 1
case $(printf '%s\n' "$shown" | sed -n 's/^ *State=\([^ ]*\).*/\1/p') in
  *POWERED_DOWN* | *POWERING_*) exit 0 ;;
esac
reason=$(printf '%s\n' "$shown" | sed -n 's/^ *Reason=//p')
case $reason in
  '' | 'slurm-operator: '* | 'Not responding'* | 'Node unexpectedly rebooted'*) ;;
  *) exit 0 ;;
esac
scontrol update nodename="$node" state=down reason='slurm-operator: Pod is terminating'
)sh";

const std::string_view kInitconfScript = R"sh(set -eu
to=/mnt/etc/slurm
mkdir -p "$to"
for file in /mnt/slurm/*.conf /mnt/slurm/*.key /mnt/slurm/*.jwks; do
  [ -f "$file" ] || continue
  case $file in
    *.key | *.jwks | */slurmdbd.conf) mode=600 ;;
    *) mode=644 ;;
  esac
  name=${file##*/}
  cp "$file" "$to/.$name"
  chmod "$mode" "$to/.$name"
  chown "$SLURM_USER:$SLURM_USER" "$to/.$name"
  mv "$to/.$name" "$to/$name"
done
chown "$SLURM_USER:$SLURM_USER" "$to"
ls -l "$to"
)sh";

}  // namespace capstan::op::render
