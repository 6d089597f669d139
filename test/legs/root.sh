#!/usr/bin/env bash
# root.sh SUITE PACKAGES COMMAND...: runs a command in a root of another release of Debian,
# build/roots/SUITE, or build/roots/$WEFT_ROOT_NAME.
#
# debootstrap makes the root, with the packages (separated by commas), from the mirror of this
# machine. The repository and the temporary directory have the same paths in it, and the command
# starts in the repository. It needs Debian and root privileges. It mounts in its own namespace, so
# no mount is left afterwards.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
suite=$1 packages=$2
shift 2
root=build/roots/${WEFT_ROOT_NAME:-$suite}

fail() {
    printf 'root of %s: %s\n' "$suite" "$*" >&2
    exit 1
}

# The mirror of the installed release, according to apt.
mirror() {
    local codename
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Codename: $codename" 2>/dev/null | head -n 1
}

((EUID == 0)) || fail "only root can make it and mount in it; run this leg as root"
command -v debootstrap >/dev/null || fail "there is no debootstrap; run: apt-get install debootstrap"
unshare --mount true || fail "this machine does not allow mounts in a namespace of their own (unshare --mount)"

if [[ $(cat "$root.packages" 2>/dev/null) != "$packages" ]]; then
    from=$(mirror)
    [[ -n $from ]] || fail "apt knows no mirror of Debian: apt-get indextargets lists none; run apt-get update"
    rm -rf "$root"
    mkdir -p build/roots
    debootstrap --variant=minbase --include="$packages" "$suite" "$root" "$from" ||
        fail "debootstrap could not install $suite with $packages; does the mirror that apt uses have that suite?"
    printf '%s\n' "$packages" >"$root.packages"
fi
cp /etc/hosts "$root/etc/hosts"

# shellcheck disable=SC2016
exec unshare --mount bash -c '
    set -e
    root=$1
    shift
    mkdir -p "$root$PWD"
    mount --bind . "$root$PWD"
    mount -t proc proc "$root/proc"
    for folder in /dev /sys ${TMPDIR:+"$TMPDIR"}; do
        mkdir -p "$root$folder"
        mount --rbind "$folder" "$root$folder"
    done
    exec chroot "$root" env -C "$PWD" "$@"
' root.sh "$root" "$@"
