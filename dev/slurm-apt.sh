# shellcheck shell=bash
# shellcheck disable=SC2016  # hooks and apt formats are expanded by others
# Sourced, not run: root file systems of another Debian suite than the machine's own.
#
# The mirror and its proxy are read off the machine's apt configuration at run time and used through a private list,
# so that nothing of the machine is changed and no host name stands in this repository. Root file systems live in
# $CAPSTAN_CACHE/rootfs/<name>-<hash of all inputs>; the packages fetched for them in $CAPSTAN_CACHE/debs/<suite>.
#
# Callers set $PROGRAM (for messages) before sourcing this file.

CAPSTAN_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/capstan
DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
CAPSTAN_CLONE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

Die() { echo "$PROGRAM: $*" >&2; exit 1; }
Say() { echo "$PROGRAM: $*" >&2; }

# What fails where nobody looks at it ends the caller (set -e), but not without a word.
set -E
trap 'echo "$PROGRAM: line $LINENO failed with status $?: $BASH_COMMAND" >&2' ERR

# Prints the address of the Debian archive (not security, not updates) that this machine installs from.
DebianMirror() {
  local codename
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v suite="$codename" '$1 == suite && $2 == "main" { print $3; exit }'
}

# Prints the machine's apt settings that decide how packages are reached, as apt.conf text.
AptTransport() {
  apt-config dump --format '%F "%v";%n' |
    grep -E '^Acquire::(https?|Retries|ForceIPv[46]|Queue-Mode)(::| )' | grep -v ' "";$' || true
}

# The options every private apt shares. A testing suite's Release file may be older than it says it may be.
AptOptions() {
  echo 'Acquire::Check-Valid-Until "false";'
  echo 'Acquire::Languages "none";'
  echo 'APT::Install-Recommends "false";'
  echo 'APT::Sandbox::User "root";'      # the cache may lie below a home that others cannot enter
  AptTransport
}

# SourcesLine SUITE
SourcesLine() {
  local mirror
  mirror=$(DebianMirror)
  [ -n "$mirror" ] || Die "the machine's apt sources name no Debian archive for its own release; add one to /etc/apt"
  [ -r "$DEBIAN_KEYRING" ] || Die "$DEBIAN_KEYRING is missing; install debian-archive-keyring"
  echo "deb [signed-by=$DEBIAN_KEYRING] $mirror $1 main"
}

# AptVersion SUITE PACKAGE: prints the version the suite has today; empty when it has none. Reads the suite's index.
AptVersion() {
  local suite=$1 package=$2 dir
  dir=$CAPSTAN_CACHE/apt/$suite
  mkdir -p "$dir"/{lists,archives,etc}/partial
  : > "$dir/status"
  SourcesLine "$suite" > "$dir/sources.list"
  {
    AptOptions
    echo "Dir::State \"$dir\"; Dir::State::lists \"$dir/lists\"; Dir::State::status \"$dir/status\";"
    echo "Dir::Cache \"$dir\"; Dir::Etc::sourcelist \"$dir/sources.list\"; Dir::Etc::sourceparts \"$dir/etc\";"
    echo "Dir::Etc::preferencesparts \"$dir/etc\"; Dir::Etc::preferences \"$dir/none\";"
  } > "$dir/apt.conf"
  APT_CONFIG=$dir/apt.conf apt-get -qq update >&2 || Die "cannot read the package index of Debian $suite"
  APT_CONFIG=$dir/apt.conf apt-cache show --no-all-versions "$package" 2>/dev/null | sed -n 's/^Version: //p'
}

# BuildRoot SUITE TARGET HOOK PACKAGE...: makes the root file system TARGET (a folder, or a file ending in .tar) of
# a minimal Debian SUITE with the packages. HOOK, a program, gets the folder before any package but the essential
# ones is installed; pass "true" for none. TARGET appears whole or not at all.
BuildRoot() {
  local suite=$1 target=$2 hook=$3 debs=$CAPSTAN_CACHE/debs/$1 work
  shift 3
  PruneRoots
  mkdir -p "$debs" "$(dirname "$target")"
  work=$(mktemp -d "$(dirname "$target")/.building.XXXXXX")
  AptOptions > "$work/apt.conf"
  local out=$work/root
  [[ $target == *.tar ]] && out=$work/root.tar
  # Only copyright files are kept of the documentation: they must travel with the programs.
  if ! mmdebstrap --quiet --mode=root --variant=minbase --skip=essential/unlink \
    --aptopt="$work/apt.conf" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/info/*' --dpkgopt='path-exclude=/usr/share/lintian/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    ${1:+--include="$(IFS=,; echo "$*")"} \
    --setup-hook='mkdir -p "$1/var/cache/apt/archives"' \
    --setup-hook="cp -n '$debs'/*.deb \"\$1/var/cache/apt/archives/\" 2>/dev/null || true" \
    --essential-hook="$hook \"\$1\"" \
    --customize-hook="cp -n \"\$1\"/var/cache/apt/archives/*.deb '$debs/'" \
    --customize-hook='rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap" "$1/etc/apt/sources.list" "$1/etc/resolv.conf"' \
    --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/log/*' \
    "$suite" "$out" "$(SourcesLine "$suite")" >&2; then
    rm -rf "$work"
    Die "the root file system of Debian $suite could not be made; the reason stands above"
  fi
  rm -rf "$target"
  mv "$out" "$target"
  rm -rf "$work"
}

# InputHash TEXT...: 16 hex digits over the texts and this file.
InputHash() { { printf '%s\0' "$@"; cat "${BASH_SOURCE[0]}"; } | sha256sum | cut -c1-16; }

# What no clone has used for two weeks, and what an interrupted run left.
PruneRoots() {
  [ -d "$CAPSTAN_CACHE/rootfs" ] || return 0
  find "$CAPSTAN_CACHE/rootfs" -mindepth 1 -maxdepth 1 \( -name '.building.*' -mtime +0 -o -mtime +14 \) \
    -exec rm -rf --one-file-system {} +
}

# LinkInto NAME TARGET: the clone's build/NAME becomes a link to TARGET, which counts as used.
LinkInto() {
  touch "$2"
  mkdir -p "$CAPSTAN_CLONE/build/$(dirname "$1")"
  ln -sfn "$2" "$CAPSTAN_CLONE/build/$1"
}
