# shellcheck shell=bash
# Images for the local cluster's nodes, from archives: nothing can be pulled. Sourced by
# dev/cluster.

# The sandbox image, and process 1 of every tree: a static program, built once.
BuildPause() {
  local cache hash
  hash=$(cat "$clone/dev/pause/pause.c" "$clone/dev/image-tar" | sha256sum | cut -c1-16)
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/capstan/tools/pause-$hash
  pause=$cache/pause
  if [ -f "$cache/pause.tar" ]; then return; fi
  mkdir -p "$cache"
  clang-19 -std=gnu17 -Os -static -s -Wall -Wextra -Werror -o "$pause.new" "$clone/dev/pause/pause.c" ||
    Die "dev/pause/pause.c could not be compiled; \"dev/bootstrap\" installs the compiler."
  mv "$pause.new" "$pause"
  "$clone/dev/image-tar" --name localhost/pause:1 --out "$cache/pause.tar" --entrypoint /pause "$pause=/pause"
}

Ctr() {
  local node=$1
  shift
  ctr --address "$state/$node/containerd.sock" --namespace k8s.io "$@"
}

# The hash of an archive, remembered for as long as the file is the same.
ArchiveHash() {
  local file=$1 key memo=$state/images/hashes hash
  key=$(stat -c '%n %i %s %y' "$(realpath "$file")" | sha256sum | cut -c1-32)
  hash=$(sed -n "s/^$key //p" "$memo" 2>/dev/null | tail -1)
  if [ -z "$hash" ]; then
    hash=$(sha256sum <"$file" | cut -c1-64)
    echo "$key $hash" >>"$memo"
  fi
  echo "$hash"
}

# Whether NODE has all images that the archive brought when it was imported before, under
# the same names and with the same content. A name may have moved on since.
HasArchive() {
  local node=$1 brought=$state/images/$1.archives/$2
  [ -s "$brought" ] || return 1
  ! grep -vxF -f <(Ctr "$node" image list 2>/dev/null | awk 'NR > 1 {print $1, $3}') "$brought" >/dev/null
}

Import() {
  local node=$1 file=$2 hash=$3 log=$state/$1/log/import.log brought=$state/images/$1.archives
  HasArchive "$node" "$hash" && return
  mkdir -p "$brought"
  Ctr "$node" image import "$file" >"$log" 2>&1 || {
    Say "$file could not be imported on $node: $(tail -1 "$log")"
    return 1
  }
  # One line for each: "unpacking NAME (DIGEST)...done".
  sed -nE 's/^unpacking (\S+) \((sha256:[0-9a-f]+)\).*/\1 \2/p' "$log" >"$brought/$hash.new"
  [ -s "$brought/$hash.new" ] || {
    Say "$file brought no image with a name to $node."
    return 1
  }
  mv "$brought/$hash.new" "$brought/$hash"
  Say "loaded $(cut -d' ' -f1 "$brought/$hash" | paste -sd' ') on $node"
}

# Imports archives on these nodes, the nodes side by side: LoadImages "NODE..." ARCHIVE...
LoadImages() {
  local on=$1 file node job jobs=() hashes=() failed=
  shift
  for file in "$@"; do
    [ -f "$file" ] || Die "there is no image archive \"$file\"."
    hashes+=("$(ArchiveHash "$file")")
  done
  for node in $on; do
    (
      index=0
      for file in "$@"; do
        Import "$node" "$file" "${hashes[index]}" || exit 1
        index=$((index + 1))
      done
    ) 9>&- &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do wait "$job" || failed=1; done
  [ -z "$failed" ] || Die "not all images could be loaded (above)."
}
