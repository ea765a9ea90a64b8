# shellcheck shell=bash
# Sourced by the scripts after setup.sh: a bare system of Debian, for root.

# bare RELEASE: makes the system in the folder $root by debootstrap, if it is not there, and copies the tree to its /src,
# without what is built and without git
bare() {
  if [ "$(id -u)" != 0 ]; then
    echo 'A bare system is made by root only.' >&2
    return 1
  fi
  root=$PWD/build/bare/$1
  if [ ! -e "$root/made" ]; then
    rm -rf "$root" && debootstrap --variant=minbase "$1" "$root" && touch "$root/made" || return 1
  fi
  mkdir -p "$root/src" && find "$root/src" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} + &&
    tar -c --exclude=./build --exclude=./.git . | tar -x -C "$root/src"
}

# inside COMMAND...: runs it in /src of the system, with /proc of its own
inside() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" sh -c 'cd /src && exec "$@"' sh "$@"
}
