"""A shared root as capstan-entry prepares one, made by hand with the image's programs: a process in it stays, and a link leads there."""
MAKE = r"""
set -eu
name=$1 root=/srv/roots/$1 links=/run/capstan/root
mkdir -p "$root" "$links"
mkfifo "$root.up"
unshare --mount --propagation slave sh -eu -c '
  exec 8> "$0.up"
  mount -t tmpfs -o mode=755 tmpfs "$0"
  cd "$0"
  mkdir usr etc var proc sys dev run home tmp root srv
  chmod 1777 srv
  for link in bin sbin lib lib64; do ln -s "usr/$link" "$link"; done
  echo "$1" > MARK
  for folder in usr etc var proc sys dev run home tmp root; do mount --rbind "/$folder" "$folder"; done
  mount --move . /
  echo up >&8
  exec 8>&-
  exec chroot . sleep 1000000 > /dev/null 2>&1' "$root" "$name" < /dev/null &
read -r _ < "$root.up"
ln -sfn "/proc/$!/ns/mnt" "$links/$name"
rm "$root.up"
"""
