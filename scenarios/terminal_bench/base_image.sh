#!/bin/sh
# The image that the tasks of this folder start from: a small Debian with what tests, tmux sessions and recordings need.
# Made from Debian packages alone, so that it needs no image registry. Run as root, with debootstrap installed:
#
#   base_image.sh --tar FILE     write it as a tar file, for `docker import`
#   base_image.sh                make it, and import it into the engine that `docker` speaks to
#
# PACKAGES names other packages than those.
set -eu

NAME=proctor/terminal-base:bookworm
PACKAGES=${PACKAGES:-python3,python3-pytest,tmux,asciinema,procps,curl,ca-certificates}

target=
[ "${1:-}" = --tar ] && target=$2
work=$(mktemp -d)
# debootstrap leaves /proc mounted if it is busy: neither the image nor `rm` may get to it.
release() {
    for place in $(awk -v root="$work/root/" 'index($2, root) == 1 { print $2 }' /proc/self/mounts | sort -r); do
        umount --lazy "$place"
    done
}
trap 'release; rm -rf --one-file-system "$work"' EXIT

debootstrap --variant=minbase --include="$PACKAGES" bookworm "$work/root" >"$work/log" 2>&1 || {
    tail -20 "$work/log" >&2
    echo "debootstrap failed: see above. It needs root, and a Debian mirror that answers." >&2
    exit 1
}
release
# What nobody needs at run time: indexes, documentation, translations.
rm -rf "$work"/root/var/cache/apt/* "$work"/root/var/lib/apt/lists/* "$work"/root/usr/share/doc \
    "$work"/root/usr/share/man "$work"/root/usr/share/locale "$work"/root/var/log/* "$work"/root/debootstrap
mkdir -p "$work/root/app"

if [ -n "$target" ]; then
    tar -C "$work/root" --numeric-owner -cf "$target.part" . && mv "$target.part" "$target"
else
    tar -C "$work/root" --numeric-owner -c . | docker import --change 'WORKDIR /app' --change 'CMD ["bash"]' - "$NAME"
fi
